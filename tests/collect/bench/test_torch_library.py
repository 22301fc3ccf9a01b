"""PyTorch: every op where it is installed; elsewhere how it is set, timed and asked, on a stand-in for its module."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from estimator.collect.bench.torch_library import Torch
from estimator.collect.bench.types import Conv
from tests.collect.bench.runs import run_every_op


def library_of(gpu: bool, **module: Any) -> Torch:
    """The library on a module of these names."""
    library = object.__new__(Torch)
    library.gpu, library.module = gpu, SimpleNamespace(__version__="2.9.0", **module)
    return library


def test_every_op_of_pytorch_runs(tmp_path: Path) -> None:
    run_every_op(tmp_path, "torch")


@pytest.mark.parametrize(("precision", "allowed"), [("tf32", True), ("fp32", False)])
def test_tf32_is_set_for_products_and_for_convolutions(precision: str, allowed: bool) -> None:
    matmul, cudnn = SimpleNamespace(), SimpleNamespace()
    backends = SimpleNamespace(cuda=SimpleNamespace(matmul=matmul), cudnn=cudnn)
    library_of(True, backends=backends).select(precision)
    assert (matmul.allow_tf32, cudnn.allow_tf32) == (allowed, allowed)


@pytest.mark.parametrize(
    ("version", "stack"), [({"cuda": "12.4", "hip": None}, "CUDA 12.4"), ({"cuda": None, "hip": "6.2"}, "ROCm 6.2")]
)
def test_versions_of_a_gpu_name_its_stack(version: dict[str, Any], stack: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("estimator.collect.bench.library.nvidia_gpu", dict)
    show = SimpleNamespace(show=lambda: "built with MKL-DNN v3.5.3, and others")
    backends = SimpleNamespace(cudnn=SimpleNamespace(version=lambda: 90100))
    names: dict[str, Any] = {"version": SimpleNamespace(**version), "__config__": show, "backends": backends}
    assert library_of(True, **names).versions() == f"torch 2.9.0; {stack}; cuDNN 90100"
    assert library_of(False, **names).versions() == "torch 2.9.0; MKL-DNN v3.5.3"


def test_a_gpu_times_calls_between_two_of_its_own_events_behind_the_flush() -> None:
    order = list[str]()

    class Event:
        def __init__(self, enable_timing: bool) -> None:
            assert enable_timing

        def record(self) -> None:
            order.append("record")

        def synchronize(self) -> None:
            order.append("wait")

        def elapsed_time(self, end: "Event") -> float:
            return 2.5  # ms

    library = library_of(True, cuda=SimpleNamespace(Event=Event))
    seconds, _ = library.time_calls(lambda: order.append("call"), 2, lambda: order.append("flush"))
    assert seconds == pytest.approx(0.0025)
    assert order == ["flush", "record", "call", "call", "record", "wait"]


@pytest.mark.parametrize(
    ("direction", "asked"),
    [("grad_input", [True, False, False]), ("grad_weights", [False, True, False]), ("backward", [True, True, False])],
)
def test_a_backward_convolution_computes_the_gradients_of_its_pass(
    direction: str, asked: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    def backward(dy: Any, x: Any, w: Any, bias: Any, *options: Any) -> Any:
        return dy, x.shape, w.shape, options

    aten = SimpleNamespace(convolution=lambda *operands: "gradient", convolution_backward=backward)
    library = library_of(False, ops=SimpleNamespace(aten=aten))
    monkeypatch.setattr(library, "array", lambda shape, precision: np.zeros(shape))
    run: Callable[[], Any] = library.convolution(
        "fp32", Conv(2, 6, 9, 8, 10, 3, 5, (1, 1), (0, 2), (1, 1), 2, direction)
    )
    dy, x, w, options = run()
    assert (dy, x, w) == ("gradient", (2, 6, 9, 8), (10, 3, 3, 5))  # a kernel sees the channels of its group
    assert options == ((1, 1), (0, 2), (1, 1), False, [0, 0], 2, asked)
