from pathlib import Path

import pytest

from estimator.core.errors import EstimatorError
from estimator.core.types import Estimate, RunPlan
from estimator.pipeline.step import estimate
from estimator.profiles import read_profile
from estimator.studies.forward import estimate_forward, forward_origin

OPS = """op_type,op_class,phase,precision,m,n,k,calls,time_s
MatMul,gemm,forward,fp32,512,512,512,1,0.5
MatMul,gemm,backward,fp32,512,512,512,2,1.0
"""


def step(folder: Path, mode: str) -> Estimate:
    (folder / "dump.csv").write_text(OPS)
    (folder / "workload.yaml").write_text(f"name: w\nmode: {mode}\n")
    return estimate(read_profile(folder / "dump.csv"), RunPlan("v100", draws=0))


def test_a_validation_runs_the_forward_ops_alone(tmp_path: Path) -> None:
    training = step(tmp_path, "training")
    forward = estimate_forward(training)
    assert list(forward.prediction.ops["phase"]) == ["forward"]
    assert forward.step.total[0] < training.step.total[0]
    assert forward_origin("ops", training).startswith("forward ops; inference is the forward pass")


def test_a_profile_of_inference_has_nothing_to_validate(tmp_path: Path) -> None:
    with pytest.raises(EstimatorError, match=r"\(asked for by validation_samples\): .*: holds inference"):
        estimate_forward(step(tmp_path, "inference"))
