"""The number format of each op."""

import pytest

from estimator.core.types import Workload
from estimator.work import count_work
from tests.conftest import make_ops, unpacked


def test_an_unstated_precision_gives_a_note() -> None:
    ops = make_ops({"op_type": "MatMul", "m": 2, "n": 3, "k": 4})
    assert "states no precision for 1 products: fp32 is taken" in str(
        unpacked(count_work(ops, Workload(name="toy")))[1]
    )
    assert unpacked(count_work(ops, Workload(name="toy", precision="fp32")))[1] == ()
    assert unpacked(count_work(ops.assign(precision="bf16"), Workload(name="toy")))[1] == ()


def test_memory_bound_ops_of_unstated_precision_give_an_assumption() -> None:
    ops = make_ops({"op_type": "Relu", "shapes": "900x1000"})
    (note,) = count_work(ops, Workload(name="toy")).notes
    assert (note.code, note.kind) == ("precision-default", "assumption")
    assert note.text.startswith("the dump states no precision for 1 memory-bound ops: fp32 is taken")
    assert count_work(ops.assign(precision="fp32"), Workload(name="toy")).notes == ()
    assert count_work(ops, Workload(name="toy", precision="fp32")).notes == ()


def test_a_kernels_name_tells_the_precision_that_the_dump_does_not() -> None:
    rows = [{"op_type": "aten::mm", "kernel": "Cijk_Ailk_Bljk_BBS_BH_MT128x128x16"}, {"op_type": "aten::mm"}]
    stated = {"op_type": "aten::mm", "kernel": "ampere_sgemm_128x64_nn", "precision": "fp16"}
    work = count_work(make_ops(*rows, stated), Workload(name="toy")).work
    assert work["precision"].tolist() == ["bf16", "fp32", "fp16"]


def test_products_of_unknown_format_take_that_of_most_others() -> None:
    """Of their class where one of it states any; not memory-bound ops, and not where a workload file states one."""
    rows: list[dict[str, object]] = [
        {"op_type": "aten::mm", "precision": "bf16", "time_s": 4.0},
        {"op_type": "aten::mm", "precision": "fp32", "time_s": 2.0},
        {"op_type": "aten::mm"},
        {"op_type": "aten::convolution", "precision": "tf32", "time_s": 1.0},
        {"op_type": "aten::convolution"},
        {"op_type": "aten::_scaled_dot_product_flash_attention"},
        {"op_type": "aten::relu"},
    ]
    ops = make_ops(*rows)
    counted = count_work(ops, Workload(name="toy"))
    assert counted.work["precision"].tolist() == ["bf16", "fp32", "bf16", "tf32", "tf32", "bf16", "fp32"]
    assert "ops: bf16 and tf32 for products and fp32 for memory-bound ops are taken" in str(counted.notes)
    stated = count_work(ops, Workload(name="toy", precision="fp16")).work
    assert stated["precision"].tolist() == ["bf16", "fp32", "fp16", "tf32", "fp16", "fp16", "fp16"]


@pytest.mark.parametrize(("stated", "assumed"), [("tf32", "fp32"), ("fp8", "bf16"), ("bf16", "bf16")])
def test_formats_that_a_framework_chooses_by_class_do_not_spread_to_others(stated: str, assumed: str) -> None:
    rows = [{"op_type": "aten::convolution", "precision": stated}, {"op_type": "aten::mm"}]
    work = count_work(make_ops(*rows), Workload(name="toy")).work
    assert work["precision"].tolist() == [stated, assumed]


@pytest.mark.parametrize(("stated", "stored"), [("tf32", "fp32"), ("fp8", "bf16"), ("fp16", "fp16")])
def test_memory_bound_ops_have_the_format_in_which_stated_products_leave_results(stated: str, stored: str) -> None:
    ops = make_ops({"op_type": "aten::mm"}, {"op_type": "aten::relu"})
    work = count_work(ops, Workload(name="toy", precision=stated)).work
    assert work["precision"].tolist() == [stated, stored]


def test_no_format_is_that_of_most_products_where_each_has_half() -> None:
    ops = make_ops(*({"op_type": "aten::mm", "precision": name} for name in ("bf16", "fp16", None)))
    work = count_work(ops, Workload(name="toy")).work
    assert work["precision"].tolist() == ["bf16", "fp16", "fp32"]
