"""The framework that wrote a dump."""

from pathlib import Path

import pytest

from estimator.core.types import Workload
from estimator.profiles import read_profile
from estimator.profiles.frameworks import of_programs, with_framework

TIMELINE = (
    '{"traceEvents": [{"ph": "X", "cat": "Op", "name": "Add", "pid": 1, "tid": 0, "ts": 0, "dur": 5, '
    '"args": {"name": "a", "op": "Add"}}]}'
)


@pytest.mark.parametrize(
    ("stated", "by_dump", "framework"),
    [(None, "JAX", "JAX"), ("Keras on TensorFlow", "PyTorch", "Keras on TensorFlow"), (None, None, None)],
)
def test_a_workload_that_names_its_framework_keeps_it(stated: str | None, by_dump: str | None, framework: str) -> None:
    assert with_framework(Workload(name="toy", framework=stated), by_dump).framework == framework


@pytest.mark.parametrize(
    ("names", "framework"),
    [
        (["jit_step"], "JAX"),
        (["main", "pmap_step"], "JAX"),
        (["pjit(step)/dot"], "JAX"),
        (["a_inference_step_265__XlaMustCompile_true_config_proto_86.8"], "TensorFlow"),
        (["cluster_0__XlaCompiledKernel_true__XlaNumConstantArgs_1.12"], "TensorFlow"),
        (["a_inference_one_step_on_data_351__.6"], "TensorFlow"),
        (["a_inference_step_265__XlaMustCompile_true", "jit_step"], "JAX"),  # whose input TensorFlow prepares
        (["cluster_0", "SyncTensorsGraph.12", "jitter/MatMul", "model/jit_layer/Mul", None, ""], None),
        ([], None),
    ],
)
def test_programs_that_jax_made(names: list[str | None], framework: str | None) -> None:
    assert of_programs(names) == framework


@pytest.mark.parametrize(("yaml", "framework"), [("name: toy\nframework: our own\n", "our own"), ("", "TensorFlow")])
def test_the_file_beside_a_dump_outranks_the_dump(tmp_path: Path, yaml: str, framework: str) -> None:
    (tmp_path / "timeline.json").write_text(TIMELINE)
    if yaml:
        (tmp_path / "workload.yaml").write_text(yaml)
    assert read_profile(tmp_path).workload.framework == framework
