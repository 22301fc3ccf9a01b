"""Units of work whose time is given: of a node, of many, of a device, or as a rate."""

import math
from pathlib import Path

import pytest

from estimator.core.errors import EstimatorError
from tests.studies.toy_merit import run_toy

DEVICES = "machines: {old: {nodes: 100, devices_per_node: 1}, new: {nodes: 300, devices_per_node: 4}}"


def ratios(folder: Path, units: str, machines: str = DEVICES) -> tuple[str, list[float]]:
    numbers = run_toy(folder, units, machines=machines).chains["new", "A"]
    actual = [float(numbers[name].samples[0]) for name in ("ratio_worker", "ratio_node", "ratio")]
    return numbers["runs_per_day"].level, actual


def test_a_time_is_of_a_whole_node(tmp_path: Path) -> None:
    level, actual = ratios(tmp_path, "  A: {time_per_unit: {old: 4 h, new: 1 h}}")
    assert level == "node"
    assert actual == pytest.approx([4, 4, 12])


def test_a_time_of_a_device_is_that_of_each_in_a_node(tmp_path: Path) -> None:
    level, actual = ratios(tmp_path, "  A: {time_of: device, time_per_unit: {old: 4 h, new: 1 h}}")
    assert level == "device"
    assert actual == pytest.approx([4, 16, 48])


def test_a_time_on_many_nodes_leaves_room_for_as_many_units_as_the_machine_has_of_them(tmp_path: Path) -> None:
    unit = "  A: {time_per_unit: {old: 4 h, new: 1 h}, ran_on: {old: {nodes: 10}, new: {nodes: 60}}}"
    level, actual = ratios(tmp_path, unit)
    assert level == "60 nodes"
    assert actual == pytest.approx([4, 4 * 10 / 60, (300 / 60) / (100 / 10) * 4])


def test_the_extrapolation_has_its_efficiency(tmp_path: Path) -> None:
    unit = "  A: {time_per_unit: {old: 4 h, new: 1 h}, ran_on: {new: {nodes: 60, efficiency: 90 %, source: a run}}}"
    numbers = run_toy(tmp_path, unit).chains["new", "A"]
    assert numbers["units_per_day"].samples[0] == pytest.approx(24 * 5 * 0.9)
    assert numbers["runs_per_day"].samples[0] == pytest.approx(24)  # of one worker by itself
    assert "efficiency of the extrapolation" in numbers["runs_per_day_per_node"].formula
    assert numbers["extrapolation_efficiency"].source == "a run"


def test_an_amount_at_a_rate_is_the_time_of_a_hypothetical_job(tmp_path: Path) -> None:
    unit = "  A: {amount: 20000000, amount_per_s: {old: 36055.39, new: 72110.78}}"
    result = run_toy(tmp_path, unit, "{preset: jupiter}")
    time = result.chains["old", "A"]["time_per_unit_s"]
    assert f"{time.samples[0]:.2f}" == "554.70"
    assert time.formula == "amount of one unit / amount per second"
    assert time.inputs == ("old/A/amount", "old/A/amount_per_s")
    assert result.foms["new"].samples[0] == pytest.approx(2)
    assert f"{result.foms['new'].means['old'][0]:.2f}" == "554.70"


def test_nodes_that_a_machine_lacks_ran_nothing(tmp_path: Path) -> None:
    for machines, has in ((DEVICES, 300), ("machines: {old: {nodes: 9}, new: {system: summit}}", 4608)):
        with pytest.raises(EstimatorError, match=f"ran_on: it ran on 5000 nodes; the machine has {has}"):
            run_toy(
                tmp_path, "  A: {time_per_unit: {old: 4 h, new: 1 h}, ran_on: {new: {nodes: 5000}}}", machines=machines
            )


@pytest.mark.parametrize(
    ("unit", "devices"), [("ran_on: {new: {nodes: 6}}", 24), ("time_of: device", 1), ("weight: 1", 4)]
)
def test_a_price_per_device_counts_those_that_run_the_unit(unit: str, devices: int, tmp_path: Path) -> None:
    machines = DEVICES.replace("devices_per_node: 4", "devices_per_node: 4, usd_per_device_hour: 3 USD")
    numbers = run_toy(tmp_path, f"  A: {{time_per_unit: {{old: 4 h, new: 1 h}}, {unit}}}", machines=machines).chains
    assert numbers["new", "A"]["usd"].samples[0] == pytest.approx(3 * devices)


