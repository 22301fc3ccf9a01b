"""What a framework does on a target by default: TF32 and the layout of images."""

import pandas as pd
import pytest

from estimator.core.schema import MATRIX
from estimator.core.types import Workload
from estimator.devices import load_device
from estimator.work.framework_defaults import (
    FRAMEWORKS,
    has_library_layers,
    has_library_normalization,
    has_separate_biases,
    image_layout,
    product_format,
    replaces_tf32,
    tensors_of_update,
    unit_note,
)
from tests.conftest import make_device

KERAS, TORCH = Workload(name="toy", framework="Keras on TensorFlow"), Workload(name="toy", framework="PyTorch 2.3")
OWN = Workload(name="toy", framework="our own")


@pytest.mark.parametrize(
    ("workload", "device", "precision", "op_classes"),
    [
        (KERAS, "a100", "tf32", MATRIX),
        (KERAS, "v100", None, MATRIX),  # has no TF32
        (TORCH, "h100", "tf32", ("convolution", "recurrent")),
        (OWN, "a100", None, MATRIX),
        (KERAS, "epyc-7763", None, MATRIX),
        (OWN, "tpu-v4", "bf16", MATRIX),  # has no products in fp32
        (KERAS.model_copy(update={"precision": "bf16"}), "a100", None, MATRIX),
        (KERAS.model_copy(update={"precision": "tf32"}), "tpu-v4", "bf16", MATRIX),
    ],
)
def test_products_at_auto(workload: Workload, device: str, precision: str | None, op_classes: tuple[str, ...]) -> None:
    actual = product_format("auto", workload, load_device(device))
    assert (actual.precision, actual.op_classes) == (precision, op_classes)


@pytest.mark.parametrize(
    ("workload", "op_classes", "words"),
    [
        (KERAS, ("convolution", "gemm", "elementwise"), "products and convolutions"),
        (KERAS, ("gemm",), "products"),
        (TORCH, ("gemm", "convolution"), "convolutions"),
        (TORCH, ("gemm", "recurrent", "convolution"), "convolutions and recurrent layers"),
    ],
)
def test_the_classes_of_a_default_in_words(workload: Workload, op_classes: tuple[str, ...], words: str) -> None:
    work = pd.DataFrame({"op_class": op_classes})
    assert product_format("auto", workload, load_device("a100")).covered(work) == words


def products(*precisions: str, op_class: str = "gemm") -> pd.DataFrame:
    return pd.DataFrame({"op_class": [op_class] * len(precisions), "precision": precisions})


@pytest.mark.parametrize(
    ("workload", "work", "changes"),
    [
        (KERAS, products("bf16", "fp32"), True),
        (KERAS, products("bf16", "tf32"), False),  # a program asked for bf16, and tf32 is the framework's already
        (KERAS, products("fp32", op_class="elementwise"), False),
        (TORCH, products("fp32"), False),
        (TORCH, products("fp32", op_class="convolution"), True),
        (TORCH, products("fp32", "tf32", op_class="convolution"), False),  # the library's choice, not the program's
        (OWN, products("fp32"), False),
    ],
)
def test_only_single_precision_is_the_frameworks_to_change(
    workload: Workload, work: pd.DataFrame, changes: bool
) -> None:
    assert product_format("auto", workload, load_device("a100")).changes(work) is changes


@pytest.mark.parametrize("asked", [None, "fp32", "fp16"])
def test_a_format_that_is_asked_for_holds_for_all_products(asked: str | None) -> None:
    actual = product_format(asked, KERAS, load_device("a100"))
    assert (actual.precision, actual.op_classes) == (asked, MATRIX)


@pytest.mark.parametrize(
    ("workload", "device", "layout"),
    [(KERAS, "v100", "converted"), (KERAS, "mi100", "converted"), (KERAS, "epyc-7763", "none"),
     (KERAS, "tpu-v4", "none"), (TORCH, "v100", "channels-last"), (TORCH, "p100-sxm2-16gb", "none"),
     (TORCH, "epyc-7763", "none")],
)  # fmt: skip
def test_images_at_auto(workload: Workload, device: str, layout: str) -> None:
    target = load_device(device)
    assert image_layout("auto", workload, target) == layout
    assert image_layout("none", workload, target) == "none"


@pytest.mark.parametrize(
    ("workload", "device", "separate"),
    [(TORCH, "v100", True), (TORCH, "epyc-7763", False), (KERAS, "v100", False)],
)
def test_who_adds_the_biases_of_convolutions(workload: Workload, device: str, separate: bool) -> None:
    assert has_separate_biases(workload, load_device(device)) is separate


@pytest.mark.parametrize(
    ("workload", "device", "by_library"),
    [(TORCH, "v100", True), (TORCH, "epyc-7763", False), (TORCH, "tpu-v4", False), (KERAS, "v100", True),
     (KERAS, "epyc-7763", False), (KERAS, "tpu-v4", False)],
)  # fmt: skip
def test_who_runs_recurrent_layers_by_a_library(workload: Workload, device: str, by_library: bool) -> None:
    assert has_library_layers(workload, load_device(device)) is by_library


@pytest.mark.parametrize(
    ("device", "replaces"),
    [("v100", True), ("mi355x", True), ("a100", False), ("tpu-v2", False)],  # a TPU has no fp32 to run them in
)
def test_where_tf32_is_replaced(device: str, replaces: bool) -> None:
    assert replaces_tf32(load_device(device)) is replaces


def test_an_unknown_peak_of_tf32_is_not_a_device_without_it() -> None:
    assert not replaces_tf32(make_device(peak={"fp32": "10 TFLOP/s"}))


@pytest.mark.parametrize("written", ["SM", "sm", "Cu"])
def test_how_a_compute_unit_is_spelled_changes_nothing(written: str) -> None:
    gpu, processor = make_device(compute_unit=written), make_device(compute_unit="Core")
    assert image_layout("auto", KERAS, gpu) == "converted"
    assert not has_library_normalization(KERAS, processor)
    assert unit_note(gpu) == ()


def test_a_device_without_a_compute_unit_is_noted() -> None:
    unknown = make_device(compute_unit=None)
    assert has_library_normalization(KERAS, unknown)
    assert [note.kind for note in unit_note(unknown)] == ["left-open"]


def test_what_is_built_on_a_framework_does_as_it_does() -> None:
    actual = has_library_normalization(Workload(name="toy", framework="Keras"), make_device())
    assert actual == FRAMEWORKS["tensorflow"].library_normalization


@pytest.mark.parametrize(
    ("workload", "device", "has"),
    [(KERAS, "v100", True), (KERAS, "mi100", True), (KERAS, "tpu-v4", True), (KERAS, "max-1550", True),
     (KERAS, "epyc-7763", False), (TORCH, "v100", False)],
)  # fmt: skip
def test_whether_the_framework_normalizes_by_the_targets_library(workload: Workload, device: str, has: bool) -> None:
    assert has_library_normalization(workload, load_device(device)) is has


@pytest.mark.parametrize(
    ("workload", "device", "tensors"), [(TORCH, "h100", 64), (TORCH, "epyc-7763", 1), (KERAS, "h100", 1)]
)
def test_pytorch_updates_many_tensors_at_once_on_an_accelerator(workload: Workload, device: str, tensors: int) -> None:
    assert tensors_of_update(workload, load_device(device)) == tensors
