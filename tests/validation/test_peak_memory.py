"""Peak memory of generated perceptrons: what is counted, what is fitted, and how far off it is."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from estimator.core.errors import EstimatorError
from estimator.rollup.memory import GIB, numbers
from estimator.validation import peak_memory
from estimator.validation.peak_memory import MIB
from estimator.validation.tables import PublishedRows

ROW = {
    "device": "card", "inputs": 100, "outputs": 10, "widths": "50-10", "arch": "gradual", "batch": 8,
    "activation": "ReLU", "batch_norms": 0, "dropouts": 0, "parameters": 5560, "max_mem_mib": 1451,
}  # fmt: skip


def test_a_perceptron_is_counted_by_hand() -> None:
    kept = 4 * 8 * (100 + 50 + 10)  # the data, relu's result, the softmax of the loss
    silu = 4 * 8 * (100 + 2 * 50 + 10)
    masked = 4 * 8 * (100 + 50 + 50 + 10) + 8 * 50
    others = ({"activation": "SiLU"}, {"batch_norms": 1}, {"dropouts": 1})
    counted = peak_memory.count_tensors([{**ROW, **other} for other in ({}, *others)])
    assert counted == [5 * 4 * 5560 + activations for activations in (kept, silu, silu, masked)]


def made_up(count: int = 400) -> pd.DataFrame:
    """Peaks of 1000 MiB + 1.1 × the tensors, with noise of 1 %; one row is far off."""
    rng = np.random.default_rng(0)
    tensors = rng.uniform(1, 2000, count) * MIB
    peak = (1000 * MIB + 1.1 * tensors) * np.exp(0.01 * rng.standard_normal(count))
    peak[0] *= 3
    arch = np.where(np.arange(count) % 2 == 0, "wide", "deep")
    shared = {"device": "card", "batch": 8, "parameters": tensors / 20}
    return pd.DataFrame({"tensors": tensors, "time_s": peak, "arch": arch, **shared})


def test_the_fit_finds_reserve_and_factor_despite_a_wrong_row() -> None:
    fitted = peak_memory.fit(made_up())
    assert fitted.reserve.mid == pytest.approx(1000 * MIB, rel=0.01)
    assert fitted.allocator.mid == pytest.approx(1.1, rel=0.01)


def test_each_shape_is_judged_without_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[set[str]] = []
    fit = peak_memory.fit

    def watched(rows: pd.DataFrame) -> peak_memory.Fitted:
        seen.append(set(rows["arch"]))
        return fit(rows)

    monkeypatch.setattr(peak_memory, "fit", watched)
    judged = peak_memory.judge(PublishedRows(made_up()))["peak-memory"]
    assert seen == [{"wide"}, {"deep"}]
    assert np.median(np.abs(judged["ours"] / judged["time_s"] - 1)) < 0.02
    assert judged["time_s"].between(judged["low_s"], judged["high_s"]).mean() > 0.8


def test_the_table_is_read_from_gzip(tmp_path: Path) -> None:
    path = tmp_path / peak_memory.FILE
    path.parent.mkdir()
    path.write_bytes(gzip.compress(pd.DataFrame([ROW]).to_csv(index=False).encode()))
    assert peak_memory.read_networks(tmp_path).rows["time_s"].tolist() == [1451 * MIB]
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(EstimatorError, match="cannot be read as gzip"):
        peak_memory.read_networks(tmp_path)


@pytest.mark.slow
def test_the_shipped_numbers_are_fitted_and_hold_on_shapes_left_out(public_data: Callable[[str], Path]) -> None:
    folder = public_data("data/" + peak_memory.FILE).parents[1]
    networks = peak_memory.read_networks(folder)
    fitted, shipped = peak_memory.fit(networks.rows), numbers()
    assert shipped.reserve["NVIDIA"].mid == pytest.approx(fitted.reserve.mid / GIB, rel=1e-3)
    for end in ("low", "mid", "high"):
        assert getattr(shipped.allocator["torch"], end) == pytest.approx(getattr(fitted.allocator, end), rel=2e-3)
    judged = peak_memory.judge(networks)["peak-memory"]
    error = (judged["ours"] / judged["time_s"] - 1).abs()
    assert error.median() < 0.02
    assert error.mean() < 0.04
    assert 0.85 <= judged["time_s"].between(judged["low_s"], judged["high_s"]).mean() <= 0.95
