"""Power of trainings on cards never seen: what is read, what is found of a made-up card, what is not looked at."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from estimator.core.errors import EstimatorError
from estimator.core.types import PowerCoefficients
from estimator.devices import load_device
from estimator.model.coefficients import shipped
from estimator.rollup.power import mean_power
from estimator.validation import power
from tests.validation.public import write

C = shipped().power.model_copy(update={"intensity_std": 0.2})
ROW = {
    "device": "A40", "dataset": "d", "model": "m", "optimizer": "o", "batch": 8, "power_limit_w": 300, "epoch_s": 10.0,
    "mean_power_w": 150.0,
}  # fmt: skip
CAPS = {  # the last is the card's default
    "v100-pcie-32gb": (100, 150, 200, 250), "v100-pcie-16gb": (100, 150, 200, 250),
    "v100-sxm2-16gb": (100, 200, 250, 300), "a40": (150, 200, 250, 300), "p100-pcie-16gb": (125, 200, 250),
}  # fmt: skip
JUDGED = ("v100-pcie-32gb", "a40", "p100-pcie-16gb")  # one of each family


def made_up(device: str, products: float, streams: float, batch: int = 8, epoch_s: float = 100.0) -> pd.DataFrame:
    """Rows of a card that follows the model: one at its idle power, and a training with these shares of its step."""
    numbers = power.card(load_device(device), C)
    caps = np.array(CAPS[device], dtype=float)
    shares = np.array([[products, streams]])
    power_w, longer = mean_power(
        shares, power.phase_intensities(C), numbers.idle_w, numbers.limit_w, caps, C.clock_exponent
    )
    common = {"device": device, "family": load_device(device).family, "dataset": "d", "optimizer": "o"}
    training = {"power_limit_w": caps, "power_w": power_w, "epoch_s": epoch_s * longer, "model": "m", "batch": batch}
    idle = {"power_limit_w": caps, "power_w": numbers.idle_w, "epoch_s": 1.0, "model": "idle", "batch": 1}
    return pd.concat([pd.DataFrame({**common, **each}) for each in (training, idle)], ignore_index=True)


def mixtures(rows: pd.DataFrame, device: str) -> power.Mixtures:
    return power.read_mixtures(rows, power.card(load_device(device), C, power.least_power(rows)), C)


def test_rows_of_shipped_cards_are_read(tmp_path: Path) -> None:
    write(tmp_path, power.FILE, [ROW, ROW | {"device": "Unheard of"}, ROW | {"device": "P100 PCIe"}])
    rows = power.read_rows(tmp_path)
    assert rows["device"].tolist() == ["a40", "p100-pcie-16gb"]
    assert rows["family"].tolist() == [load_device(name).family for name in rows["device"]]
    assert rows[["power_w", "epoch_s", "batch"]].to_numpy().tolist() == [[150, 10, 8]] * 2


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    write(tmp_path, power.FILE, [{"device": "A40"}])
    with pytest.raises(EstimatorError, match="the column 'dataset' is missing"):
        power.read_rows(tmp_path)


@pytest.mark.parametrize(("products", "streams"), [(0.8, 0.1), (0.4, 0.4), (0.1, 0.2)])
def test_the_shares_of_a_made_up_training_are_found(products: float, streams: float) -> None:
    rows = made_up("v100-pcie-32gb", products, streams)
    actual = mixtures(rows, "v100-pcie-32gb")
    at = actual.keys.index[actual.keys["model"] == "m"][0]
    assert actual.shares[at] == pytest.approx([products, streams], abs=0.12)
    assert actual.epoch_s[at] == pytest.approx(100.0, rel=0.05)


def test_a_card_that_follows_the_model_is_predicted() -> None:
    """All that V100 and A40 differ in is known but for the time, and a step without waiting keeps its shares."""
    sources = power.read_sources(made_up("v100-pcie-32gb", 0.7, 0.3), C)
    target = made_up("a40", 0.7, 0.3)
    kept, actual = power.predict(target, sources, C, draws=50)
    training = (kept["model"] == "m").to_numpy()
    assert actual.power_w[0][training] == pytest.approx(kept.loc[training, "power_w"].to_numpy(), rel=0.08)
    ratio = np.sqrt(14e12 / 37.4e12 * 900 / 696)
    fastest = actual.epoch_s[0][training][-1] / actual.factor[0][training][-1]
    assert fastest == pytest.approx(100 * ratio, rel=0.05)


def test_neither_power_nor_time_of_the_target_is_read() -> None:
    sources, target = power.read_sources(made_up("v100-pcie-32gb", 0.6, 0.2), C), made_up("a40", 0.5, 0.3)
    blind = target.assign(power_w=np.nan, epoch_s=np.nan)
    (_, one), (_, other) = (power.predict(rows, sources, C, draws=20) for rows in (target, blind))
    assert np.array_equal(one.power_w, other.power_w)
    assert np.array_equal(one.epoch_s, other.epoch_s)


def test_a_batch_between_two_is_interpolated_and_one_beyond_is_the_nearest() -> None:
    small, large = made_up("v100-pcie-32gb", 0.2, 0.1, 4, 400.0), made_up("v100-pcie-32gb", 0.8, 0.2, 16, 100.0)
    sources = power.read_sources(pd.concat([small, large[large["model"] == "m"]]), C)
    powers = {}
    for batch in (2, 4, 8, 16, 64):
        rows = made_up("a40", 0.5, 0.2, batch).query("model == 'm'")
        powers[batch] = float(power.predict(rows, sources, C, draws=0)[1].power_w[0, -1])
    assert powers[2] == powers[4] < powers[8] < powers[16] == powers[64]


def test_a_training_that_no_source_ran_is_left_out() -> None:
    sources = power.read_sources(made_up("v100-pcie-32gb", 0.6, 0.2), C)
    kept, actual = power.predict(made_up("a40", 0.5, 0.3).assign(model="other"), sources, C, draws=5)
    assert (len(kept), actual.power_w.shape) == (0, (6, 0))


def test_each_family_is_judged_by_a_fit_without_it() -> None:
    rows = pd.concat([made_up(name, 0.6, 0.3) for name in JUDGED], ignore_index=True)
    seen = []

    def fit(others: pd.DataFrame) -> PowerCoefficients:
        seen.append(set(others["device"]))
        return C

    judged = power.judge(rows, fit)
    assert sorted(map(sorted, seen)) == sorted(sorted(set(JUDGED) - {name}) for name in JUDGED)
    assert list(judged) == [*power.PROBLEMS]
    for table in judged.values():
        assert len(table) == len(rows)
        assert (table["low"] <= table["ours"]).all()
        assert (table["ours"] <= table["high"]).all()
    timed = judged["energy-timed"]
    at_default = timed["power_limit_w"] == timed["target"].map({name: caps[-1] for name, caps in CAPS.items()})
    timed = timed[at_default]
    expected = judged["power"].loc[at_default, "ours"] * timed["epoch_s"]
    assert timed["ours"].to_numpy() == pytest.approx(expected.to_numpy())


def test_notes_say_how_many_intervals_hold() -> None:
    table = pd.DataFrame({"measured": [1.0, 5.0], "low": [0.5, 6.0], "high": [2.0, 7.0], "target": ["a", "b"]})
    assert [*power.coverage_notes({"power": table, "gemm": pd.DataFrame()})] == [
        "power: 1 of 2 90 % intervals hold the measured figure; fewest on b, 0 %"
    ]


@pytest.mark.slow
def test_public_rows_are_predicted_by_coefficients_of_other_cards(public_data: Callable[[str], Path]) -> None:
    """The shipped fit has seen them; here the families are left out, as 'estimator validate --problem power' does."""
    pytest.importorskip("scipy", reason="extra 'fit' is not installed")
    from estimator.fitting.power import fit_means

    folder = public_data("data/power/zeus.csv").parent.parent
    judged = power.judge(power.read_rows(folder), fit_means)
    most = {"power": (12, 15), "energy": (20, 28), "energy-timed": (15, 17)}  # set: 12 of power and 15 of energy
    for name, (median, mean) in most.items():
        errors = 100 * (judged[name]["ours"] / judged[name]["measured"] - 1).abs()
        assert errors.median() <= median, name
        assert errors.mean() <= mean, name
