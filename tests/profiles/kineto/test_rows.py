"""The rows of OPS that events make: their order, operands and precision."""

from pathlib import Path

import pytest

from tests.profiles.kineto.events import event, read
from tests.profiles.kineto.test_kineto import only_row, op_args


def test_rows_are_in_the_order_of_the_program(tmp_path: Path) -> None:
    names = {"aten::mul": 50, "aten::add": 10, "aten::relu": 30}
    host = read(tmp_path, *(event(name, ts, 5) for name, ts in names.items()))
    device = read(tmp_path, *(event(name, ts, 5, "kernel", stream=ts) for name, ts in names.items()))
    assert host.ops["op"].tolist() == device.ops["op"].tolist() == ["aten::add", "aten::relu", "aten::mul"]


def test_only_the_longest_kernel_of_an_op_has_operands(tmp_path: Path) -> None:
    launched = {"External id": 1}
    kernels = [event(name, ts, dur, "kernel", 7, **launched) for name, ts, dur in (("main", 20, 9), ("helper", 30, 2))]
    profile = read(tmp_path, event("aten::sum", 0, 10, **launched, **op_args([9])), *kernels)
    assert only_row(profile, kernel="main")["shapes"] == "9"
    helper = only_row(profile, kernel="helper")
    assert (helper["op_type"], helper["calls"], "shapes" in helper) == ("helper", 1, False)


@pytest.mark.parametrize(
    "name",
    [
        "cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align4",
        "nvjet_sm100_sss_128x128_32x6_2x1_v_bz_TNT",
        "Cijk_Alik_Bljk_S_MX_B_UserArgs_MT128x128x32_MI16x16x1",
    ],
)
def test_tensor_core_kernels_on_fp32_are_tf32(tmp_path: Path, name: str) -> None:
    product = event("aten::mm", 0, 10, **{"External id": 1}, **op_args([4, 4], [4, 4]))
    profile = read(tmp_path, product, event(name, 20, 5, "kernel", 7, **{"External id": 1}))
    assert only_row(profile, kernel=name)["precision"] == "tf32"
