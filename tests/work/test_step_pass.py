"""The forward pass alone, of a profile of training."""

from dataclasses import replace

import pandas as pd
import pytest

from estimator.core.errors import EstimatorError
from estimator.core.schema import OPS, TIMELINE
from estimator.core.types import Profile, Timeline, Workload
from estimator.profiles import read_profile
from estimator.work import count_work, select_pass
from tests.conftest import make_ops
from tests.profiles.layers.models import profile as layers_profile

ROWS = [  # op, op type, phase, time, whether inference runs it
    ("net/dense_1/Relu", "_FusedMatMul", "forward", 4.0, True),
    ("net/dropout_1/dense/MatMul", "MatMul", "forward", 2.0, True),  # a product, whatever its user calls it
    ("net/dropout_1/stateless_dropout/Mul", "Mul", "forward", 1.0, False),
    ("compile_loss/mse/Sub", "Sub", "forward", 1.0, False),
    ("aten::dropout", "aten::dropout", "forward", 1.0, False),
    ("next", "IteratorGetNext", "input", 2.0, True),
    ("gradient_tape/net/dense_1/MatMul", "MatMul", "backward", 6.0, False),
    ("sgd/Mul", "Mul", "optimizer", 2.0, False),
    ("what", "What", "unknown", 1.0, False),
]


def training() -> Profile:
    columns = ["op", "op_type", "phase", "time_s", "runs"]
    ops = pd.DataFrame(ROWS, columns=columns).convert_dtypes(dtype_backend="numpy_nullable").drop(columns="runs")
    work = count_work(ops, Workload(name="net")).work
    return Profile(
        ops=work, workload=Workload(name="net"), device=None, format="own", wall_step_s=40.0, busy_step_s=10.0
    )


def test_inference_keeps_the_forward_pass_without_dropout_and_loss() -> None:
    forward, notes = select_pass(training(), "inference")
    assert forward.ops["op"].tolist() == [name for name, *_, runs in ROWS if runs]
    assert forward.ops.index.tolist() == list(range(len(forward.ops)))
    assert list(forward.ops) == list(training().ops)
    assert forward.workload.mode == "inference"
    assert (forward.wall_step_s, forward.busy_step_s) == (16.0, 4.0)
    assert "40.0 % of its op time" in notes[0].text
    assert "3 op(s) of gradients" in notes[0].text
    assert "3 of dropout, loss and batch statistics" in notes[0].text


@pytest.mark.parametrize("mode", [None, "training"])
def test_a_profile_in_its_own_mode_is_itself(mode: str | None) -> None:
    profile = training()
    assert select_pass(profile, mode) == (profile, ())  # type: ignore[arg-type]


def test_the_timeline_of_training_is_none_of_inference() -> None:
    rows = {"op": range(len(ROWS)), "lane": "gpu", "start_s": 0.0, "duration_s": 1.0}
    timeline = Timeline(TIMELINE.conform(pd.DataFrame(rows), "toy"), host_step_s=1.0, step_s=1.0)
    forward, _ = select_pass(replace(training(), timeline=timeline), "inference")
    assert forward.timeline is None


def test_profiles_without_a_known_forward_pass_are_refused() -> None:
    forward, _ = select_pass(training(), "inference")
    with pytest.raises(EstimatorError, match="inference has no backward pass"):
        select_pass(forward, "training")
    unmarked = replace(training(), ops=training().ops.assign(phase=pd.NA))
    with pytest.raises(EstimatorError, match="no op is marked as of the backward pass"):
        select_pass(unmarked, "inference")
    all_forward = replace(training(), ops=training().ops.iloc[:5])
    with pytest.raises(EstimatorError, match="every op is of the forward pass, so that this is a profile of inference"):
        select_pass(all_forward, "inference")
    with pytest.raises(EstimatorError, match=r"matrix_sizes|lecture-x86"):
        select_pass(read_profile("p1b3"), "inference")


def test_inference_of_layers_is_their_forward_pass_without_dropout_and_loss() -> None:
    forward, notes = select_pass(layers_profile(), "inference")
    assert set(forward.ops["phase"]) == {"forward"}
    assert not forward.ops["op"].str.contains("dropout|cross_entropy").any()
    assert "head/logits" in set(forward.ops["op"])
    assert "inference is the forward pass of the training that is given as layers" in notes[0].text
    assert "%" not in notes[0].text


def test_copies_of_a_model_spread_nothing_in_inference() -> None:
    sent = {"placement": "gpu:0", "attributes": "ranks=8", "time_s": 1.0}
    ops = make_ops(
        {"op_type": "MatMul", "phase": "forward", "time_s": 4.0},
        {**sent, "op_type": "nccl:broadcast", "phase": "forward", "reported_bytes": 4.0},
        {**sent, "op_type": "nccl:all_to_all", "phase": "forward", "reported_bytes": 8.0},
        {**sent, "op_type": "nccl:all_reduce", "phase": "backward", "reported_bytes": 16.0},
    )
    actual, _ = select_pass(Profile(OPS.conform(ops, "toy"), Workload(name="toy"), None, "toy"), "inference")
    assert actual.ops["op_type"].tolist() == ["MatMul", "nccl:all_to_all"]
