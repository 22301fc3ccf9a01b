"""A Kineto trace as columns."""

import json
from pathlib import Path
from typing import Any

import pytest

from estimator.core.errors import EstimatorError
from estimator.profiles.dump import Dump
from estimator.profiles.kineto.collectives import NOTHING
from estimator.profiles.kineto.trace import ABSENT, LARGEST_ID, Trace, scan
from tests.profiles.kineto.events import MM, Event, event, kernel, launch, mark, step


def trace_of(folder: Path, *events: Event) -> Trace:
    """The columns of a trace of these events."""
    path = folder / "trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return scan(Dump(path))


def rows(trace: Trace, table: str, *names: str) -> list[tuple[int, ...]]:
    columns = getattr(trace, table)
    return list(zip(*(columns[name].tolist() for name in names), strict=True))


def test_times_count_in_picoseconds_from_the_first_events_microsecond(tmp_path: Path) -> None:
    """A wall clock in µs has 16 digits, and its picoseconds would not fit into 64 bits."""
    start = 1_764_460_800_000_000
    trace = trace_of(tmp_path, event("aten::add", start + 2, 1.5), event("aten::mul", start, 0.25))
    assert trace.origin_us == start + 2
    assert rows(trace, "ops", "start", "duration") == [(-2 * 10**6, 250_000), (0, 1_500_000)]
    assert trace.metadata["schemaVersion"] == 1


def test_ops_of_a_thread_stand_before_those_inside_them(tmp_path: Path) -> None:
    trace = trace_of(
        tmp_path, event("aten::mm", 1, 3, **MM), event("aten::linear", 1, 9), event("aten::add", 0, 1, tid=2)
    )
    names = [call.name for call in trace.calls]
    assert [(names[kind], lane) for kind, lane in rows(trace, "ops", "kind", "lane")] == [
        ("aten::linear", 0), ("aten::mm", 0), ("aten::add", 1)
    ]  # fmt: skip


def test_strides_and_values_are_kept_of_matrix_ops_alone(tmp_path: Path) -> None:
    more: dict[str, Any] = {"Input Strides": [[8, 1], [8, 1]], "Concrete Inputs": ["", ""]}
    trace = trace_of(tmp_path, event("aten::mm", 0, 1, **MM, **more), event("aten::add", 2, 1, **MM, **more))
    product, addition = trace.calls
    assert json.loads(product.strides) == [[8, 1], [8, 1]]
    assert json.loads(addition.dims) == MM["Input Dims"]
    assert (addition.strides, addition.values) == (b"", b"")


def test_types_that_were_never_filled_in_are_none(tmp_path: Path) -> None:
    """Before 2021 every op had an empty list of them."""
    old, new = event("aten::add", 0, 1, **{**MM, "Input type": []}), event("aten::mul", 2, 1, **MM)
    first, second = trace_of(tmp_path, old, new).calls
    assert (first.types, json.loads(second.types)) == (b"", MM["Input type"])


@pytest.mark.parametrize("stated", [True, False])
def test_a_message_is_stated_by_its_call_or_annotated_around_it(stated: bool, tmp_path: Path) -> None:
    arguments: dict[str, Any] = {
        "Collective name": "all_reduce",
        "In msg nelems": 32,
        "dtype": "Float",
        "Group size": 4,
    }
    sent = event("record_param_comms", 5, 2, **arguments) if stated else mark("nccl:all_reduce", 5)
    trace = trace_of(tmp_path, sent, event("aten::add", 0, 1), kernel("ncclDevKernel", 6, 3, 1))
    assert rows(trace, "sent", "message", "start") == [(0, 0)]
    (message,) = trace.messages
    assert message.op_type == "nccl:all_reduce"
    assert (message.given, message.ranks) == ((32, 4) if stated else (0, 0))
    assert rows(trace, "device", "message") == [(NOTHING,)]


def test_what_ran_on_a_device_is_on_the_lane_of_its_stream(tmp_path: Path) -> None:
    copy = event("Memcpy HtoD", 5, 2, "gpu_memcpy", 0, correlation=2, device=0, stream=7, bytes=64)
    trace = trace_of(
        tmp_path, kernel("gemm", 9, 3, 1), copy, kernel("gemm", 0, 1, 3, stream=8), kernel("relu", 0, 1, 4, device=1)
    )
    assert list(trace.streams) == [(0, 7), (0, 8), (1, 7)]
    assert rows(trace, "device", "lane", "sort", "start", "correlation", "bytes") == [
        (0, 1, -4_000_000, 2, 64), (0, 0, 0, 1, ABSENT), (1, 0, -9_000_000, 3, ABSENT), (2, 0, -9_000_000, 4, ABSENT)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "waits"),
    [
        ("cudaLaunchKernel", 0), ("cudaDeviceSynchronize", 1), ("hipStreamSynchronize", 1), ("cudaMemcpy", 1),
        ("cudaMemcpyAsync", 0), ("urQueueFinish", 1),
    ],
)  # fmt: skip
def test_calls_of_the_runtime_launch_and_some_wait(name: str, waits: int, tmp_path: Path) -> None:
    trace = trace_of(tmp_path, launch(3, 17, name))
    assert rows(trace, "launches", "correlation", "start", "graph") == [(17, 0, 0)]
    assert len(trace.waits) == waits
    assert rows(trace_of(tmp_path, launch(0, 1, "cudaGraphLaunch")), "launches", "graph") == [(1,)]


def test_marks_are_no_ops_but_a_data_loader_is_both(tmp_path: Path) -> None:
    loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    trace = trace_of(
        tmp_path, step(1, 0, 50), event("aten::add", 1, 2), mark("Optimizer.step#SGD.step", 9), mark(loader, 5)
    )
    assert [call.name for call in trace.calls] == ["aten::add", loader]
    assert [trace.marked(prefix).sum() for prefix in ("ProfilerStep#", "Optimizer.", "enumerate", "other")] == [
        1,
        1,
        1,
        0,
    ]


def test_events_without_an_end_are_counted_and_foreign_devices_noted(tmp_path: Path) -> None:
    trace = trace_of(
        tmp_path,
        event("aten::add", 0, 1),
        {**event("aten::open", 0, 1), "dur": -1},
        event("op", 0, 1, "mtia_ccp_events"),
    )
    assert (len(trace.ops), trace.unfinished, trace.foreign) == (1, 1, {"mtia_ccp_events": 1})


@pytest.mark.parametrize("category", ["CPU_OP", "cpu_op", "Operator"])
def test_categories_are_known_in_any_case(category: str, tmp_path: Path) -> None:
    assert len(trace_of(tmp_path, event("aten::add", 0, 1, category)).ops) == 1


def test_identities_that_are_no_whole_numbers_are_distinct_from_all_that_are() -> None:
    trace = Trace("trace.json")
    numbers: list[Any] = [trace.number(each) for each in (7, 7.0, "a", "b", "a", 2**70, None)]
    assert numbers[:2] == [7, 7]
    assert numbers[2] == numbers[4] != numbers[3]
    assert max(numbers[2], numbers[3], numbers[5]) < -LARGEST_ID
    assert numbers[6] == ABSENT
    assert len(set(numbers)) == 5


def test_an_unreadable_time_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EstimatorError, match="noon"):
        trace_of(tmp_path, event("aten::add", 0, 1), {**event("aten::mul", 0, 1), "ts": "noon"})
