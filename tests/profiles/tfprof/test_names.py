"""Names in TensorFlow's dumps."""

import pandas as pd
import pytest

from estimator.core.types import Workload
from estimator.profiles.tfprof import names
from tests.profiles.tensorflow_dumps import CPU, GPU

STREAMS = ("/device:GPU:0/stream:all", "/device:GPU:0/stream:13")


@pytest.mark.parametrize(
    ("devices", "counted"),
    [
        ((CPU, GPU), (CPU, GPU)),
        ((CPU, GPU, *STREAMS, "/device:GPU:0/memcpy"), (CPU, STREAMS[0], "/device:GPU:0/memcpy")),
        (("/gpu:0", STREAMS[1], "/gpu:0/memcpy"), STREAMS[1:]),
        (("/gpu:1", STREAMS[0]), ("/gpu:1", STREAMS[0])),
    ],
)
def test_counted_devices_hold_each_kernel_once(devices: tuple[str, ...], counted: tuple[str, ...]) -> None:
    assert names.select_counted(devices) == set(counted)


@pytest.mark.parametrize(("device", "launches"), [("/gpu:0", True), (GPU, True), (STREAMS[0], False), (CPU, False)])
def test_a_gpu_itself_has_the_times_of_launching(device: str, launches: bool) -> None:
    assert names.is_launch_device(device) is launches


def test_the_type_of_an_op_is_the_last_part_of_its_name_without_its_number() -> None:
    paths = pd.Series(["gradients/dense_1/MatMul_grad/MatMul_1", "Conv2D", "a/b_12", "a/Conv2D_3"])
    assert names.op_types(paths).tolist() == ["MatMul", "Conv2D", "b", "Conv2D"]


@pytest.mark.parametrize(
    ("ops", "warned"),
    [
        ([("MatMul", "forward"), ("MatMul", "backward")], True), ([("MatMul", "forward")], False),
        ([("MatMul", "backward"), ("ResourceApplyAdam", "optimizer")], False),
    ],
)  # fmt: skip
def test_a_training_without_updates_is_warned_of(ops: list[tuple[str, str]], warned: bool) -> None:
    table = pd.DataFrame(ops, columns=["op_type", "phase"])
    assert bool(list(names.warn_missing_updates(table))) is warned


def test_a_dump_whose_ops_have_no_gradients_is_of_an_inference_with_tensorflow() -> None:
    forward = pd.DataFrame({"op": ["model/dense/MatMul", "model/Relu"], "op_type": ["MatMul", "Relu"], "time_s": 1.0})
    training = pd.concat([forward, pd.DataFrame({"op": ["gradient_tape/MatMul"], "op_type": "MatMul", "time_s": 1.0})])
    profiled = names.as_profiled(Workload(name="toy"), forward)
    assert (profiled.mode, profiled.framework) == ("inference", "TensorFlow")
    assert names.as_profiled(Workload(name="toy"), training).mode == "training"
    stated = Workload(name="toy", mode="training", framework="Keras 3 on TensorFlow 2.18")
    assert names.as_profiled(stated, forward) == stated
