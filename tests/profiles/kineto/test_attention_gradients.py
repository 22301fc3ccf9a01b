from pathlib import Path
from typing import Any

import pytest

from estimator.core.types import Profile, Workload
from estimator.work import count_work
from tests.profiles.kineto.events import event, kernel, launch, read

Q, KV = [2, 48, 8, 64], [2, 48, 4, 64]
PRODUCT = 2 * 2 * 8 * 48 * 48 * 64  # FLOP of one product of attention


def args(*dims: list[int], values: list[str] | None = None) -> dict[str, Any]:
    types = ["c10::BFloat16" if sizes else "Scalar" for sizes in dims]
    return {"Input Dims": dims, "Input type": types, "Concrete Inputs": values or [""] * len(dims)}


def forward(ts: float, causal: bool = True, keys: list[int] = KV) -> Any:
    return event("FlashAttnFunc", ts, 10, **args(Q, keys, keys, [], [], [], values=["", "", "", "0.", "", str(causal)]))


def run(tmp_path: Path, *others: Any) -> Profile:
    return read(
        tmp_path, forward(0), event("FlashAttnFuncBackward", 100, 10, **args(Q)),
        launch(5, 1), launch(105, 2), launch(106, 3),
        kernel("void flash::flash_fwd_kernel<Traits>", 20, 5, 1),
        kernel("void flash::flash_bwd_dot_do_o_kernel<Traits>", 120, 2, 2),
        kernel("void flash::flash_bwd_dq_dk_dv_loop_kernel<Traits>", 130, 9, 3),
        *others,
    )  # fmt: skip


def flop(profile: Profile) -> dict[str, float]:
    work = count_work(profile.ops, Workload(name="toy")).work
    return dict(work.groupby("kernel")["flop"].sum())


def test_a_gradient_has_the_operands_of_the_forward_call(tmp_path: Path) -> None:
    actual = flop(run(tmp_path))
    assert actual["void flash::flash_fwd_kernel<Traits>"] == PRODUCT  # two products, half of each is masked
    assert actual["void flash::flash_bwd_dq_dk_dv_loop_kernel<Traits>"] == 2.5 * PRODUCT
    assert sum(actual.values()) == 3.5 * PRODUCT


@pytest.mark.parametrize("other", [{"causal": False}, {"keys": [2, 96, 4, 64]}])
def test_forward_calls_that_disagree_tell_nothing(other: Any, tmp_path: Path) -> None:
    actual = flop(run(tmp_path, forward(50, **other)))
    assert sum(actual.values()) == PRODUCT


def test_an_op_of_the_librarys_own_tells_its_operands_itself(tmp_path: Path) -> None:
    inner = event(
        "flash_attn::_flash_attn_backward", 101, 8, **args(Q, Q, KV, KV, *[[]] * 8, values=[*[""] * 11, "True"])
    )
    assert sum(flop(run(tmp_path, inner)).values()) == 3.5 * PRODUCT
