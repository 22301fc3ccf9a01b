"""What the fit writes is what the model reads."""

from pathlib import Path

import pandas as pd
import pytest

from estimator.core.types import File, PowerCoefficients
from estimator.core.yaml_files import read_yaml
from estimator.fitting import ship
from estimator.model.coefficients import StepFactorCoefficients, shipped
from estimator.model.convolution_coefficients import ConvolutionCoefficients
from estimator.model.gemm import GemmCoefficients
from estimator.model.memory_bound import MemoryBoundCoefficients
from estimator.validation.validate import Validation

KINDS: dict[str, type[File]] = {
    "gemm": GemmCoefficients, "convolution": ConvolutionCoefficients, "memory_bound": MemoryBoundCoefficients,
    "step_factor": StepFactorCoefficients, "power": PowerCoefficients,
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_what_is_written_is_read(name: str, tmp_path: Path) -> None:
    ship.write(shipped(), tmp_path)
    written = KINDS[name].model_validate(read_yaml(tmp_path / f"{name}.yaml").data)
    assert written == getattr(shipped(), name)


@pytest.mark.parametrize("name", ship.CHOSEN)
def test_a_shipped_file_says_what_of_it_no_fit_moves(name: str) -> None:
    """Else a number that was chosen passes for a fitted one."""
    text = (ship.COEFFICIENTS_FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    assert text.startswith(ship.header(name))


def test_problems_that_could_not_be_judged_are_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else held_out.csv lacks them in silence."""
    monkeypatch.setattr(ship, "read_truth", lambda data: (pd.DataFrame(), ()))
    monkeypatch.setattr("estimator.fitting.fitted_model.fit", lambda truth: shipped())
    monkeypatch.setattr(ship, "step_factor", lambda: shipped().step_factor)
    monkeypatch.setattr("estimator.validation.scores.of_pairs", lambda judged, method: pd.DataFrame())
    validation = Validation(pd.DataFrame(), notes=("data: holds no convolutions",))
    monkeypatch.setattr(ship, "validate", lambda data, model, fit_power, progress: validation)
    ship.main(tmp_path, tmp_path)
    assert "data: holds no convolutions" in capsys.readouterr().err


def test_the_files_say_what_wrote_them(tmp_path: Path) -> None:
    ship.write(shipped(), tmp_path)
    assert all(
        path.read_text().startswith("# Written by python -m estimator.fitting.ship") for path in tmp_path.glob("*.yaml")
    )
