"""The files that a capture writes with its dump."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from estimator.collect.capture import Plan, describing, machine, tensorflow_import
from estimator.collect.capture.watch import Watch
from estimator.core import yaml_files
from estimator.profiles.workload import Provenance


def test_a_provenance_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "provenance.yaml"
    describing.write(
        path, {"date": "2026-11-21", "wall_step": "1234 ms", "device": None, "warmup": 0, "source": "a: b"}
    )
    read = yaml_files.check(Provenance, yaml_files.read_yaml(path))
    assert (read.date, read.wall_step, read.device, read.warmup) == ("2026-11-21", 1.234, None, 0)


def test_the_provenance_states_the_median_and_ends_of_the_timed_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "device", lambda: "Tesla V100")
    monkeypatch.setattr(machine, "threads", lambda: 6)
    monkeypatch.setattr(tensorflow_import, "import_tensorflow", lambda: SimpleNamespace(__version__="2.18.0"))
    timed = [0.1 * number for number in range(1, 22)]  # 0.1 to 2.1 s: a tenth of them is outside of 0.2 to 2.0 s
    watch = Watch(2, 21, 3, seconds=[9.0, 9.0, *timed], kept=[3.0, 4.0, 8.0], waits=False)
    script, run = SimpleNamespace(path=Path("runs/mine.py")), SimpleNamespace(batch_size=32)
    fields: Any = describing.provenance(script, run, watch, "Keras fit", Plan(scale=0.5))  # type: ignore[arg-type]
    assert (fields["wall_step_low"], fields["wall_step"], fields["wall_step_high"]) == (
        "200.0 ms",
        "1.100 s",
        "2.000 s",
    )
    assert (fields["profiled_step"], fields["repeats"], fields["warmup"], fields["steps"]) == ("4.000 s", 21, 2, 3)
    assert (fields["device"], fields["threads"], fields["batch_size"]) == ("Tesla V100", 6, 32)
    assert fields["tool_version"] == "TensorFlow 2.18.0"
    assert fields["source"].endswith(" capture of mine.py at scale 0.5: Keras fit")
