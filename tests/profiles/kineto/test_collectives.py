"""Messages among ranks: what kernels, their launches and annotations state of them."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from estimator.core.types import Profile
from estimator.profiles.kineto.collectives import Message
from tests.profiles.kineto.events import event, kernel, launch, read

WORLD: dict[str, Any] = {"distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 16}}
STATED: dict[str, Any] = {
    "Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000, "Group size": 8, "dtype": "BFloat16",
    "Process Group Name": "3",
}  # fmt: skip
GENERIC = "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)"


def sent(tmp_path: Path, *events: Any, kernel_args: dict[str, Any] | None = None, name: str = GENERIC) -> pd.Series:
    """The row of a kernel that was launched inside these events of the host."""
    actual = kernel(name, 100, 40, 1)
    actual["args"].update(kernel_args or {})
    return run(tmp_path, *events, launch(20, 1), actual).ops.iloc[0]


def dims(*tensors: list[int], type_: str = "float") -> dict[str, Any]:
    """The arguments of an annotation."""
    return {"Input Dims": tensors, "Input type": [type_ for _ in tensors]}


def run(tmp_path: Path, *events: Any) -> Profile:
    return read(tmp_path, *events, **WORLD)


def test_the_run_has_as_many_ranks_as_the_trace_states(tmp_path: Path) -> None:
    profile = run(tmp_path, event("aten::mm", 0, 9), launch(1, 1), kernel("sgemm", 10, 5, 1))
    assert (profile.world_size, profile.ranks) == (16, 1)


@pytest.mark.parametrize("size", [True, "16", 0, -3, None])
def test_a_number_of_ranks_that_is_none_is_not_believed(size: object, tmp_path: Path) -> None:
    events = [event("aten::mm", 0, 9), launch(1, 1), kernel("sgemm", 10, 5, 1)]
    assert read(tmp_path, *events, distributedInfo={"world_size": size}).world_size is None


def test_a_kernel_states_its_own_message(tmp_path: Path) -> None:
    row = sent(tmp_path, event("record_param_comms", 10, 30), kernel_args=STATED)
    assert (row["op_type"], row["attributes"], row["precision"]) == ("nccl:allreduce", "ranks=8;group=3", "bf16")
    assert (row["shapes"], row["reported_bytes"]) == ("1000", 2000)


def test_a_kernel_without_arguments_sends_what_is_stated_around_its_launch(tmp_path: Path) -> None:
    row = sent(tmp_path, event("record_param_comms", 10, 30, **STATED))
    assert (row["op_type"], row["attributes"], row["reported_bytes"]) == ("nccl:allreduce", "ranks=8;group=3", 2000)


def test_an_older_trace_annotates_the_launch(tmp_path: Path) -> None:
    """The kernel's name is that of another message: one kernel of the library serves several."""
    around = event("record_param_comms", 10, 30, **dims([], []))
    note = event("nccl:all_to_all", 12, 20, "user_annotation", **dims([24, 10]))
    row = sent(tmp_path, around, note, name="ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)")
    assert (row["op_type"], row["reported_bytes"]) == ("nccl:all_to_all", 960)
    assert pd.isna(row["attributes"])


def test_what_all_gather_is_what_each_gives_times_their_number(tmp_path: Path) -> None:
    note = event("nccl:_all_gather_base", 12, 20, "user_annotation", **dims([5], type_="long"))
    row = sent(tmp_path, event("c10d::_allgather_base_", 10, 30), note)
    assert (row["shapes"], row["output_shapes"], row["reported_bytes"]) == ("5", "80", 640)


def test_messages_of_two_sizes_are_two_rows(tmp_path: Path) -> None:
    events = []
    for number in range(3):
        args: dict[str, Any] = {**STATED, "In msg nelems": 10 * (number // 2 + 1), "Out msg nelems": 0}
        events.append(event("record_param_comms", 100 * number, 30, **args))
        events += [launch(100 * number + 5, number), kernel(GENERIC, 1000 + 50 * number, 9, number)]
    ops = run(tmp_path, *events).ops
    assert ops["calls"].tolist() == [2.0, 1.0]
    assert ops["reported_bytes"].tolist() == [40.0, 40.0]


def test_a_kernel_of_which_nothing_is_stated_keeps_its_name(tmp_path: Path) -> None:
    row = sent(tmp_path, event("record_param_comms", 10, 30))
    assert (row["op_type"], pd.isna(row["reported_bytes"]), pd.isna(row["attributes"])) == (GENERIC, True, True)


def test_an_annotation_that_ended_before_the_launch_says_nothing(tmp_path: Path) -> None:
    note = event("nccl:all_reduce", 2, 5, "user_annotation", **dims([24]))
    assert sent(tmp_path, event("record_param_comms", 1, 60), note)["op_type"] == GENERIC


@pytest.mark.parametrize(
    ("format_", "itemsize"), [("Float", 4), ("c10::Half", 2), ("unsigned char", 1), ("long", 8), ("Bool", 1), ("x", 0)]
)
def test_the_size_of_an_element_follows_from_its_format(format_: str, itemsize: int) -> None:
    assert Message("allreduce", given=7, format=format_).bytes == 7 * itemsize


@pytest.mark.parametrize("wrong", [-5, "many", [3], 2**70, None, 1.5])
def test_numbers_that_are_none_are_left_out(wrong: object, tmp_path: Path) -> None:
    row = sent(tmp_path, event("record_param_comms", 10, 30), kernel_args={**STATED, "In msg nelems": wrong})
    assert row["reported_bytes"] == 2000  # what a rank gets


@pytest.mark.parametrize("wrong", ["", 7, None, ["allreduce"], {"a": 1}])
def test_a_message_without_a_name_is_none(wrong: object, tmp_path: Path) -> None:
    odd = {**STATED, "Collective name": wrong}
    assert sent(tmp_path, event("record_param_comms", 10, 30, **odd), kernel_args=odd)["op_type"] == GENERIC


def test_a_group_with_a_name_that_is_a_text_of_its_own_is_left_out(tmp_path: Path) -> None:
    odd = {**STATED, "Process Group Name": "a;ranks=3"}
    assert sent(tmp_path, event("record_param_comms", 10, 30), kernel_args=odd)["attributes"] == "ranks=8"
