from pathlib import Path
from typing import Any

import pytest

from estimator.core.types import Workload
from estimator.work import count_work
from tests.profiles.kineto.events import event, kernel, launch, read


def dims(*tensors: list[int]) -> dict[str, Any]:
    return {"Input Dims": tensors}


def test_the_op_around_the_launch_outranks_the_id_that_a_kernel_states(tmp_path: Path) -> None:
    stated = kernel("work", 50, 5, 1)
    stated["args"]["External id"] = 2
    profile = read(
        tmp_path,
        event("aten::around", 0, 10, **{"External id": 1}),
        event("aten::elsewhere", 20, 10, **{"External id": 2}),
        launch(5, 1),
        stated,
    )
    assert profile.ops["op"].tolist() == ["aten::around"]


def test_a_launch_on_a_thread_without_ops_is_that_of_the_op_whose_id_the_kernel_states(tmp_path: Path) -> None:
    stated = kernel("work", 50, 5, 1)
    stated["args"]["External id"] = 2
    elsewhere = {**launch(25, 1), "tid": 99}
    op = event("aten::relu", 0, 10, **{"External id": 2}, **dims([9]))
    profile = read(tmp_path, op, elsewhere, stated)
    assert profile.ops[["op", "shapes"]].to_numpy().tolist() == [["aten::relu", "9"]]
    profile = read(tmp_path, op, event("aten::own", 40, 1, tid=99), elsewhere, stated)
    assert profile.ops["op"].tolist() == ["work"]


def test_an_op_rounded_to_no_duration_does_not_hide_the_op_around_it(tmp_path: Path) -> None:
    around, inside = event("aten::sum", 0, 24, **dims([9])), event("aten::as_strided", 7, 0)
    profile = read(
        tmp_path, around, inside, launch(15, 1), launch(30, 2), kernel("work", 50, 5, 1), kernel("alone", 60, 5, 2)
    )
    assert sorted(profile.ops["op"]) == ["alone", "aten::sum"]


def test_an_id_that_several_ops_have_names_none(tmp_path: Path) -> None:
    ids = {"External id": 0}
    stated = event("work", 50, 5, "kernel", 7, **ids)
    profile = read(tmp_path, event("aten::a", 0, 10, **ids), event("aten::b", 20, 10, **ids), stated)
    assert profile.ops["op"].tolist() == ["work"]


def test_of_launches_with_one_correlation_the_last_one_before_the_event_is_its_own(tmp_path: Path) -> None:
    profile = read(
        tmp_path,
        *(event(f"aten::op{i}", 100 * i, 20) for i in range(3)),
        *(launch(100 * i + 5, 1) for i in (2, 0, 1)),
        *(kernel("work", 100 * i + 10, 5, 1) for i in range(3)),
    )
    assert sorted(profile.ops["op"]) == ["aten::op0", "aten::op1", "aten::op2"]


def test_a_correlation_of_0_that_several_launches_have_is_none(tmp_path: Path) -> None:
    around, call = event("aten::op", 0, 10), launch(5, 0)
    assert read(tmp_path, around, call, kernel("work", 20, 5, 0)).ops["op"].tolist() == ["aten::op"]
    assert read(tmp_path, around, call, launch(7, 0), kernel("work", 20, 5, 0)).ops["op"].tolist() == ["work"]


def test_kernels_of_one_op_and_name_on_two_streams_are_read(tmp_path: Path) -> None:
    tuned = [kernel("dgrad", 20 + 10 * i, 9 - i, i, stream=7 + i % 2) for i in range(4)]
    profile = read(tmp_path, event("aten::tuned", 0, 10, **dims([9])), *(launch(i, i) for i in range(4)), *tuned)
    by_stream = profile.ops.set_index("stream")
    assert by_stream["calls"].to_dict() == {"7": 1, "8": 2}
    assert by_stream["shapes"].fillna("").to_dict() == {"7": "9", "8": ""}
    assert profile.ops["time_s"].sum() == pytest.approx(30e-6)


