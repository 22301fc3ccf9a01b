"""Each published figure of merit against the numbers that its own document prints."""

from fractions import Fraction

import numpy as np
import pytest

from estimator.rollup import fom, presets
from estimator.rollup.fom import Definition

DAY_S = 86400.0
NAMES = ("candle", "ssi", "ssni", "ssp", "spec", "jupiter", "mlperf-hpc", "coral-2")


def column(*values: float) -> np.ndarray:
    return np.array(values, dtype=float)[:, None]


def figure(name: str, rates: np.ndarray, baseline: np.ndarray, *weights: float) -> float:
    return float(
        fom.figure_of_merit(rates, baseline, np.array(weights or np.ones(len(rates))), Definition(preset=name))[0]
    )


def per_day(*times_s: float) -> np.ndarray:
    return DAY_S / column(*times_s)


def test_every_preset_says_what_it_is_and_where_that_is_written() -> None:
    assert tuple(presets.presets()) == NAMES
    for name in NAMES:
        preset = presets.describe(name)
        assert preset["name"] == name
        assert all(preset[key] for key in ("title", "equation", "counts"))
        assert all(source["cite"] and source["says"] for source in preset["sources"])
        assert any(source["status"] == "read" for source in preset["sources"])


def test_an_unknown_preset_is_refused_with_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"is 'sssp', which is none of candle, .*\. Did you mean ssp\?"):
        presets.find("sssp")


def test_candle_is_the_lectures_figure_and_its_ratio_of_total_times() -> None:
    titan, a = column(7475.2, 74752, 37376), column(564e3, 4512e3, 9024e3)
    total_times = Fraction(94000, 18688) * (60 + 6 + 12) / (4 + Fraction(1, 2) + Fraction(1, 4))
    assert total_times == Fraction(229125, 2774)
    assert figure("candle", a, titan) == pytest.approx(float(total_times), rel=1e-14)
    assert f"{figure('candle', a, titan):.4f}" == "82.5973"


def test_spec_is_the_example_of_the_course() -> None:
    """perl 8660 s / 400 s = 21.65, mcf 8500 s / 1000 s = 8.5, geometric mean 13.57."""
    reference, ours = per_day(8660, 8500), per_day(400, 1000)
    assert (ours / reference).ravel() == pytest.approx([21.65, 8.5])
    assert f"{figure('spec', ours, reference):.2f}" == "13.57"


@pytest.mark.parametrize(
    ("tflop", "time_s", "printed"),
    [(1065, 92.4, "0.00563"), (3350, 96.0, "0.0170"), (1365, 151, "0.00441"), (18409, 1263, "0.00712")],
)
def test_ssp_has_the_rates_per_node_of_hopper(tflop: float, time_s: float, printed: str) -> None:
    """Of one benchmark the mean is N × its rate: over N, what the page prints in TFLOP/s per node."""
    nodes, of = 6384, Definition(preset="ssp")
    per_day_of_machine = per_day(time_s) * nodes / 2048
    ssp, unit = fom.own_mean(per_day_of_machine, np.array([tflop * 1e12]), np.ones(1), of)
    assert unit == "FLOP/s"
    assert f"{ssp[0] / nodes / 1e12:.{3}g}" == f"{float(printed):.3g}"


def test_ssp_is_nodes_times_the_geometric_mean_of_rates_per_node() -> None:
    flop, times = np.array([1065e12, 3350e12]), column(92.4, 96.0)
    expected = 6384 * np.sqrt(np.prod(flop / (2048 * times.ravel())))
    actual, _ = fom.own_mean(DAY_S / times * 6384 / 2048, flop, np.ones(2), Definition(preset="ssp"))
    assert actual[0] == pytest.approx(expected)


def test_ssp_without_operations_is_in_units_per_day() -> None:
    actual, unit = fom.own_mean(column(4, 9), None, np.ones(2), Definition(preset="ssp"))
    assert (actual[0], unit) == (pytest.approx(6), "1/day")


