"""How the ops of a Kineto trace nest, seen in the profile that is read from it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from estimator.core.errors import EstimatorError
from estimator.core.types import Profile
from estimator.profiles.columns import Columns
from estimator.profiles.kineto.nesting import inside
from estimator.work import count_work
from tests.profiles.kineto.events import TENSOR, Event, event, read


def times_us(profile: Profile) -> dict[str, float]:
    """The self time of each op [µs]; an op that takes none is left out."""
    rows = profile.ops.groupby("op")["time_s"].sum() * 1e6
    return {str(name): round(float(value), 3) for name, value in rows.items() if value > 0}


def phases(profile: Profile) -> dict[str, str]:
    return dict(zip(profile.ops["op"], profile.ops["phase"], strict=True))


def test_an_ops_own_time_is_without_that_of_the_ops_inside(tmp_path: Path) -> None:
    actual = read(
        tmp_path, event("aten::add", 0, 100), event("aten::mul", 10, 30), event("aten::neg", 15, 5),
        event("aten::exp", 60, 20),
    )  # fmt: skip
    assert sum(times_us(actual).values()) == pytest.approx(100)
    assert sorted(times_us(actual).values()) == [5, 20, 25, 50]


def test_an_end_within_a_microsecond_after_the_outer_ops_is_cut_off(tmp_path: Path) -> None:
    """Times were once written in whole microseconds."""
    actual = read(tmp_path, event("aten::add", 0, 100), event("aten::mul", 90, 11))
    assert sorted(times_us(actual).values()) == [10, 90]


def test_an_end_farther_out_is_refused_with_both_names(tmp_path: Path) -> None:
    with pytest.raises(EstimatorError, match=r"'aten::mul' begins in 'aten::add' and ends 1\.500 µs after it"):
        read(tmp_path, event("aten::add", 0, 100), event("aten::mul", 90, 11.5))


def test_threads_do_not_nest_in_each_other(tmp_path: Path) -> None:
    actual = read(tmp_path, event("aten::add", 0, 100), event("aten::mul", 10, 30, tid=2))
    assert sorted(times_us(actual).values()) == [30, 100]


def test_phases_follow_from_what_is_around_an_op(tmp_path: Path) -> None:
    def mark(name: str, ts: float, dur: float) -> Event:
        return event(name, ts, dur, "user_annotation")

    actual = phases(
        read(
            tmp_path, event("aten::exp", 0, 5), event("autograd::engine::evaluate_function: ExpBackward0", 10, 20),
            event("aten::mul", 12, 5), mark("Optimizer.step#SGD.step", 40, 20), event("aten::add_", 45, 5),
            event("aten::neg", 70, 5), event("aten::sub", 10, 5, tid=2),
        )
    )  # fmt: skip
    by_type = {name.split("(")[0].strip(): phase for name, phase in actual.items()}
    expected = {
        "aten::exp": "forward", "aten::mul": "backward", "aten::add_": "optimizer", "aten::neg": "forward",
        "aten::sub": "forward",
    }  # fmt: skip
    assert {name: by_type[name] for name in expected} == expected


def test_a_product_that_holds_a_product_is_counted_once(tmp_path: Path) -> None:
    outer, inner = event("aten::matmul", 0, 100), event("aten::mm", 10, 80)
    for op in (outer, inner):
        op["args"]["Input Dims"] = [[64, 32], [32, 16]]
    actual = read(tmp_path, outer, inner)
    work = count_work(actual.ops, actual.workload, actual.where).work
    assert work["flop"].sum() == 2 * 64 * 32 * 16
    product = work[work["flop"] > 0]
    assert product["op_class"].tolist() == ["gemm"]
    assert product["time_s"].tolist() == pytest.approx([80e-6])
    assert work["time_s"].sum() == pytest.approx(100e-6)


@pytest.mark.parametrize(
    ("start", "expected"), [(9, False), (10, True), (14, True), (15, True), (19, True), (20, False), (35, True)]
)
def test_a_start_lies_inside_spans_that_may_overlap(start: int, expected: bool) -> None:
    """From 10 to 20 with one of 12 to 14 in it, and from 30 to 40; spans hold their begin, not their end."""
    spans = Columns("start", "duration")
    spans.add([30, 10, 12], [10, 10, 2])
    assert inside(np.array([start]), spans).tolist() == [expected]


def test_an_op_that_clears_its_result_first_does_its_own_work(tmp_path: Path) -> None:
    """Its fill takes longer than itself, and is as large; a sum of zeros only fills."""
    actual = read(
        tmp_path,
        event("aten::max_pool2d_with_indices_backward", 0, 100, dims=[[8, 4, 10, 10], [8, 4, 20, 20]]),
        event("aten::zero_", 5, 70, dims=[[8, 4, 20, 20]]),
        event("aten::fill_", 10, 60, dims=[[8, 4, 20, 20], []]),
    )
    by_op = actual.ops.set_index("op")["attributes"].fillna("")
    assert by_op["aten::max_pool2d_with_indices_backward"] == ""
    assert by_op["aten::zero_"] == "dispatch=1"


def test_ops_that_prepare_memory_do_no_work_of_the_op_around_them(tmp_path: Path) -> None:
    inside = event("aten::contiguous", 1, 8, **TENSOR)
    profile = read(tmp_path, event("aten::native_layer_norm", 0, 10, **TENSOR), inside)
    assert profile.ops.set_index("op")["shapes"]["aten::native_layer_norm"] == "4x8"


def test_an_einsum_of_one_operand_only_moves_it(tmp_path: Path) -> None:
    """As the last layer of DiT does. One without any op inside may be a product."""
    moved: dict[str, Any] = {"Input Dims": [[4, 8, 2, 3]], "Input type": ["float"]}
    profile = read(tmp_path, event("aten::einsum", 0, 10, **moved), event("aten::permute", 1, 4, **moved))
    actual = count_work(profile.ops, profile.workload, profile.where)
    assert actual.work.set_index("op")["op_class"]["aten::einsum"] == "host"
    alone = read(tmp_path, event("aten::einsum", 0, 10, **moved))
    assert count_work(alone.ops, alone.workload, alone.where).work["op_class"].tolist() == ["gemm"]


def test_an_update_may_run_passes_itself(tmp_path: Path) -> None:
    """As L-BFGS does: its own ops have no numbers of autograd, or numbers that tell no gradient of theirs."""
    actual = read(
        tmp_path,
        event("Optimizer.step#LBFGS.step", 0, 100, "user_annotation"),
        event("aten::mul", 1, 2, **{"Sequence number": 5}),
        event("aten::linear", 5, 20), event("aten::mm", 6, 15, **{"Sequence number": 5}), event("aten::exp", 8, 5),
        event("autograd::engine::evaluate_function: MmBackward0", 30, 20, **{"Sequence number": 5}),
        event("aten::neg", 32, 5),
        event("aten::add_", 60, 5), event("aten::sqrt", 70, 5, **{"Sequence number": 6}),
    )  # fmt: skip
    assert phases(actual) == {
        "aten::mul": "optimizer", "aten::linear": "forward", "aten::mm": "forward", "aten::exp": "forward",
        "autograd::engine::evaluate_function: MmBackward0": "backward", "aten::neg": "backward",
        "aten::add_": "optimizer", "aten::sqrt": "optimizer",
    }  # fmt: skip
