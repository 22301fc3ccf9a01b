"""numpy computes what it times, on so many threads."""

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from estimator.collect.bench import numpy_library
from estimator.collect.bench.jobs import DEFAULT_LENGTH
from estimator.collect.bench.numpy_library import Numpy


def test_numpy_computes_what_it_times() -> None:
    library = Numpy("cpu", 2)
    x = library.array((200, DEFAULT_LENGTH), "fp32")
    calls = library.ops()
    out = np.empty_like(x)
    calls["softmax"](x, out)
    assert out.sum(-1) == pytest.approx(np.ones(200), rel=1e-4)
    calls["layer_norm"](x, out)
    assert out.std(-1) == pytest.approx(np.ones(200), rel=1e-3)
    assert np.abs(x).min() > np.finfo("float32").tiny
    assert library.gemm("fp64", (8, 4), (8, 3), True, False)().shape == (4, 3)


@pytest.mark.parametrize(("threads", "rows", "pooled"), [(3, 1000, True), (3, 100, False), (1, 1000, False)])
def test_threads_share_an_op_that_is_long_enough(
    threads: int, rows: int, pooled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    library, done, pools = Numpy("cpu", threads), list[int](), list[int]()
    x = library.array((rows, DEFAULT_LENGTH), "fp32")
    library.ops = lambda: {"add": lambda x, y, out: done.append(len(x))}  # type: ignore[method-assign]

    def pool(count: int) -> ThreadPoolExecutor:
        pools.append(count)
        return ThreadPoolExecutor(count)

    monkeypatch.setattr(numpy_library, "ThreadPoolExecutor", pool)
    library.call("add", [x, x])()
    assert (sum(done), pools) == (rows, [threads] * pooled)


@pytest.mark.parametrize("width", [3, 20_000])
@pytest.mark.parametrize("threads", [1, 2])
def test_what_numpy_makes_along_channels(width: int, threads: int) -> None:
    library = Numpy("cpu", threads)
    x, bias = library.array((7, width), "fp32"), library.array((width,), "fp32")
    made = library.np.concatenate(list(_parts(library.call("bias_add", [x, bias])())))
    assert (made == x + bias).all()
    assert library.np.allclose(sum(_parts(library.call("bias_grad", [x])())), x.sum(0), atol=1e-4)


def _parts(made: list[Any]) -> Iterator[Any]:
    """What each block of an op made, whether threads shared them or not."""
    return itertools.chain.from_iterable(part if isinstance(part, list) else [part] for part in made)
