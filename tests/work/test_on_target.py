"""From OPS to WORK on the target: what the pipeline is told of the transforms together."""

from dataclasses import replace

import pytest
from pandas.testing import assert_frame_equal

from estimator.core.recall import Recall
from estimator.core.schema import OPS
from estimator.core.types import Layout, Profile, RunPlan, Workload
from estimator.devices import load_device
from estimator.work import WorkOnTarget, work_on_target
from estimator.work import on_target as on_target_module
from estimator.work.count import count_work
from estimator.work.fusion import fuse
from estimator.work.layout import TRANSPOSES
from estimator.work.on_target import matrix_precision
from tests.conftest import make_device, make_ops
from tests.work.test_joined_layers import ATTENTION
from tests.work.test_joined_layers import OPS as LAYERS

TARGET = make_device(peak={"fp32": "10 TFLOP/s", "bf16": "100 TFLOP/s"})


def on_target(profile: Profile, **asked: object) -> WorkOnTarget:
    return work_on_target(profile, replace(RunPlan("toy"), **asked), TARGET, from_processor=True)  # type: ignore[arg-type]


def test_a_plan_that_asks_for_nothing_changes_nothing(p1b3: Profile) -> None:
    actual = on_target(p1b3)
    assert (actual.changed, actual.other_batch, actual.precision) == (False, False, "fp32")
    assert_frame_equal(actual.work, actual.profiled)


@pytest.mark.parametrize(
    ("asked", "precision", "other_batch", "code"),
    [
        ({"batch": 400}, "fp32", True, "rebatched"),
        ({"precision": "bf16"}, "bf16", False, "precision-converted"),
    ],
)
def test_what_a_plan_asks_for_is_noted(
    p1b3: Profile, asked: dict[str, object], precision: str, other_batch: bool, code: str
) -> None:
    actual = on_target(p1b3, **asked)
    assert (actual.changed, actual.other_batch, actual.precision) == (True, other_batch, precision)
    assert code in {note.code for note in actual.notes}


def test_the_savings_of_a_compiler_are_noted(p1b3: Profile) -> None:
    assert on_target(p1b3).saved.kind == "none"
    assert on_target(p1b3, fusion="elementwise").saved.kind == "elementwise"