def test_of_a_products_kernels_the_one_whose_name_says_so_does_its_work(tmp_path: Path) -> None:
    names = ("cub::DeviceReduceKernel", "ampere_sgemm_128x64", "splitKreduce_kernel_of_gemm")
    profile = read(
        tmp_path,
        event("aten::mm", 0, 10, **dims([4, 5], [5, 6])),
        *(launch(i, i) for i in (1, 2, 3)),
        *(kernel(name, 50 * i, 40 - i, i) for i, name in enumerate(names, 1)),
    )
    assert profile.ops.dropna(subset="shapes")["kernel"].tolist() == ["ampere_sgemm_128x64"]


@pytest.mark.parametrize(
    ("name", "passes"),
    [
        ("sm80_xmma_wgrad_implicit_gemm", ["grad_weights"]),
        ("cutlass_tensorop_dgrad_optimized", ["grad_input"]),
        ("miopenSp3AsmConv", ["grad_input", "grad_weights"]),  # does not say which: both
    ],
)
def test_a_lone_kernel_of_both_gradients_computes_the_one_it_names(
    name: str, passes: list[str], tmp_path: Path
) -> None:
    image, weight, output = [2, 3, 8, 8], [4, 3, 3, 3], [2, 4, 6, 6]
    profile = read(
        tmp_path, event("aten::convolution_backward", 0, 10, **dims(output, image, weight)), launch(1, 1),
        kernel(name, 20, 10, 1),
    )  # fmt: skip
    attributes = profile.ops["attributes"].fillna("").tolist()
    assert sorted(each for each in ("grad_input", "grad_weights") if f"pass={each}" in ";".join(attributes)) == passes


def test_a_helper_beside_a_lone_gradient_computes_none(tmp_path: Path) -> None:
    profile = read(
        tmp_path, event("aten::convolution_backward", 0, 10, **dims([2, 4, 6, 6], [2, 3, 8, 8], [4, 3, 3, 3])),
        launch(1, 1), launch(2, 2), kernel("nchwToNhwcKernel", 20, 30, 1), kernel("sm80_xmma_wgrad", 60, 10, 2),
    )  # fmt: skip
    attributes = profile.ops.set_index("kernel")["attributes"]
    assert "pass=grad_weights" in attributes["sm80_xmma_wgrad"]
    assert attributes.isna()["nchwToNhwcKernel"]


def test_the_kernels_of_a_graph_keep_their_time_and_have_no_shapes(tmp_path: Path) -> None:
    profile = read(
        tmp_path,
        event("aten::mm", 0, 10, **dims([4, 4], [4, 4])),
        launch(5, 1, "hipGraphLaunch"),
        *(kernel(f"kernel{i}", 20 + 10 * i, 5, 1) for i in range(3)),
    )
    assert profile.ops["time_s"].sum() == pytest.approx(15e-6)
    assert profile.ops["shapes"].isna().all()


@pytest.mark.parametrize("inner", ["aiter::gemm_a16w16", "aten::mm"])
def test_one_product_in_nested_ops_counts_once(inner: str, tmp_path: Path) -> None:
    operands = dims([8, 4], [4, 16]) if inner == "aten::mm" else {}
    profile = read(
        tmp_path,
        event("aten::linear", 0, 20, **dims([8, 4], [16, 4])),
        event(inner, 5, 10, **operands),
        launch(10, 1), launch(12, 2),
        kernel("Cijk_Ailk", 30, 50, 1), kernel("splitK_reduce", 90, 60, 2),
    )  # fmt: skip
    work = count_work(profile.ops, Workload(name="toy")).work
    assert work["flop"].sum() == 2 * 8 * 4 * 16


