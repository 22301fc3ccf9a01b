"""JAX: every op where it is installed; elsewhere what it compiles, on numpy in place of JAX."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from estimator.collect.bench.jax_library import Jax
from tests.collect.bench.runs import run_every_op


def library_on_numpy(gpu: bool = False) -> tuple[Jax, list[Any]]:
    """The library, and what it waited for."""
    library, waited = object.__new__(Jax), list[Any]()

    def wait(output: Any) -> Any:
        waited.append(output)
        return output

    library.gpu, library.np, library.numbers = gpu, np, np.arange(1.0, 101.0)
    library.module = SimpleNamespace(numpy=np, nn=SimpleNamespace(), jit=lambda op: op, block_until_ready=wait)
    return library, waited


def test_every_op_of_jax_runs(tmp_path: Path) -> None:
    run_every_op(tmp_path, "jax")


def test_a_product_reads_its_operands_transposed_where_set() -> None:
    library, _ = library_on_numpy()
    a, b = np.arange(1.0, 9.0).reshape(4, 2), np.arange(1.0, 13.0).reshape(3, 4)
    product = library.gemm("fp64", (4, 2), (3, 4), trans_a=True, trans_b=True)()
    assert product.tolist() == [[sum(a[k, m] * b[n, k] for k in range(4)) for n in range(3)] for m in range(2)]
    assert library.gemm("fp64", (5, 2, 4), (5, 4, 3), trans_a=False, trans_b=False)().shape == (5, 2, 3)


@pytest.mark.parametrize(("gpu", "waits"), [(False, 1), (True, 0)])
def test_a_call_waits_on_a_processor_alone_as_calls_may_overlap_there(gpu: bool, waits: int) -> None:
    library, waited = library_on_numpy(gpu)
    assert library.compiled(lambda x, y: x + y, 1, 2)() == 3
    assert len(waited) == waits


@pytest.mark.parametrize(
    ("precision", "setting"), [("fp32", "float32"), ("tf32", "tensorfloat32"), ("bf16", None), ("fp64", None)]
)
def test_the_precision_of_fp32_products_is_set(precision: str, setting: str | None) -> None:
    library, settings = library_on_numpy()[0], dict[str, Any]()
    library.module.config = SimpleNamespace(update=settings.__setitem__)
    library.select(precision)
    assert settings == {"jax_default_matmul_precision": setting}


def test_gradients_of_activations_follow_from_their_results() -> None:
    """σ' = σ (1 - σ) and tanh' = 1 - tanh², here by finite differences."""
    library, x, step = library_on_numpy()[0], np.linspace(-2, 2, 9), 1e-6
    library.module.nn = SimpleNamespace(relu=None, gelu=None, softmax=None, standardize=None, sigmoid=None)
    ops = library.ops()
    for name, function in (("sigmoid_grad", lambda x: 1 / (1 + np.exp(-x))), ("tanh_grad", np.tanh)):
        slope = (function(x + step) - function(x - step)) / (2 * step)
        assert ops[name](function(x), 3.0) == pytest.approx(3.0 * slope, rel=1e-6)
