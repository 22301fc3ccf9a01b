"""Changes of a Kineto trace that leave what it tells as it is: another spelling, another order, less beside it."""

import random
from collections.abc import Callable, Iterator
from typing import Any

Event = dict[str, Any]
ON_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset")
OLD = {
    "cpu_op": "Operator",
    "kernel": "Kernel",
    "gpu_memcpy": "Memcpy",
    "gpu_memset": "Memset",
    "cuda_runtime": "Runtime",
}
BESIDE = ("ac2g", "async", "async_gpu", "fwdbwd", "python_function", "cpu_instant_event", "Trace", "overhead")
SHIFT_US = 10**9


def events_of(trace: Any) -> list[Event]:
    """The events of a trace, which may be a bare list."""
    events: list[Event] = trace if isinstance(trace, list) else trace["traceEvents"]
    return events


def of_category(events: list[Event], *categories: str) -> Iterator[Event]:
    return (event for event in events if event.get("cat") in categories)


def streams_renamed(events: list[Event]) -> None:
    for event in of_category(events, *ON_DEVICE):
        event["tid"] = f"stream {event['tid']}"
        if "stream" in event["args"]:
            event["args"]["stream"] = event["args"]["stream"] + 100


def threads_renamed(events: list[Event]) -> None:
    for event in events:
        if event.get("cat") not in ON_DEVICE and "tid" in event:
            event["tid"] = f"thread {event['tid']}"


def processes_renamed(events: list[Event]) -> None:
    for event in events:
        if "pid" in event:
            event["pid"] = f"process {event['pid']}"


def times_as_text(events: list[Event]) -> None:
    for event in events:
        for name in ("ts", "dur"):
            if name in event:
                event[name] = f"{event[name]}"


def times_with_decimals(events: list[Event]) -> None:
    for event in events:
        for name in ("ts", "dur"):
            if name in event:
                event[name] = float(event[name])


def another_origin(events: list[Event]) -> None:
    first = min(event["ts"] for event in events if "ts" in event)
    for event in events:
        if "ts" in event:
            event["ts"] = round(event["ts"] - first + SHIFT_US, 3)


def shuffled(events: list[Event]) -> None:
    random.Random(7).shuffle(events)


def backwards(events: list[Event]) -> None:
    events.reverse()


def nothing_beside(events: list[Event]) -> None:
    events[:] = [event for event in events if event.get("ph") == "X" and event.get("cat") not in BESIDE]


def old_categories(events: list[Event]) -> None:
    for event in of_category(events, *OLD):
        event["cat"] = OLD[event["cat"]]


def new_categories(events: list[Event]) -> None:
    new = {old: category for category, old in OLD.items()}
    for event in of_category(events, *new):
        event["cat"] = new[event["cat"]]


def without_strides(events: list[Event]) -> None:
    for event in events:
        event.get("args", {}).pop("Input Strides", None)


def without_optional_fields(events: list[Event]) -> None:
    for event in of_category(events, "kernel", "Kernel"):
        kept = ("device", "stream", "correlation", "External id", "external id")
        event["args"] = {name: value for name, value in event["args"].items() if name in kept}


def without_external_ids(events: list[Event]) -> None:
    correlated = {event["args"].get("correlation") for event in events if "untime" in str(event.get("cat"))}
    for event in of_category(events, *ON_DEVICE):
        if event["args"].get("correlation") in correlated:
            event["args"].pop("External id", None)
            event["args"].pop("external id", None)


def correlations_as_text(events: list[Event]) -> None:
    for event in events:
        if "correlation" in event.get("args", {}):
            event["args"]["correlation"] = f"c{event['args']['correlation']}"


def not_a_number(events: list[Event]) -> None:
    for event in of_category(events, *ON_DEVICE, "cuda_runtime", "Runtime"):
        event["args"] |= {"est. achieved occupancy %": float("nan"), "warps per SM": float("inf")}


def begin_and_end(events: list[Event]) -> None:
    """Runtime calls as pairs of B and E, as far as they do not touch each other."""
    calls = sorted(of_category(events, "cuda_runtime", "Runtime"), key=lambda event: event["ts"])
    free: dict[Any, float] = {}
    pairs = []
    for event in calls:
        lane = event["pid"], event["tid"]
        end = event["ts"] + event["dur"]
        if event["ts"] > free.get(lane, 0.0) and event["dur"] > 0:
            pairs.append((event, end))
        free[lane] = max(free.get(lane, 0.0), end)
    ends = []
    for event, end in pairs:
        del event["dur"]
        event["ph"] = "B"
        ends.append({**event, "ph": "E", "ts": round(end, 3)})
    order = sorted([*(event for event, _ in pairs), *ends], key=lambda event: event["ts"])
    paired = {id(event) for event in order}
    events[:] = [event for event in events if id(event) not in paired] + order


def foreign_events(events: list[Event]) -> None:
    """Events of categories that hold no kernel."""
    kernels = [*of_category(events, "kernel", "Kernel")]
    for category in ("gpu_user_annotation", "cuda_sync", "cuda_event", "gpu_pm_counter", "overhead"):
        events += [{**event, "cat": category, "name": "beside", "args": {}} for event in kernels[:50]]


MUTANTS: tuple[Callable[[list[Event]], None], ...] = (
    streams_renamed, threads_renamed, processes_renamed, times_as_text, times_with_decimals, another_origin, shuffled,
    backwards, nothing_beside, old_categories, new_categories, without_strides, without_optional_fields,
    without_external_ids, correlations_as_text, not_a_number, begin_and_end, foreign_events,
)  # fmt: skip
