"""What a Kineto trace states of the messages among ranks: kind, bytes, and how many ranks take part.

PyTorch from 2.3 on states them in the arguments of ``record_param_comms``, and of the kernel on NVIDIA's devices. Older
traces have an annotation such as ``nccl:all_reduce`` around the launch, with the sizes of what a rank gives.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from estimator.core.number_formats import known_format
from estimator.core.table import LARGEST_WHOLE
from estimator.core.types import ITEMSIZE, Flags, Integers
from estimator.profiles.columns import UNKNOWN, Columns
from estimator.profiles.kineto.arguments import read_list, read_sizes, read_text

if TYPE_CHECKING:
    from estimator.profiles.kineto.launches import Launches
    from estimator.profiles.kineto.trace import Trace

LIBRARY = "nccl:"  # how annotations of its messages begin; AMD's library keeps the name
KERNEL = re.compile(r"(?i)^(nccl|rccl)")  # kernels that send, whatever op launched them
GATHERS = re.compile(r"(?i)all_?gather")
GROUP = re.compile(r"[\w.-]{1,40}")
INTEGER_BYTES = {"bool": 1, "byte": 1, "char": 1, "short": 2, "int": 4, "long": 8, "long int": 8, "long long": 8}
MOST_RANKS = 10**7
NOTHING = -1  # the number of no message


class Message(NamedTuple):
    """A collective by its name in PyTorch, what a rank gives and gets [elements], their format, and who takes part.

    Texts are empty and numbers 0 where the trace states nothing.
    """

    collective: str = ""
    given: int = 0
    got: int = 0
    format: str = ""
    ranks: int = 0
    group: str = ""

    @property
    def bytes(self) -> int:
        """The whole message [B]: what a rank reduces or sends, or has gathered at last; 0 where unknown."""
        itemsize = ITEMSIZE.get(self.precision or "") or INTEGER_BYTES.get(self.format.lower(), 0)
        return min(math.ceil(max(self.given, self.got) * itemsize), LARGEST_WHOLE)

    @property
    def precision(self) -> str | None:
        """The format of its elements, where it is one of ours."""
        return known_format(self.format)

    @property
    def op_type(self) -> str:
        """How PyTorch's annotation of it is named; empty where its kind is unknown."""
        return f"{LIBRARY}{self.collective}" if self.collective else ""

    @property
    def sizes(self) -> tuple[str | None, str | None]:
        """What a rank gives and gets, as OPS has shapes."""
        return str(self.given) if self.given else None, str(self.got) if self.got else None

    @property
    def attributes(self) -> str | None:
        """``ranks=8;group=0``, as far as it is known."""
        known = {"ranks": self.ranks, "group": self.group}
        return ";".join(f"{name}={value}" for name, value in known.items() if value) or None


def stated_message(args: Any) -> Message | None:
    """The message that an event's arguments state; None where they state none."""
    stated = bytes(args.collective)
    name = read_text(stated) if stated else ""
    if not name:
        return None
    group = read_text(bytes(args.group))
    return Message(
        name,
        _number(args.given),
        _number(args.got),
        read_text(bytes(args.dtype)),
        _number(args.ranks, MOST_RANKS),
        group if GROUP.fullmatch(group) else "",
    )


def annotated_message(event: Any) -> Message | None:
    """The message of an annotation such as ``nccl:all_reduce``; None for other annotations."""
    if not event.name.startswith(LIBRARY):
        return None
    sizes, types = read_sizes(bytes(event.args.dims)), read_list(bytes(event.args.types))
    tensors = [tensor for argument in sizes for tensor in argument]
    readable = all(size >= 0 for tensor in tensors for size in tensor)
    given = sum(math.prod(tensor) for tensor in tensors if tensor) if readable else 0
    first = next((name for name in types if isinstance(name, str) and name), "")
    return Message(event.name.removeprefix(LIBRARY), min(given, LARGEST_WHOLE), format=first)


def messages_of_events(trace: Trace, launches: Launches) -> Integers:
    """The number of the message of each device event, NOTHING for events that send none.

    It is what the kernel itself states, else what is stated or annotated around its launch.
    """
    sends = named(trace, KERNEL)
    number = np.where(sends, trace.device["message"], NOTHING)
    known = list(trace.messages)
    states_ranks = np.array([message.ranks > 0 for message in known], dtype=bool)[trace.sent["message"]]
    for records in (trace.sent.take(states_ranks), trace.sent.take(~states_ranks)):
        rows = np.flatnonzero(sends & (number == NOTHING) & (launches.time != UNKNOWN))
        number[rows] = _around(records, launches.lane[rows], launches.time[rows])
    gathered = {each: _gathered(known[each], world_size(trace) or 1) for each in set(number[number >= 0].tolist())}
    number[number >= 0] = [trace.messages[gathered[each]] for each in number[number >= 0].tolist()]
    return number


def named(trace: Trace, pattern: re.Pattern[str]) -> Flags:
    """Whether the name of each device event holds the pattern."""
    holds = np.array([bool(pattern.search(name)) for name in trace.names], dtype=bool)
    return holds[trace.device["name"]]


def world_size(trace: Trace) -> int | None:
    """The number of ranks of the run, as the trace states it."""
    stated = trace.metadata.get("distributedInfo")
    size = stated.get("world_size") if isinstance(stated, dict) else None
    return size if type(size) is int and 0 < size <= MOST_RANKS else None


def _gathered(message: Message, world: int) -> Message:
    """The message with what a rank gets: what all give, where the trace states only what one gives."""
    if message.got or not GATHERS.search(message.collective):
        return message
    return message._replace(got=min(message.given * (message.ranks or world), LARGEST_WHOLE))


def _around(records: Columns, lane: Integers, time: Integers) -> Integers:
    """The message of the last record that began before each time on its lane, and had not ended; else NOTHING."""
    messages = np.full(len(time), NOTHING)
    for number in np.unique(lane):
        on_lane = records.take(records["lane"] == number)
        on_lane = on_lane.take(np.argsort(on_lane["start"], kind="stable"))
        wanted = lane == number
        row = np.searchsorted(on_lane["start"], time[wanted], side="right") - 1
        end = np.append(on_lane.end, UNKNOWN)
        messages[wanted] = np.where(end[row] > time[wanted], np.append(on_lane["message"], NOTHING)[row], NOTHING)
    return messages


def _number(text: Any, most: int = LARGEST_WHOLE) -> int:
    """A whole number of an event's arguments, written as number or text; 0 where it is none."""
    digits = bytes(text).strip(b'"')
    return number if digits.isdigit() and len(digits) < 20 and (number := int(digits)) <= most else 0
