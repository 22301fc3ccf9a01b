"""How many samples the stages of a pipeline compute at once, where nobody says so."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from estimator.core.notes import Note
from estimator.core.parallel import Split
from estimator.rollup.pipeline_parallel import bubble_share
from estimator.rollup.scaling import Group, divisors

MUCH_IDLE = 0.2  # of a step, for stages of a pipeline: a note says what shortens it


def micro_batch_sizes(batch: int, stages: int, runs: int = 1) -> list[int]:
    """Samples of a micro-batch that divide a batch, largest first; the least is 1.

    Stages of several ``runs`` of blocks take whole rounds of micro-batches.
    """
    sizes = reversed(divisors(batch))
    return [size for size in sizes if size == 1 or runs == 1 or batch // size % stages == 0]


def with_micro_batch(
    group: Group,
    split: Split,
    fits: Callable[[Group], bool],
    passes_s: Callable[[Group], float],
    stated: int | None = None,
) -> Group:
    """A group whose stages compute as many samples at once as its workload states, or else as takes the least time, of
    those that fit the memory.

    A step of m micro-batches of which each takes t takes m · t / (1 - b), with the bubble b of
    :func:`bubble_share`. The search begins where that is least with t on a straight line through that of one sample and
    that of the most samples that fit. Where nothing fits it is one sample. A split that names the size keeps it. Fewer
    samples never need more memory.

    Args:
        group: the devices.
        split: how they share the training.
        fits: whether a group of this micro-batch fits.
        passes_s: both passes of a group's micro-batch [s]; asked for again and again.
        stated: samples at once that the workload states; None where it states none.
    """
    if not split.leaves_micro_batch or group.local_batch is None:
        return group
    sizes = micro_batch_sizes(group.local_batch, split.pipeline, split.interleave)
    groups = [replace(group, micro_batch=size) for size in sizes]
    fitting = groups[bisect_left(groups[:-1], True, key=fits) :]
    chosen = next((each for each in fitting if each.micro_batch == stated), None)
    return chosen or _fastest(fitting, split, passes_s)


def _fastest(fitting: Sequence[Group], split: Split, passes_s: Callable[[Group], float]) -> Group:
    """The group with the shortest step of several, the first with the most samples at once, the last with one."""
    if len(fitting) == 1:
        return fitting[0]

    def step_s(each: Group, micro_s: Callable[[Group], float]) -> float:
        bubble = bubble_share(split.pipeline, each.micro_batches, split.interleave)
        return each.micro_batches * micro_s(each) / (1.0 - bubble)

    line = _line(fitting, passes_s)
    first = min(range(len(fitting)), key=lambda place: step_s(fitting[place], line))
    return _shortest_near(fitting, first, lambda each: step_s(each, passes_s))


def _line(groups: Sequence[Group], passes_s: Callable[[Group], float]) -> Callable[[Group], float]:
    """Both passes of any size [s], on a straight line through those of the first and the last group."""
    (most, most_s), (least, least_s) = (((each.micro_batch or 1), passes_s(each)) for each in (groups[0], groups[-1]))
    slope = (most_s - least_s) / (most - least)
    return lambda each: least_s + slope * ((each.micro_batch or 1) - least)


def _shortest_near(groups: Sequence[Group], place: int, step_s: Callable[[Group], float]) -> Group:
    """The group with the shortest step, from a place on: the next one to either side, as long as that is shorter."""
    for way in (-1, 1):
        while 0 <= place + way < len(groups) and step_s(groups[place + way]) < step_s(groups[place]):
            place += way
    return groups[place]


def micro_batch_note(groups: Sequence[Group], split: Split, stated: int | None) -> Iterator[Note]:
    """A note on micro-batches that nobody asked for, or that these groups do not take though the workload states them.

    ``stated`` as for :func:`with_micro_batch`.
    """
    sizes = [group.at_once or 1 for group in groups]
    if split.leaves_micro_batch:
        yield _note_of_stages(groups, split, sizes)
    elif stated and not split.micro_batch and max(sizes) > stated:
        text = (
            f"a copy of the model computes {_range(sizes)} samples at once, and the layers state micro_batch {stated}; "
            f"micro={stated} in the split computes as many at once"
        )
        yield Note("micro-batch", text, subject=str(split))


def _note_of_stages(groups: Sequence[Group], split: Split, sizes: Sequence[int]) -> Note:
    """How many samples stages compute at once, and how long those of these groups wait for each other."""
    idle = [bubble_share(split.pipeline, group.micro_batches, split.interleave) for group in groups]
    text = (
        f"pipeline={split.pipeline} without micro=N: a stage computes {_range(sizes)} sample(s) at once, so that it "
        f"idles for {_range([round(100 * share) for share in idle])} % of the step"
    )
    more = "; a larger batch of each copy lowers that" if max(idle) > MUCH_IDLE else ""
    return Note("micro-batch", text + more, subject=str(split), share=max(idle))


def _range(numbers: Sequence[int]) -> str:
    least, most = min(numbers), max(numbers)
    return f"{least}" if least == most else f"{least} to {most}"