@pytest.mark.parametrize(("preset", "figure"), [
    ("candle", 1.0), ("mlperf-hpc", 1.0), ("coral-2", 1.0), ("ssi", 1.9), ("ssni", 1.9), ("ssp", 1.9),
])  # fmt: skip
def test_nodes_that_make_no_whole_unit_run_nothing(preset: str, figure: float, tmp_path: Path) -> None:
    """Nine of 19 nodes are idle where a unit takes 10; the presets whose equation counts nodes count them all."""
    machines = "machines: {old: {nodes: 10}, new: {nodes: 19, usd_per_node_hour: 3 USD}}"
    unit = "  A: {time_per_unit: {old: 1 h, new: 1 h}, ran_on: {old: {nodes: 10}, new: {nodes: 10}}}"
    result = run_toy(tmp_path, unit, f"{{preset: {preset}}}", machines)
    n = {name: float(number.samples[0]) for name, number in result.chains["new", "A"].items()}
    assert (n["runs_at_once"], n["units_per_day"], n["workers_per_node"]) == pytest.approx((1, 24, 1 / 19))
    assert n["usd"] == pytest.approx(19 * 3)
    assert result.foms["new"].samples[0] == pytest.approx(figure)
    assert result.foms["new"].presets[preset][0] == pytest.approx(figure)


EFFICIENT = "time_per_unit: {old: 1 h, new: 1 h}, count: 6, ran_on: {new: {efficiency: 50 %}}"


@pytest.mark.parametrize(("price", "node_hour"), [("usd_per_node_hour: 8 USD", 8), ("usd_per_device_hour: 3 USD", 12)])
@pytest.mark.parametrize(
    "unit", [EFFICIENT, EFFICIENT + ", time_of: device", EFFICIENT.replace("50 %", "50 %, nodes: 6")]
)
def test_a_day_of_the_machine_pays_for_the_units_of_a_day(
    unit: str, price: str, node_hour: int, tmp_path: Path
) -> None:
    """Whatever share of its rate a unit keeps, and however many of it fill a node."""
    machines = DEVICES.replace("devices_per_node: 4", f"devices_per_node: 4, {price}")
    numbers = run_toy(tmp_path, f"  A: {{{unit}}}", machines=machines).chains["new", "A"]
    n = {name: float(number.samples[0]) for name, number in numbers.items()}
    assert n["usd"] * n["units_per_day"] == pytest.approx(300 * 24 * node_hour)
    assert n["phase_usd"] == pytest.approx(6 * n["usd"])


FAILING = "machines: {old: {nodes: 100}, new: {nodes: 300, mtbf_node: 1000 h}}"


@pytest.mark.parametrize(
    "unit", ["time_per_unit: {old: 4 h, new: 1 h}", "amount: 7200, amount_per_s: {old: 0.5, new: 2}"]
)
def test_a_unit_on_many_nodes_fails_with_each_of_them(unit: str, tmp_path: Path) -> None:
    ran_on = "ran_on: {new: {nodes: 60, efficiency: 90 %}}"
    numbers = run_toy(tmp_path, f"  A: {{{unit}, {ran_on}}}", machines=FAILING).chains["new", "A"]
    actual = {name: float(numbers[name].samples[0]) for name in ("training_s", "mtbf_s", "time_per_unit_s")}
    assert actual["training_s"] == 3600
    assert actual["mtbf_s"] == pytest.approx(1000 * 3600 / 60)
    assert actual["time_per_unit_s"] == pytest.approx(60000 * math.expm1(3600 / 60000))
    assert numbers["units_per_day"].samples[0] == pytest.approx(86400 / actual["time_per_unit_s"] * 5 * 0.9)


@pytest.mark.parametrize(("up", "share"), [("", 0.9), (", availability: 50 %", 0.45)])
def test_a_campaign_of_units_on_many_nodes_runs_in_whole_units_at_once(up: str, share: float, tmp_path: Path) -> None:
    machines = f"machines: {{old: {{nodes: 100}}, new: {{nodes: 310{up}}}}}"
    unit = "  A: {time_per_unit: {old: 4 h, new: 1 h}, count: 6, ran_on: {new: {nodes: 60, efficiency: 90 %}}}"
    numbers = run_toy(tmp_path, unit, machines=machines).chains["new", "A"]
    assert numbers["runs_at_once"].samples[0] == 5
    assert numbers["phase_s"].samples[0] == pytest.approx(2 * 3600 / share)


def test_nodes_out_of_use_run_nothing(tmp_path: Path) -> None:
    machines = "machines: {old: {nodes: 100}, new: {nodes: 300, fraction: 10 %}}"
    with pytest.raises(EstimatorError, match="ran_on: it ran on 60 nodes; the machine has 30"):
        run_toy(tmp_path, "  A: {time_per_unit: {old: 4 h, new: 1 h}, ran_on: {new: {nodes: 60}}}", machines=machines)
