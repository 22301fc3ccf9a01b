"""Recorded messages: bytes, ranks, and what they are for."""

import dataclasses
from collections.abc import Mapping

import pandas as pd
import pytest

from estimator.core.types import Profile, Workload
from estimator.work import count_work, rebatch
from estimator.work.messages import (
    RecordedRanks,
    among_all,
    recorded_ranks,
    sent_by_devices,
    with_parameters,
)
from tests.conftest import make_ops

TOY = Workload(name="toy", batch_size=8)
ROW: dict[str, object] = {"placement": "gpu:0", "calls": 1.0, "time_s": 1.0, "attributes": "ranks=8"}


def counted(*rows: Mapping[str, object], workload: Workload = TOY) -> pd.DataFrame:
    return count_work(make_ops(*({**ROW, **row} for row in rows)), workload).work


def sent(op_type: str, bytes_: float, phase: str = "backward", **row: object) -> dict[str, object]:
    return {"op_type": f"nccl:{op_type}", "reported_bytes": bytes_, "phase": phase, **row}


def uses(*rows: Mapping[str, object], workload: Workload = TOY) -> list[str]:
    return list(counted(*rows, workload=workload)["among"])


def profile(work: pd.DataFrame, **fields: object) -> Profile:
    return dataclasses.replace(Profile(work, TOY, None, "toy"), **fields)  # type: ignore[arg-type]


def test_bytes_are_those_reported_and_ranks_those_of_the_attribute() -> None:
    row = counted(sent("all_reduce", 400.0, calls=2.0)).iloc[0]
    assert (row["bytes"], row["ranks"], row["work_source"], row["operator"]) == (400.0, 8, "reported", "all_reduce")


def test_a_message_with_shapes_has_the_larger_of_what_it_takes_and_makes() -> None:
    work = counted({"op_type": "all-gather", "shapes": "4x5;10", "output_shapes": "8x30", "calls": 2.0})
    assert work["bytes"].tolist() == [2 * 240 * 4.0]


def test_of_an_engines_kernel_the_first_operand_is_sent() -> None:
    kernel = "void vllm::cross_device_reduce_1stage<bf16, 8>"
    work = counted({"op_type": "x", "kernel": kernel, "shapes": "4x5;1000", "precision": "bf16"})
    assert work["bytes"].tolist() == [40.0]


def test_stated_bytes_and_ranks_stay() -> None:
    work = counted({"op_class": "collective", "op_type": "all_reduce", "bytes": 12.0, "ranks": 4, "attributes": None})
    assert (work["bytes"][0], work["ranks"][0]) == (12.0, 4)


def test_gradients_are_of_copies_and_so_are_the_buffers_of_their_group() -> None:
    assert uses(sent("all_reduce", 100.0), sent("broadcast", 4.0, "forward")) == ["data", "data"]


def test_sums_of_results_are_of_parts_in_both_passes() -> None:
    rows = [sent("all_reduce", 64.0, phase, attributes="ranks=4;group=1") for phase in ("forward", "backward")]
    assert uses(*rows, sent("all_reduce", 999.0, attributes="ranks=2;group=2")) == ["model", "model", "data"]


def test_weights_that_are_gathered_where_nothing_is_summed_forward_are_of_copies() -> None:
    sharded = [sent("all_gather", 100.0, "forward"), sent("reduce_scatter", 100.0)]
    assert uses(*sharded) == ["data", "data"]
    summed = sent("reduce_scatter", 7.0, "forward")  # results, as of sequences or of tables in rows
    assert uses(*sharded, summed) == ["model", "data", "model"]


@pytest.mark.parametrize("op_type", ["all_to_all", "send", "recv"])
def test_tokens_and_what_stages_pass_on_are_of_parts(op_type: str) -> None:
    assert uses(sent(op_type, 5.0), sent("all_reduce", 100.0)) == ["model", "data"]


def test_inference_has_no_copies_that_exchange_anything() -> None:
    inference = TOY.model_copy(update={"mode": "inference"})
    assert uses(sent("all_reduce", 100.0, "forward"), sent("all_gather", 3.0), workload=inference) == ["model"] * 2


def test_other_ops_are_for_nothing_of_that() -> None:
    assert counted({"op_type": "Relu", "shapes": "3"})["among"].isna().all()


def test_where_nothing_tells_who_sends_all_ranks_of_the_run_do() -> None:
    work = counted(sent("all_reduce", 100.0, attributes=None), {"op_type": "Relu", "shapes": "3"})
    actual = among_all(work, 16)
    assert actual.work["ranks"].iloc[0] == 16
    assert [note.code for note in actual.notes] == ["ranks-assumed"]
    assert among_all(work, None).work["ranks"].isna().all()
    assert not among_all(counted(sent("all_reduce", 100.0)), 16).notes


def test_a_kernel_that_sends_has_another_rank_whatever_the_run_states() -> None:
    kernel = sent("all_reduce", 100.0, attributes=None)
    work = counted(kernel, kernel | {"placement": "cpu"})
    actual = among_all(work, 1).work["ranks"]
    assert actual.isna().tolist() == [True, False]


def test_ranks_of_a_run_are_copies_times_the_ranks_of_one() -> None:
    tensor = [sent("all_reduce", 64.0, phase, attributes="ranks=4;group=1") for phase in ("forward", "backward")]
    work = counted(*tensor, sent("all_reduce", 999.0, attributes="ranks=2;group=2"))
    actual = recorded_ranks(work, profile(work, world_size=8))
    assert actual == RecordedRanks(world=8, copies=2, parts=4)
    assert actual.of_copy == 4


def test_ranks_that_only_sum_results_are_of_one_copy() -> None:
    work = counted(sent("all_to_all", 64.0, "forward"))
    actual = recorded_ranks(work, profile(work, world_size=16))
    assert (actual.world, actual.copies, actual.parts, actual.of_copy) == (16, 2, 8, 8)


def test_a_run_of_one_rank_has_no_recorded_ranks() -> None:
    work = counted(sent("all_reduce", 64.0, attributes="ranks=1"), {"op_type": "Relu", "shapes": "3"})
    assert recorded_ranks(work, profile(work, world_size=1)) == RecordedRanks()


def test_an_op_of_the_host_only_begins_a_message() -> None:
    work = counted(sent("all_reduce", 64.0, placement="cpu"), sent("all_reduce", 64.0))
    assert sent_by_devices(work).tolist() == [False, True]


def test_gradients_tell_the_parameters_where_nothing_else_does() -> None:
    work = counted(sent("all_reduce", 100.0, precision="bf16"), sent("broadcast", 4.0), sent("all_to_all", 80.0))
    assert with_parameters(TOY, work).parameters == 50
    assert with_parameters(TOY.model_copy(update={"parameters": 7}), work).parameters == 7
    assert with_parameters(TOY, work.iloc[2:]).parameters is None


def test_gradients_keep_their_bytes_at_another_batch_and_activations_do_not() -> None:
    work = counted(sent("all_reduce", 100.0), sent("all_to_all", 80.0))
    assert rebatch(work, TOY, 16).work["bytes"].tolist() == [100.0, 160.0]
