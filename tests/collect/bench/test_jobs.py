"""Jobs of rows of shapes.csv."""

import math

import pandas as pd
import pytest

from estimator.collect.bench.jobs import DEFAULT_LENGTH, make_job
from estimator.collect.bench.numpy_library import Numpy
from estimator.collect.bench.operators import STAND_INS
from estimator.collect.bench.shapes import Shape
from estimator.collect.bench.types import LeftOutError
from estimator.core.operators import benchmark_kernels, class_of, operators
from estimator.core.schema import UNPOOLED
from tests.collect.bench.runs import POOL, job


def test_the_work_of_a_product() -> None:
    actual = job(op_class="gemm", batch=2, m=3, n=5, k=7, precision="fp16")
    assert (actual.work, actual.size) == (2 * 2 * 3 * 5 * 7, 2 * 2 * (21 + 35 + 15))
    assert actual.reads == 2 * 2 * (21 + 35)
    assert actual.columns.items() >= {"trans_a": "n", "accumulate": "fp32"}.items()
    assert actual.caches == ("",)
    assert job(op_class="gemm", m=3, n=5, k=7, cache="cold").caches == ("cold",)


@pytest.mark.parametrize(
    ("what", "reads"), [("forward", 96 + 36), ("grad_input", 36 + 128), ("grad_weights", 96 + 128), ("backward", 260)]
)
def test_bytes_read_by_a_convolution(what: str, reads: int) -> None:
    """An image of 2 x 3 x 4 x 4, four kernels of 3 x 1 x 3, and as large an output of four channels."""
    sizes = {f"conv_{name}": size for name, size in zip("nchwkrs", (2, 3, 4, 4, 4, 1, 3), strict=True)}
    assert job(op_class="convolution", pad_w=1, **{**sizes, "pass": what}).reads == 4 * reads


def test_padding_that_differs_by_side_is_part_of_the_image() -> None:
    sizes = {f"conv_{name}": size for name, size in zip("nchwkrs", (1, 3, 28, 28, 8, 3, 3), strict=True)}
    actual = job(op_class="convolution", stride_h=2, stride_w=2, conv_p=14, conv_q=14, **sizes)
    assert actual.columns["padding"] == "image 29x29, no padding"
    assert actual.columns["conv_h"] == 28
    assert actual.work == 2 * 8 * 14 * 14 * 3 * 9
    assert "padding" not in job(op_class="convolution", conv_p=26, conv_q=26, **sizes).columns


def test_a_memory_bound_op_moves_the_bytes_of_its_row() -> None:
    actual = job(op_class="elementwise", bytes=12 * 1024 * 10 + 5)
    assert actual.columns.items() >= {"kernel": "add", "bytes": 12 * 1024 * 10, "flop": 1024 * 10}.items()
    assert actual.caches == ("cold", "warm")
    assert job(op_class="movement", bytes=8, cache="cold").caches == ("cold",)


@pytest.mark.parametrize(
    ("kind", "kernel", "arrays"), [("elementwise", "bias_add", 2), ("reduction", "channel_sum", 1)]
)
def test_an_op_along_channels_has_the_channels_of_its_row(kind: str, kernel: str, arrays: int) -> None:
    actual = job(op_class=kind, kernel=kernel, bytes=arrays * 4 * 321, conv_c=32)
    assert actual.columns.items() >= {"conv_c": 32, "bytes": arrays * 4 * 320, "flop": 320}.items()
    library = Numpy("cpu", 1)
    library.call = lambda kernel, arrays: lambda: [x.shape for x in arrays]  # type: ignore[method-assign]
    assert actual.build(library)() == [(10, 32), (32,)][:arrays]
    fewest = job(op_class=kind, kernel=kernel, bytes=40, conv_c=32)
    assert fewest.columns["bytes"] == arrays * 4 * 2 * 32  # one row meets no other's number
    assert job(op_class=kind, kernel=kernel, bytes=1e7).columns["conv_c"] == DEFAULT_LENGTH
    assert job(op_class=kind, bytes=1e7, conv_c=32).columns.items() >= {"conv_c": 32, "kernel": kernel}.items()
    assert "conv_c" not in job(op_class=kind, kernel=STAND_INS[kind], bytes=1e7, conv_c=32).columns


@pytest.mark.parametrize("channels", [None, 32])
def test_operators_are_timed_by_the_kernel_used_in_predictions(channels: int | None) -> None:
    names = [name for name in operators() if class_of(name) in UNPOOLED]
    classes, cells = [class_of(name) for name in names], {"conv_c": channels} if channels else {}
    columns = {"op_class": classes, "operator": names, "precision": "fp32", "conv_n": None}
    shape_rows = pd.DataFrame({**columns, "conv_c": pd.array([channels] * len(names), "Int64")})
    jobs = [
        job(op_class=of, operator=name, bytes=1e6, **cells).columns for of, name in zip(classes, names, strict=True)
    ]
    actual = {name: (each["operator"], each["kernel"]) for name, each in zip(names, jobs, strict=True)}
    assert actual == {name: (name, kernel) for name, kernel in zip(names, benchmark_kernels(shape_rows), strict=True)}