def test_jupiter_prints_the_time_of_a_hypothetical_job() -> None:
    """20,000,000 tokens at 36055.39 and at 60777.68 tokens/s, as printed in jubench-megatron-lm."""
    for tokens_per_s, printed in ((36055.39, "554.70"), (60777.68, "329.07")):
        time_s, unit = fom.own_mean(column(DAY_S * tokens_per_s / 20e6), None, np.ones(1), Definition(preset="jupiter"))
        assert (f"{time_s[0]:.2f}", unit) == (printed, "s")


def test_jupiter_is_a_ratio_of_weighted_times() -> None:
    reference, ours = per_day(554.70, 727.294), per_day(560.0, 600.0)
    expected = (3 * 554.70 + 727.294) / (3 * 560 + 600)
    assert figure("jupiter", ours, reference, 3, 1) == pytest.approx(expected)


def test_ssi_is_the_mean_of_capability_use_and_speedup() -> None:
    """The page's symbols in rational arithmetic; n and t of the reference are its values of Edison."""
    nodes, n, t = (5576, 9300), ((1376, 1000), (400, 200)), ((699.78, 350.0), (42.74, 21.37))
    c, w = (8.0, 1.0), (1.0, 2.0)
    product = 1.0
    for (n_ref, n_new), (t_ref, t_new), factor, weight in zip(n, t, c, w, strict=True):
        use, speedup = (n_ref / n_new) * (nodes[1] / nodes[0]), t_ref / t_new
        product *= (factor * use * speedup) ** weight
    ours, reference = (
        np.array([[nodes[i] / n[k][i] * DAY_S / t[k][i]] for k in range(2)]) * np.array([[c[0]], [c[1]]]) ** i
        for i in (1, 0)
    )
    assert figure("ssi", ours, reference, *w) == pytest.approx(product ** (1 / 3))
    assert figure("ssi", reference, reference, *w) == pytest.approx(1.0)


def test_ssni_is_the_ratio_of_nodes_times_the_mean_of_speedups() -> None:
    speedups, weights, nodes = np.array([2.0, 5.0, 1.25]), np.array([1.0, 2.0, 1.0]), 1500 / 6140
    expected = nodes * np.prod(speedups**weights) ** (1 / weights.sum())
    actual = figure("ssni", column(*speedups) * 1500, column(1, 1, 1) * 6140, *weights)
    assert actual == pytest.approx(expected)


def test_mlperf_counts_models_per_minute() -> None:
    """40 models side by side of 80 minutes each: one every two minutes."""
    actual, unit = fom.own_mean(per_day(80 * 60) * 40, None, np.ones(1), Definition(preset="mlperf-hpc"))
    assert (actual[0], unit) == (pytest.approx(0.5), "1/min")


def test_coral_2_has_no_weights() -> None:
    definition = Definition(preset="coral-2")
    assert fom.effective_weights({"a": 3.0, "b": 1.0}, definition).tolist() == [1, 1]
    assert fom.effective_weights({"a": 3.0, "b": 1.0}, Definition(preset="ssi")).tolist() == [3, 1]
    assert fom.effective_weights({"a": 3.0, "b": 1.0}, Definition(weights={"b": 7})).tolist() == [3, 7]
    assert figure("coral-2", column(2, 18), column(1, 1)) == pytest.approx(6)


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ({"preset": "sssp"}, "is 'sssp', which is none of"),
        (
            {"preset": "ssi", "mean": "harmonic"},
            "names both the preset 'ssi' and 'mean', which ssi defines; delete one",
        ),
        ({"preset": "spec", "weights": {"a": 1}}, "names both the preset 'spec' and 'weights'"),
        ({"preset": "ssi", "level": "worker"}, "has the level 'worker'; ssi is defined for system"),
    ],
)
def test_a_preset_is_not_redefined(written: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Definition.model_validate(written)


def test_a_preset_may_have_a_threshold_and_another_of_its_levels() -> None:
    definition = Definition.model_validate({"preset": "mlperf-hpc", "level": "worker", "threshold": 2})
    assert (definition.level, definition.threshold, definition.mean, definition.of) == (
        "worker",
        2,
        "geometric",
        "rates",
    )
    assert Definition(preset="mlperf-hpc").level == "system"
    assert str(Definition(preset="ssi")) == "geometric mean of the ratios"
