"""Figures of merit of a study, from rates that are given."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from estimator.core.errors import EstimatorError
from estimator.core.types import Chains, Number
from estimator.studies.merit import figure_of_merit
from estimator.studies.merit_numbers import fom_number, weight_numbers
from estimator.studies.study import Study
from tests.studies.toy_merit import run_toy

RATES = {("old", "A"): [1.0], ("old", "B"): [2.0], ("new", "A"): [3.0, 3.0, 30.0], ("new", "B"): [8.0, 8.0, 8.0]}


def study(*weights: float, **definition: object) -> Study:
    times, each = {"time_per_unit": {"old": "1 h", "new": "1 h"}}, weights or (1.0, 1.0)
    return Study.model_validate({
        "title": "t", "baseline": "old", "machines": {"old": {"nodes": 1}, "new": {"nodes": 1}},
        "units_of_work": {name: times | {"weight": weight} for name, weight in zip("AB", each, strict=True)},
        "figure_of_merit": definition,
    })  # fmt: skip


def chains() -> Chains:
    """As they come of runs on one node each: machines of one node."""
    return {
        pair: {
            name: Number(f"{pair[0]}/{pair[1]}/{name}", "units", samples, "1", level, "g")
            for name, level, samples in (
                ("units_per_day", "system", np.array(rates)),
                ("runs_per_day_per_node", "node", np.array(rates)),
                ("runs_per_day", "node", np.array(rates)),
                ("time_per_unit_s", "node", 86400 / np.array(rates)),
            )
        }
        for pair, rates in RATES.items()
    }


@pytest.mark.parametrize(
    ("definition", "nominal"),
    [
        ({}, (2 / (1 / 3 + 1 / 8)) / (2 / (1 + 1 / 2))),
        ({"mean": "arithmetic"}, 11 / 3),
        ({"mean": "geometric", "of": "ratios"}, np.sqrt(3 * 4)),
        ({"mean": "minimum", "of": "ratios"}, 3.0),
    ],
)
def test_the_figure_is_as_the_study_defines_it(definition: dict[str, object], nominal: float) -> None:
    merit = figure_of_merit(study(**definition), "new", chains())
    assert merit.target == "new"
    assert merit.samples[0] == pytest.approx(nominal)
    assert len(merit.samples) == 3, "the baseline's one sample stands for all"


def test_weights_count_units_several_times() -> None:
    merit = figure_of_merit(study(1.0, 3.0, mean="arithmetic", of="ratios"), "new", chains())
    assert merit.samples[0] == pytest.approx((3 + 3 * 4) / 4)


def test_the_share_above_the_threshold_is_that_of_the_draws() -> None:
    merit = figure_of_merit(study(mean="minimum", of="ratios", threshold=3.5), "new", chains())
    assert merit.samples.tolist() == [3.0, 3.0, 4.0]
    assert merit.p_threshold == pytest.approx(0.5)


def test_the_dominant_unit_is_named() -> None:
    """Without A a harmonic mean of 4 ratios remains, without B one of 3: A moves the figure more."""
    assert figure_of_merit(study(mean="minimum", of="ratios"), "new", chains()).dominant_unit == "A"


def test_other_definitions_stand_beside_it() -> None:
    others = figure_of_merit(study(), "new", chains()).other_definitions
    assert others["arithmetic mean of the ratios"] == pytest.approx(3.5)
    assert others["ratio of minimum means of the rates"] == pytest.approx(3.0)
    assert len(others) == 8


def test_the_number_is_derived_from_the_rates_and_the_weights() -> None:
    made = study(1.0, 2.0)
    merit = figure_of_merit(made, "new", chains())
    number = fom_number(made, merit, chains())
    assert number.id == "new/fom"
    assert number.formula == "ratio of harmonic means of the rates"
    assert number.inputs == (
        "new/A/units_per_day", "new/B/units_per_day", "old/A/units_per_day", "old/B/units_per_day", "weights/A",
        "weights/B",
    )  # fmt: skip
    assert number.samples.tolist() == merit.samples.tolist()
    weights = {weight.id: weight.samples.tolist() for weight in weight_numbers(made)}
    assert weights == {"weights/A": [1], "weights/B": [2]}


def test_every_preset_is_given_of_the_same_times() -> None:
    presets = figure_of_merit(study(1.0, 3.0), "new", chains()).presets
    harmonic, ratios = (4 / (1 / 3 + 3 / 8)) / (4 / (1 + 3 / 2)), (3 * 4**3) ** 0.25
    for weighted, expected in {"candle": harmonic, "jupiter": harmonic, "ssi": ratios, "ssni": ratios}.items():
        figure, dominant = presets[weighted]
        assert figure == pytest.approx(expected), weighted
        assert dominant == "B", "without B it is 3, without A 4"
    for unweighted in ("ssp", "spec", "mlperf-hpc", "coral-2"):
        assert presets[unweighted][0] == pytest.approx(12**0.5), unweighted


def test_a_ratio_of_means_shows_the_means() -> None:
    merit = figure_of_merit(study(), "new", chains())
    assert {name: mean[0] for name, mean in merit.means.items()} == pytest.approx(
        {"old": 2 / (1 + 1 / 2), "new": 2 / (1 / 3 + 1 / 8)}
    )
    assert merit.means_unit == "1/day"
    assert figure_of_merit(study(of="ratios"), "new", chains()).means == {}


def test_a_definition_may_weight_the_units_itself() -> None:
    merit = figure_of_merit(study(5.0, 1.0, mean="arithmetic", of="ratios", weights={"A": 1, "B": 3}), "new", chains())
    assert merit.samples[0] == pytest.approx((3 + 3 * 4) / 4)


@pytest.mark.parametrize(
    ("level", "figure"), [("system", 300 / 100 * 4 * 10 / 60), ("node", 4 * 10 / 60), ("worker", 4.0)]
)
def test_a_figure_is_of_machines_nodes_or_workers(level: str, figure: float, tmp_path: Path) -> None:
    unit = "  A: {time_per_unit: {old: 4 h, new: 1 h}, ran_on: {old: {nodes: 10}, new: {nodes: 60}}}"
    merit = run_toy(tmp_path, unit, f"{{level: {level}}}").foms["new"]
    assert (merit.level, merit.samples[0]) == (level, pytest.approx(figure))


def test_workers_of_unlike_levels_are_not_mixed(tmp_path: Path) -> None:
    machines = "machines: {old: {nodes: 100, devices_per_node: 1}, new: {nodes: 300, devices_per_node: 4}}"
    times = "time_per_unit: {old: 4 h, new: 1 h}"
    units = f"  A: {{{times}}}\n  B: {{time_of: device, {times}}}"
    with pytest.raises(EstimatorError, match="mixes units of unlike levels, B on new of devices and A on new of nod"):
        run_toy(tmp_path, units, "{preset: jupiter}", machines)
    merit = run_toy(tmp_path, units, "{preset: candle}", machines).foms["new"]
    assert "jupiter" not in merit.presets
    assert "candle" in merit.presets


@pytest.mark.parametrize("level", ["group of 8 devices", "one of 4 on a device"])
def test_a_group_or_a_share_of_devices_is_a_worker_beside_a_device(level: str) -> None:
    of_devices = chains()
    for (_, unit), numbers in of_devices.items():
        worker = "device" if unit == "A" else level
        numbers["runs_per_day"] = replace(numbers["runs_per_day"], level=worker)
    assert figure_of_merit(study(level="worker"), "new", of_devices).level == "worker"


@pytest.mark.parametrize(("preset", "noted"), [("ssi", ["B"]), ("ssni", ["A"]), ("coral-2", [])])
def test_a_speedup_below_what_the_definition_asks_for_is_noted(preset: str, noted: list[str], tmp_path: Path) -> None:
    """B is slower on its nodes, A needs more of them; an efficiency of the whole machine is no part of a speed-up."""
    units = (
        "  A: {time_per_unit: {old: 4 h, new: 3.8 h}, ran_on: {new: {nodes: 2, efficiency: 90 %}}}\n"
        "  B: {time_per_unit: {old: 4 h, new: 5 h}, ran_on: {old: {nodes: 4}, new: {nodes: 2}}}"
    )
    notes = run_toy(tmp_path, units, f"{{preset: {preset}}}").foms["new"].notes
    assert [note.text.split()[0] for note in notes] == noted
    assert all(f"{preset} asks for at least 1" in note.text for note in notes)


@pytest.mark.parametrize(
    ("hours", "mean", "noted"), [(100, "harmonic", True), (2, "harmonic", False), (100, "minimum", False)]
)
def test_a_unit_that_makes_nearly_all_of_a_figure_is_noted(hours: int, mean: str, noted: bool, tmp_path: Path) -> None:
    units = f"  A: {{time_per_unit: {{old: 1 h, new: 1 h}}}}\n  B: {{time_per_unit: {{old: 2 h, new: {hours} h}}}}"
    notes = run_toy(tmp_path, units, f"{{mean: {mean}}}").foms["new"].notes
    assert [note.code for note in notes] == ["one-unit"] * noted
    assert all(note.text.startswith("B determines 99 % of the figure of new") for note in notes)


@pytest.mark.parametrize("definition", ["{preset: jupiter}", "{preset: spec, level: worker}", "{level: worker}"])
def test_a_figure_of_workers_is_of_their_times_alone(definition: str, tmp_path: Path) -> None:
    """What the whole machine makes of a unit counts in the rates of nodes and machines."""
    ran_on = "{old: {nodes: 10}, new: {nodes: 10, efficiency: 50 %}}"
    unit = f"  A: {{time_per_unit: {{old: 1000 s, new: 500 s}}, ran_on: {ran_on}}}"
    result = run_toy(tmp_path, unit, definition)
    assert result.foms["new"].samples[0] == pytest.approx(2)
    actual = [float(result.chains["new", "A"][name].samples[0]) for name in ("ratio_worker", "ratio_node", "ratio")]
    assert actual == pytest.approx([2, 1, 3])