@pytest.mark.parametrize(
    ("cells", "available", "kernel"),
    [
        ({"operator": "gelu"}, ("gelu", "add"), "gelu"),
        ({"operator": "gelu"}, ("add",), "add"),
        ({"operator": "gelu", "kernel": "tanh"}, ("gelu", "add", "tanh"), "tanh"),
        ({"operator": "softmax"}, ("softmax", "add"), "add"),  # of another class
        ({"operator": "cast"}, ("cast", "add"), "add"),  # to no narrower format
        ({"operator": "cast", "precision": "bf16"}, ("cast", "add"), "cast"),
        ({"operator": "bias_grad", "op_class": "reduction", "conv_c": 8}, ("bias_grad",), "bias_grad"),
        ({"operator": "bias_grad", "op_class": "reduction", "conv_c": 8}, ("sum",), "channel_sum"),
        ({"operator": "bias_grad", "op_class": "reduction", "conv_c": 8, "conv_n": 2}, ("bias_grad",), "sum"),
        ({"operator": "embedding", "op_class": "embedding"}, (), "copy"),
    ],
)
def test_choice_of_the_kernel(cells: dict[str, object], available: tuple[str, ...], kernel: str) -> None:
    text = {"op_class": "elementwise", "precision": "fp32", "bytes": 12000, **cells}
    shape = Shape({name: str(cell) for name, cell in text.items()}, "row 1")
    assert make_job(shape, available=available).columns["kernel"] == kernel


def test_a_normalization_states_its_row_length() -> None:
    assert job(op_class="normalization", bytes=8e6).columns["row_length"] == DEFAULT_LENGTH
    assert job(op_class="normalization", bytes=8e6, row_length=100).columns["row_length"] == 100
    assert job(op_class="normalization", bytes=80, row_length=100).columns["row_length"] == 10
    assert "row_length" not in job(op_class="elementwise", bytes=8e6, row_length=100).columns


@pytest.mark.parametrize("elements", [1, 2047, 5000])
def test_an_op_without_rows_is_timed_on_exactly_so_many_elements(elements: int) -> None:
    library = Numpy("cpu", 1)
    actual = job(op_class="elementwise", bytes=12 * elements)
    library.call = lambda kernel, arrays: lambda: [x.shape for x in arrays]  # type: ignore[method-assign]
    assert (actual.columns["bytes"], actual.build(library)()) == (12 * elements, [(elements,)] * 2)
    rowed = job(op_class="normalization", bytes=8 * elements)
    assert math.prod(rowed.build(library)()[0]) * 8 == rowed.columns["bytes"]
    assert rowed.columns["bytes"] % (8 * min(elements, DEFAULT_LENGTH)) == 0


def test_the_work_of_a_pool() -> None:
    image, pooled = 2 * 3 * 9 * 7, 2 * 3 * 4 * 3
    actual = job(**POOL, stride_h=2, stride_w=2)
    assert actual.columns.items() >= {"kernel": "max_pool", "pass": "forward", "flop": image}.items()
    assert actual.columns["bytes"] == actual.work == 4 * (image + pooled)
    backward = job(**POOL, stride_h=2, stride_w=2, **{"pass": "grad_input"})
    assert backward.columns["bytes"] == 8 * (image + pooled)
    with pytest.raises(LeftOutError, match="a pool of 9x7 to 4x3 is not measured here"):
        job(**POOL)
    for cells in ({"bytes": 80}, {"kernel": "cudnn::pooling_fw", **POOL}):
        with pytest.raises(LeftOutError, match="another kind or of unknown sizes"):
            job(**{"op_class": "pooling", **cells})
    with pytest.raises(LeftOutError, match="numpy has no pool"):
        actual.build(Numpy("cpu", 1))


@pytest.mark.parametrize(
    ("op_class", "operator", "kernel", "direction"),
    [
        ("pooling", "max_pool", "max_pool", "forward"),
        ("pooling", "max_pool_grad", "max_pool", "grad_input"),
        ("pooling", "avg_pool_grad", "avg_pool", "grad_input"),
        ("pooling", "pooling", "max_pool", "forward"),
        ("convolution", "convolution", None, "forward"),
        ("convolution", "convolution_grad_input", None, "grad_input"),
        ("convolution", "convolution_grad_weights", None, "grad_weights"),
        ("convolution", "convolution_grad", None, "backward"),
    ],
)
def test_an_operator_on_images_is_timed_in_its_pass(
    op_class: str, operator: str, kernel: str | None, direction: str
) -> None:
    sizes = {**POOL, "conv_k": 4} if op_class == "convolution" else {**POOL, "stride_h": 2, "stride_w": 2}
    sizes |= {"op_class": op_class, "conv_p": 7, "conv_q": 5} if op_class == "convolution" else {}
    actual = job(**sizes, operator=operator).columns
    assert (actual["operator"], actual.get("kernel"), actual["pass"]) == (operator, kernel, direction)
    stated = job(**sizes, operator=operator, **{"pass": "grad_input"}).columns
    assert stated["pass"] == "grad_input"


def test_the_work_of_an_update() -> None:
    assert job(op_class="elementwise", kernel="sgd_momentum", bytes=20).columns["flop"] == 4


@pytest.mark.parametrize("cells", [{"op_class": "recurrent"}, {"op_class": "gemm", "precision": "fp8"}])
def test_rows_that_cannot_be_timed_are_left_out(cells: dict[str, object]) -> None:
    with pytest.raises(LeftOutError, match="not measured here"):
        job(**cells)


def test_job_of_an_all_reduce() -> None:
    shape = Shape({"op_class": "collective", "operator": "collective", "bytes": "4000", "precision": "fp32"}, "row 1")
    actual = make_job(shape, ranks=2)
    assert (
        actual.columns.items() >= {"operator": "collective", "kernel": "all_reduce", "ranks": 2, "bytes": 4000}.items()
    )
    assert actual.caches == ()
    with pytest.raises(LeftOutError, match="collective is not measured here"):
        make_job(shape)
