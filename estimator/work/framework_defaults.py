"""What a framework does on a target unless a user says otherwise: TF32 products, the layout of images, and more.

Sources: TensorFlow 2.4 release notes and tf.config.experimental.enable_tensor_float_32_execution (products and
convolutions in TF32 from Ampere on); PyTorch documentation, "CUDA semantics" (convolutions in TF32, products in fp32);
ATen's cudnn/ConvShared.cpp and Convolution.cpp (biases are added after cuDNN's kernel, and summed after that of the
gradient; oneDNN does both itself); JAX documentation, jax_default_matmul_precision (TF32 on GPUs); TensorFlow's guide
on Grappler (its layout optimizer, on by default, converts chains of ops to channels first on GPUs, but for narrow
formats and TF32); PyTorch documentation, torch.optim (``foreach`` by default where all parameters are on an
accelerator) and ATen's MultiTensorApply.cuh (64 tensors in a kernel over two lists); ATen's native/RNN.cpp and Keras'
backend/tensorflow/rnn.py (recurrent layers by cuDNN or MIOpen on GPUs).
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from estimator.core.frameworks import framework_of
from estimator.core.notes import Note
from estimator.core.number_formats import FP32_STAND_INS
from estimator.core.schema import MATRIX
from estimator.core.types import DeviceSpec, Layout, Workload
from estimator.work.layout import MATRIX_FORMATS
from estimator.work.precision import are_products

AUTO = "auto"
WORDS = {"gemm": "products", "convolution": "convolutions", "recurrent": "recurrent layers", "attention": "attention"}
SINGLE = ("fp32", "tf32")  # formats of products of which a framework chooses; others a program asked for


@dataclass(frozen=True)
class FrameworkDefaults:
    """The op classes whose fp32 products run in TF32, the layout of images in the library, whether the library has a
    kernel for a batch normalization that runs op by op on a processor, how many tensors an accelerator's kernel of the
    optimizer's update takes, whether a GPU adds the biases of convolutions by kernels of their own, and whether it
    has a library for recurrent layers and attention that run op by op on a processor.
    """

    tf32_classes: tuple[str, ...] = ()
    layout: Layout = "none"
    library_normalization: bool = False
    update_tensors: int = 1
    separate_biases: bool = False
    library_layers: bool = False


FRAMEWORKS = {
    "tensorflow": FrameworkDefaults(MATRIX, "converted", library_normalization=True, library_layers=True),
    "torch": FrameworkDefaults(
        ("convolution", "recurrent"), "channels-last", update_tensors=64, separate_biases=True, library_layers=True
    ),
    "jax": FrameworkDefaults(MATRIX),
}


@dataclass(frozen=True)
class ProductFormat:
    """The format of the products of these op classes; None as profiled.

    ``only``: what ran in other formats than these stays as it is; None of every format.
    """

    precision: str | None
    op_classes: tuple[str, ...] = MATRIX
    only: tuple[str, ...] | None = None

    def covered(self, work: pd.DataFrame) -> str:
        """Those of the op classes that a WORK table has, in words."""
        classes = set(work["op_class"])
        return " and ".join(words for name, words in WORDS.items() if name in classes.intersection(self.op_classes))

    def changes(self, work: pd.DataFrame) -> bool:
        """Whether products of a WORK table run in other formats, and none in this one.

        Where some do, the framework has chosen already, and its library took another format for the rest.
        """
        formats = work.loc[are_products(work, self.op_classes, self.only), "precision"]
        return self.precision is not None and not formats.empty and self.precision not in set(formats)


def product_format(asked: str | None, workload: Workload, target: DeviceSpec) -> ProductFormat:
    """The format that is asked for, or at ``auto`` what the framework takes on the target; None as profiled."""
    if asked != AUTO:
        return ProductFormat(asked)
    if workload.precision not in SINGLE:
        return ProductFormat(None)
    if not target.peak_of("fp32").matrix:
        stand_in = next((name for name in FP32_STAND_INS if target.peak_of(name).matrix), None)
        return ProductFormat(stand_in, only=SINGLE)
    classes = _defaults(workload).tf32_classes
    has_tf32 = classes and target.peak_of("tf32").matrix
    return ProductFormat("tf32", classes, SINGLE) if has_tf32 else ProductFormat(None)


def image_layout(asked: Layout, workload: Workload, target: DeviceSpec) -> Layout:
    """The layout that is asked for, or at ``auto`` that of the framework's library on the target.

    GPUs without matrix units need no channels last.
    """
    by_default = _defaults(workload).layout if target.is_gpu else "none"
    layout = by_default if asked == AUTO else asked
    has_units = any(target.peak_of(name).tensor for name in MATRIX_FORMATS)
    return "none" if layout == "channels-last" and not has_units else layout


def replaces_tf32(target: DeviceSpec) -> bool:
    """Whether products that may run in TF32 run in fp32 on the target: so frameworks do where a device has no TF32."""
    return not target.peak_of("tf32").supported and target.peak_of("fp32").matrix is not None


def has_separate_biases(workload: Workload, target: DeviceSpec) -> bool:
    """Whether the framework adds the biases of convolutions by kernels of their own on the target."""
    return separates_biases(workload) and target.is_gpu


def separates_biases(workload: Workload) -> bool:
    """Whether the framework adds the biases of convolutions by kernels of their own on a GPU."""
    return _defaults(workload).separate_biases


def has_library_layers(workload: Workload, target: DeviceSpec) -> bool:
    """Whether the framework has a library on the target for what a processor may run op by op: recurrent layers and
    attention.
    """
    return _defaults(workload).library_layers and target.is_gpu


def has_library_normalization(workload: Workload, target: DeviceSpec) -> bool:
    """Whether the framework runs a batch normalization by the target's library, or its compiler makes one kernel of it:
    on any accelerator.
    """
    return _defaults(workload).library_normalization and not target.is_processor


def tensors_of_update(workload: Workload, target: DeviceSpec) -> int:
    """How many tensors the framework updates with one kernel on the target, where a processor updated one by one."""
    return 1 if target.is_processor else tensors_at_once(workload)


def tensors_at_once(workload: Workload) -> int:
    """How many tensors the framework updates with one kernel on an accelerator."""
    return _defaults(workload).update_tensors


def unit_note(target: DeviceSpec) -> tuple[Note, ...]:
    """A note where nothing tells whether the target is a processor, a GPU or another accelerator."""
    if target.compute_unit is not None:
        return ()
    text = (
        f"{target.name} gives no compute_unit: it is taken for a GPU; write 'core' for a processor, and any other word "
        "for another accelerator"
    )
    return (Note("compute-unit-unknown", text, target.name),)


def _defaults(workload: Workload) -> FrameworkDefaults:
    return FRAMEWORKS.get(framework_of(workload.framework), FrameworkDefaults())