def test_devices_of_one_library_share_the_work_of_a_profile(p1b3: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is made once for both of them, and no caller changes that of another."""
    monkeypatch.setattr(on_target_module, "_RESULTS", Recall(8))
    made = []
    monkeypatch.setattr(on_target_module, "fuse", lambda *given: made.append(given) or fuse(*given))  # type: ignore[func-returns-value]
    first, second = (
        work_on_target(p1b3, RunPlan("toy", batch=50), load_device(device), from_processor=True)
        for device in ("h100", "a100")
    )
    assert len(made) == 2  # at the batch asked for, and at that of the profile
    assert_frame_equal(first.work, second.work)
    first.work["time_s"] = 0.0
    third = work_on_target(p1b3, RunPlan("toy", batch=50), load_device("h100"), from_processor=True)
    assert_frame_equal(third.work, second.work)
    work_on_target(p1b3, RunPlan("toy", batch=60), load_device("h100"), from_processor=True)
    assert len(made) == 3


@pytest.mark.parametrize("layout", ["auto", "channels-last"])
@pytest.mark.parametrize(
    ("profiled", "from_processor", "transposes"), [("fp32", False, True), ("bf16", False, False), ("bf16", True, True)]
)
def test_a_gpu_that_ran_convolutions_on_matrix_units_has_their_transposes(
    profiled: str, from_processor: bool, transposes: bool, layout: Layout
) -> None:
    """They are not added again, and whoever asks for them reads why."""
    attributes = "strides=1x1;pads=1x1;groups=1;layout=NCHW;kernel_layout=OIHW;pass=forward"
    row = {"op_type": "aten::conv2d", "shapes": "8x4x20x30;6x4x3x3;6", "attributes": attributes, "precision": profiled}
    profile = Profile(OPS.conform(make_ops(row), "toy"), Workload(name="toy", framework="PyTorch 2.3"), None, "toy")
    plan, target = RunPlan("toy", precision="bf16", layout=layout), load_device("h100")
    actual = work_on_target(profile, plan, target, from_processor=from_processor)
    assert any(name.endswith(TRANSPOSES) for name in actual.work["op"]) is transposes
    needless = [note for note in actual.notes if note.text.startswith("no convolution is transposed")]
    assert bool(needless) is (layout == "channels-last" and not transposes)


@pytest.mark.parametrize(
    ("device", "from_processor", "joined"), [("h100", True, True), ("h100", False, False), ("epyc-7763", True, False)]
)
def test_recurrent_layers_of_a_processor_are_one_op_on_a_gpu(device: str, from_processor: bool, joined: bool) -> None:
    """At another batch they have as many more sequences, and run in the format that is asked for."""
    ops = OPS.conform(make_ops(*LAYERS), "toy")
    profile = Profile(ops, Workload(name="toy", framework="PyTorch 2.3", batch_size=2), None, "toy")
    plan = RunPlan("toy", precision="fp16" if joined else None, batch=16)
    actual = work_on_target(profile, plan, load_device(device), from_processor=from_processor)
    added = actual.work[actual.work["op_class"] == "recurrent"]
    assert added["sequences"].tolist() == [16] * 4 * joined
    assert set(added["precision"]) == ({"fp16"} if joined else set())
    assert (actual.work["calls"].iloc[1] == 0) == joined


@pytest.mark.parametrize(
    ("device", "from_processor", "fused"), [("h100", True, True), ("h100", False, False), ("epyc-7763", True, False)]
)
def test_tensors_are_those_of_the_targets_attention(device: str, from_processor: bool, fused: bool) -> None:
    profile = Profile(
        OPS.conform(make_ops(*ATTENTION), "toy"),
        Workload(name="toy", framework="PyTorch 2.3", batch_size=2),
        None,
        "toy",
    )
    plan = RunPlan("toy", batch=16)
    held = work_on_target(profile, plan, load_device(device), from_processor=from_processor).held
    assert held["operator"].tolist() == (["attention"] if fused else ["host", "gemm", "gemm"])
    assert held["shapes"].iloc[0].startswith("16x4x16x8;" if fused else "2x4x16x8;")


@pytest.mark.parametrize(("device", "precision"), [("v100", "fp32"), ("mi355x", "fp32"), ("h100", "tf32")])
def test_products_in_tf32_run_in_fp32_where_a_device_has_none(device: str, precision: str) -> None:
    """Only those: what runs in bf16 keeps it."""
    rows = [{"op_type": "aten::mm", "shapes": "4x8;8x8", "precision": name} for name in ("tf32", "bf16")]
    profile = Profile(OPS.conform(make_ops(*rows), "toy"), Workload(name="toy", framework="PyTorch"), None, "toy")
    actual = work_on_target(profile, RunPlan("toy"), load_device(device), from_processor=False)
    assert actual.work["precision"].tolist() == [precision, "bf16"]
    assert actual.changed is (precision == "fp32")
    assert any(note.code == "tf32-replaced" for note in actual.notes) is actual.changed


@pytest.mark.parametrize(("asked", "precision"), [("fp16", "fp16"), ("tf32", "tf32")])
def test_products_in_tf32_keep_a_format_that_is_asked_for(asked: str, precision: str) -> None:
    """That of TF32 is then refused, as the device has none."""
    ops = OPS.conform(make_ops({"op_type": "aten::mm", "shapes": "4x8;8x8", "precision": "tf32"}), "toy")
    profile = Profile(ops, Workload(name="toy", framework="PyTorch"), None, "toy")
    actual = work_on_target(profile, RunPlan("toy", precision=asked), load_device("v100"), from_processor=False)
    assert actual.work["precision"].iloc[0] == precision
    assert not any(note.code == "tf32-replaced" for note in actual.notes)


def test_products_of_an_update_do_not_give_the_precision() -> None:
    """Muon's run in bf16 in a training in fp32."""
    phases = ("forward", "optimizer")
    rows = [{"op_type": "aten::mm", "shapes": "4x8;8x8", "phase": phase} for phase in phases]
    work = count_work(make_ops(*rows), Workload(name="toy", framework="PyTorch"), "toy").work
    work = work.assign(precision=["fp32", "bf16"])
    assert matrix_precision(work, Workload(name="toy")) == "fp32"