def test_compiled_functions_and_lookups_have_no_operands_of_their_kernels(tmp_path: Path) -> None:
    for name in ("CompiledFunction", "fbgemm::split_embedding_codegen_lookup_function"):
        profile = read(
            tmp_path,
            event(name, 0, 10, **dims([641, 10**6])),
            launch(5, 1),
            kernel("triton_poi_0", 20, 5, 1),
        )
        assert profile.ops["shapes"].isna().all()


def test_of_launches_with_one_id_the_last_before_a_kernel_is_its_own(tmp_path: Path) -> None:
    ops = [event("aten::first", 0, 10), event("aten::second", 100, 10)]
    launches = [launch(105, 3), launch(5, 3)]  # of two processes, or of two turns of a counter
    kernels = [kernel("one", 20, 5, 3), kernel("other", 120, 5, 3)]
    profile = read(tmp_path, *ops, *launches, *kernels)
    assert profile.ops.set_index("kernel")["op"].to_dict() == {"one": "aten::first", "other": "aten::second"}


def test_the_id_0_of_several_launches_names_none(tmp_path: Path) -> None:
    ops = [event("aten::first", 0, 10), event("aten::second", 100, 10)]
    profile = read(tmp_path, *ops, launch(5, 0), launch(105, 0), kernel("work", 120, 5, 0))
    assert profile.ops["op"].tolist() == ["work"]


@pytest.mark.parametrize(
    ("worker", "helper"),
    [
        ("volta_scudnn_128x64_stridedB_splitK_small_nn_v1", "cask_cudnn::computeWgradBOffsetsKernel(Params)"),
        (
            "sm80_xmma_wgrad_implicit_gemm_tf32_stage4_splitK_kernel",
            "cask_cudnn::computeWgradSplitKOffsetsKernel(Params)",
        ),
        ("volta_sgemm_64x64_nn", "void splitKreduce_kernel<float, float>(cublasSplitKParams<float>)"),
        ("Cijk_Ailk_Bljk_HHS_MT64", "void cutlass::Kernel<cutlass::reduction::kernel::ReduceSplitK<float>>"),
        ("void wvSplitK_hf_sml_<__hip_bfloat16, 64>", "Cijk_S_Bias_PostGSU8"),
        ("Cijk_Alik_Bljk_BBS_BH_MT16x16x128", "Cijk_B_GA.kd"),
        ("Cijk_AlikC_Bljk_ZB_MT16x16x8", "Cijk_ZB_BetaOnly"),
        ("ampere_sgemm_128x64_nn", "void convert_weights_kernel<float>(float const*, float*)"),
    ],
)
@pytest.mark.parametrize("helper_lasts", [1, 60])
def test_the_kernel_that_multiplies_gets_the_operands(
    worker: str, helper: str, helper_lasts: int, tmp_path: Path
) -> None:
    profile = read(
        tmp_path,
        event("aten::mm", 0, 20, **dims([8, 4], [4, 16])),
        launch(5, 1), launch(6, 2),
        kernel(helper, 30, helper_lasts, 1), kernel(worker, 100, 20, 2),
    )  # fmt: skip
    by_kernel = profile.ops.set_index("kernel")["shapes"].fillna("").to_dict()
    assert by_kernel == {worker: "8x4;4x16", helper: ""}


def test_of_launches_with_one_id_each_is_of_one_event_in_turn(tmp_path: Path) -> None:
    """Two processes in one trace, each with a device that lags behind its host."""
    ops = [event("aten::first", 0, 10), event("aten::second", 20, 10)]
    kernels = [kernel("one", 120, 5, 3), kernel("other", 140, 5, 3, device=1)]
    profile = read(tmp_path, *ops, launch(5, 3), launch(25, 3), *kernels)
    assert profile.ops.set_index("kernel")["op"].to_dict() == {"one": "aten::first", "other": "aten::second"}
    early = read(tmp_path, *ops, launch(5, 3), launch(25, 3), kernel("one", 12, 5, 3), kernel("other", 20, 5, 3))
    assert early.ops["op"].tolist() == ["aten::first"] * 2  # the second launch came too late for either
