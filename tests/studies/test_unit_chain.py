"""The chain of one unit of work on one machine, from what is given to units per day."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from estimator.core.errors import EstimatorError, UnfitError
from estimator.core.types import Number
from estimator.rollup import failures
from estimator.rollup.parts import PARTS
from estimator.studies.size import machine_size
from estimator.studies.study import Study
from estimator.studies.unit import estimate_unit, read_unit
from estimator.studies.unit_chain import derive_chain
from tests.studies.test_unit import WORKLOAD, study, write


def chain(folder: Path, machine: dict[str, Any] | None = None, **unit: object) -> dict[str, Number]:
    made = study({"devices_per_node": 2} | (machine or {}), dict(unit))
    target, profile = made.machines["new"], read_unit(made.units_of_work["A"], folder)
    size = machine_size(target, folder)
    return derive_chain(made, ("new", "A"), estimate_unit(made, "A", target, size, profile, folder), size)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("unit", "steps"),
    [
        ({}, 10),
        ({"steps_rounding": "ceil"}, 11),
        ({"samples": 800}, 100),
        ({"batch_size": 16, "samples": 81}, 5),
        ({"samples": 8}, 1),
    ],
)
def test_the_steps_of_an_epoch(tmp_path: Path, unit: dict[str, Any], steps: int) -> None:
    assert chain(write(tmp_path), **unit)["steps_per_epoch"].samples[0] == steps


def test_the_chain_leads_from_a_step_to_units_per_day(tmp_path: Path) -> None:
    actual = chain(write(tmp_path), epochs=7, load_time="100 s")
    run_s = 7 * 10 * actual["step_s"].samples[0] + 100
    assert actual["time_per_unit_s"].samples[0] == pytest.approx(run_s)
    assert actual["units_per_day"].samples[0] == pytest.approx(3 * 2 * 86400 / run_s)
    assert actual["epochs"].source == actual["load_s"].source == "study file"
    assert actual["samples"].source == "workload file of the profile"
    assert chain(tmp_path)["epochs"].source == "neither the study nor the workload file says"


def test_a_validation_ends_each_epoch(tmp_path: Path) -> None:
    without, validated = chain(write(tmp_path)), chain(tmp_path, validation_samples=9)
    forward_s = validated["forward_s"].samples[0]
    assert 0 < forward_s < without["step_s"].samples[0]
    added_s = validated["epoch_s"].samples[0] - without["epoch_s"].samples[0]
    assert added_s == pytest.approx(2 * forward_s)


VALIDATED = {"profile": "gpt2", "samples": 160, "validation_samples": 33, "batch_size": 8, "devices": 4}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parallel", "times", "batch"), [("data,micro=2", 4, 32), ("pipeline=4,micro=2", (4 + 3) / 4, 8), ("data", 1, 32)]
)
def test_a_validation_of_several_devices_runs_all_micro_batches(parallel: str, times: float, batch: int) -> None:
    machine = {"device": "a100-sxm4-80gb", "nodes": 4, "devices_per_node": 4}
    actual = chain(Path(), machine, **VALIDATED, parallel=parallel)
    n = nominal(actual)
    handed_on_s = (4 + 3) * n["pass_on_s"]
    assert n["forward_s"] == pytest.approx(times * n["forward_micro_s"] + handed_on_s)
    assert (n["forward_micro_s"] > 0, n["pass_on_s"] > 0) == (True, "pipeline" in parallel)
    assert n["validation_steps"] == -(-33 // batch)
    assert n["epoch_s"] == pytest.approx(n["step_s"] * n["steps_per_epoch"] + n["forward_s"] * n["validation_steps"])
    ids = {number.id for number in actual.values()}
    assert all(set(number.inputs) <= ids for number in actual.values())


@pytest.mark.slow
def test_a_validation_says_that_gathered_weights_are_not_counted() -> None:
    machine = {"device": "a100-sxm4-80gb", "nodes": 4, "devices_per_node": 4}
    for parallel, left_out in (("zero1", False), ("fsdp", True)):
        actual = chain(Path(), machine, **VALIDATED, parallel=parallel)["forward_micro_s"]
        assert ("weights that copies of the model gather are not counted" in str(actual.source)) == left_out


@pytest.mark.parametrize(
    ("workload", "words"),
    [
        ("name: w\n", "samples and batch_size not known from the profile; add to the unit 'A'"),
        ("name: w\nbatch_size: 8\n", "^samples not known"),
        ("name: w\nbatch_size: 8\nsamples: 7\n", "^7 samples do not fill one batch of 8"),
    ],
)
def test_a_run_of_no_known_step_is_refused(tmp_path: Path, workload: str, words: str) -> None:
    with pytest.raises(EstimatorError, match=words):
        chain(write(tmp_path, workload=workload))


def test_a_given_time_is_that_of_a_node() -> None:
    made = Study.model_validate({
        "title": "t", "baseline": "old", "machines": {"old": {"nodes": 10}, "new": {"nodes": 20}},
        "units_of_work": {"A": {"time_per_unit": {"old": "2 h", "new": "1 h"}}},
    })  # fmt: skip
    actual = derive_chain(made, ("new", "A"), None, machine_size(made.machines["new"], Path()))
    assert actual["time_per_unit_s"].samples[0] == 3600
    assert actual["units_per_day"].samples[0] == 20 * 24
    assert actual["units_per_day"].id == "new/A/units_per_day"


GROUPED = WORKLOAD + "parameters: 40000000\n"


def nominal(numbers: dict[str, Number]) -> dict[str, float]:
    return {name: float(number.samples[0]) for name, number in numbers.items()}


def test_several_devices_per_training(tmp_path: Path) -> None:
    """7 nodes of 2 devices have room for 3 trainings of 4."""
    actual = chain(write(tmp_path, workload=GROUPED), {"nodes": 7}, devices=4, samples=800, load_time="10 s", epochs=2)
    n = nominal(actual)
    assert (n["batch_size"], n["steps_per_epoch"], n["runs_at_once"]) == (32, 25, 3)
    assert n["step_s"] == pytest.approx(sum(n[f"step_{part}_s"] for part in PARTS))
    assert n["step_communication_exposed_s"] > 0
    assert n["time_per_unit_s"] == pytest.approx(10 + 2 * 25 * n["step_s"])
    assert n["units_per_day"] == pytest.approx(3 * 86400 / n["time_per_unit_s"])
    assert n["runs_per_day_per_node"] == pytest.approx(n["units_per_day"] / 7)
    assert actual["time_per_unit_s"].level == "group of 4 devices"
    assert actual["units_per_day"].level == "system"
    ids = {number.id for number in actual.values()}
    assert all(set(number.inputs) <= ids for number in actual.values())


@pytest.mark.slow
@pytest.mark.parametrize(("samples", "steps"), [(300, 2), (256, 1), (200, 1)])
@pytest.mark.parametrize("batch", [{"batch_size": 64}, {"batch_size": 256, "scaling": "strong"}])
def test_a_last_batch_of_several_devices_counts_as_a_step(
    samples: int, steps: int, batch: dict[str, Any], tmp_path: Path
) -> None:
    write(tmp_path, workload=GROUPED)
    n = nominal(chain(tmp_path, devices=4, samples=samples, steps_rounding="ceil", **batch))
    assert (n["batch_size"], n["steps_per_epoch"]) == (256, steps)


def test_samples_that_fill_no_batch_of_several_devices_are_refused(tmp_path: Path) -> None:
    write(tmp_path, workload=GROUPED)
    with pytest.raises(EstimatorError, match=r"^200 samples do not fill one batch of 256; expected at least one step"):
        chain(tmp_path, devices=4, samples=200, batch_size=64)


@pytest.mark.slow
def test_the_whole_batch_may_be_given(tmp_path: Path) -> None:
    write(tmp_path, workload=GROUPED)
    n = nominal(chain(tmp_path, {"nodes": 7}, devices=4, samples=800, scaling="strong", batch_size=64))
    assert (n["local_batch"], n["batch_size"], n["steps_per_epoch"]) == (16, 64, 12)


@pytest.mark.slow
def test_copies_of_a_divided_model_make_the_batch() -> None:
    """8 devices hold 2 copies of 4 devices each."""
    unit = {"profile": "gpt2", "batch_size": 8, "samples": 160, "devices": 8, "parallel": "tensor=2,pipeline=2,micro=2"}
    n = nominal(chain(Path(), {"device": "a100-sxm4-80gb", "nodes": 4, "devices_per_node": 8}, **unit))
    assert (n["copies"], n["batch_size"], n["steps_per_epoch"], n["runs_at_once"]) == (2, 16, 10, 4)


@pytest.mark.slow
def test_a_group_pays_for_all_of_its_devices_and_its_share_of_nodes(tmp_path: Path) -> None:
    write(tmp_path, workload=GROUPED)
    by_node, by_device = (
        nominal(chain(tmp_path, {"nodes": 6, **price}, devices=4, samples=800))
        for price in ({"usd_per_node_hour": "6 USD"}, {"usd_per_device_hour": "3 USD"})
    )
    hours = by_node["time_per_unit_s"] / 3600
    assert by_node["usd"] == pytest.approx(by_device["usd"]) == pytest.approx(4 * 3 * hours)
    devices_j = 4 * by_node["device_power_w"] * by_node["time_per_unit_s"]
    nodes_j = 2 * by_node["node_overhead_w"] * by_node["time_per_unit_s"]
    assert by_node["energy_j"] == pytest.approx(devices_j + nodes_j)
    assert by_node["step_energy_j"] == pytest.approx(4 * by_node["device_power_w"] * by_node["step_s"])


@pytest.mark.parametrize(("devices", "at_once"), [(5, 1), (8, 1), (3, 2)])
def test_a_day_of_nodes_that_trainings_do_not_fill_pays_for_their_units(
    devices: int, at_once: int, tmp_path: Path
) -> None:
    write(tmp_path, workload=GROUPED)
    machine = {"nodes": 1, "devices_per_node": 8, "usd_per_node_hour": "8 USD"}
    n = nominal(chain(tmp_path, machine, devices=devices, samples=800, count=3))
    assert (n["runs_at_once"], n["workers_per_node"]) == (at_once, at_once)
    assert n["usd"] * n["units_per_day"] == pytest.approx(24 * 8)
    assert n["phase_usd"] == pytest.approx(3 * n["usd"])
    idle_w = (8 - devices * at_once) * n["idle_power_w"]
    node_w = devices * at_once * n["device_power_w"] + idle_w + n["node_overhead_w"]
    assert n["energy_j"] * n["units_per_day"] == pytest.approx(86400 * node_w)


@pytest.mark.slow
def test_as_many_trainings_run_at_once_as_have_the_nodes_that_their_steps_are_timed_on(tmp_path: Path) -> None:
    """5 devices of a node of 8 are timed inside it: no training of 5 has some of them in another."""
    write(tmp_path, workload=GROUPED)
    machine = {"nodes": 8, "devices_per_node": 8}
    within, larger = (nominal(chain(tmp_path, machine, devices=devices, samples=800)) for devices in (5, 12))
    assert (within["runs_at_once"], larger["runs_at_once"]) == (8, 4)
    assert within["units_per_day"] == pytest.approx(8 * within["runs_per_day"])


@pytest.mark.parametrize(("devices", "whole", "linear"), [(12, 4, 4.5), (5, 9, 9), (4, 18, 18)])
def test_presets_that_count_nodes_count_those_that_make_no_whole_training(
    devices: int, whole: int, linear: float, tmp_path: Path
) -> None:
    """Of nine nodes one is idle where a training takes two."""
    machine = {"nodes": 9, "devices_per_node": 8}
    n = nominal(chain(write(tmp_path, workload=GROUPED), machine, devices=devices, samples=800))
    assert n["units_per_day"] == pytest.approx(whole * n["runs_per_day"])
    assert n["linear_per_day"] == pytest.approx(linear * n["runs_per_day"])


def test_the_samples_must_fill_the_batch_of_all_devices(tmp_path: Path) -> None:
    with pytest.raises(EstimatorError, match=r"^31 samples do not fill one batch of 32"):
        chain(write(tmp_path, workload=GROUPED), {"nodes": 7}, devices=4, samples=31)


@pytest.mark.slow
def test_trainings_that_share_a_device(tmp_path: Path) -> None:
    """Kernels alone leave launches for others to fill; power and price are shared."""
    write(tmp_path)
    alone = nominal(chain(tmp_path, usd_per_device_hour(), host="none"))
    actual = chain(tmp_path, usd_per_device_hour(), host="none", trainings_per_device=4)
    n = nominal(actual)
    assert n["step_alone_s"] == pytest.approx(alone["step_s"])
    assert n["step_s"] == pytest.approx(max(4 * n["step_busy_s"], n["step_alone_s"]))
    assert n["units_per_day"] == pytest.approx(3 * 2 * 4 * 86400 / n["time_per_unit_s"])
    assert actual["time_per_unit_s"].level == "one of 4 on a device"
    assert actual["gaps_left"].samples.min() == actual["gaps_left"].samples[0] == 0
    assert n["usd"] == pytest.approx(3 * n["time_per_unit_s"] / 3600 / 4)
    above_idle_j = (n["device_alone_w"] - n["device_idle_w"]) * n["step_alone_s"]
    assert n["step_energy_j"] == pytest.approx(above_idle_j + n["device_idle_w"] * n["step_s"] / 4)
    ids = {number.id for number in actual.values()}
    assert all(set(number.inputs) <= ids for number in actual.values())


def usd_per_device_hour() -> dict[str, Any]:
    return {"usd_per_device_hour": "3 USD"}


def test_one_training_that_shares_its_device_with_none_is_as_it_was(tmp_path: Path) -> None:
    write(tmp_path)
    alone, one = nominal(chain(tmp_path)), nominal(chain(tmp_path, trainings_per_device=1))
    for name in ("step_s", "units_per_day", "energy_j"):
        assert one[name] == pytest.approx(alone[name])


@pytest.mark.slow
def test_a_validation_beside_other_trainings_takes_longer_too(tmp_path: Path) -> None:
    write(tmp_path)
    n = nominal(chain(tmp_path, trainings_per_device=4, validation_samples=9))
    assert n["forward_s"] / n["forward_alone_s"] == pytest.approx(n["step_s"] / n["step_alone_s"])


@pytest.mark.slow
def test_fused_trainings_make_one_step_together(tmp_path: Path) -> None:
    write(tmp_path)
    actual = chain(tmp_path, usd_per_device_hour(), trainings_per_device=4, sharing="fused", validation_samples=9)
    n, in_turn = nominal(actual), nominal(chain(tmp_path, trainings_per_device=4, validation_samples=9))
    assert n["step_s"] == pytest.approx(sum(n[f"step_{part}_s"] for part in PARTS))
    assert n["step_s"] == pytest.approx(4 * in_turn["step_alone_s"], rel=0.1)  # large products gain nothing
    assert n["forward_s"] > in_turn["forward_alone_s"]
    assert n["units_per_day"] == pytest.approx(3 * 2 * 4 * 86400 / n["time_per_unit_s"])
    assert n["device_power_w"] == pytest.approx(n["device_array_w"] / 4)
    assert n["usd"] == pytest.approx(3 * n["time_per_unit_s"] / 3600 / 4)
    assert not {"step_alone_s", "step_busy_s", "gaps_left", "device_alone_w"} & n.keys()
    ids = {number.id for number in actual.values()}
    assert all(set(number.inputs) <= ids for number in actual.values())


FRAIL = {"mtbf_node": "2 h", "checkpoint": {"write": "30 s"}}


@pytest.mark.slow
def test_failures_and_checkpoints_lengthen_a_run(tmp_path: Path) -> None:
    write(tmp_path, workload=GROUPED)
    sound = nominal(chain(tmp_path, {"nodes": 7}, devices=4, samples=80000, load_time="10 s"))
    actual = chain(tmp_path, {"nodes": 7, **FRAIL}, devices=4, samples=80000, load_time="10 s")
    n = nominal(actual)
    assert n["training_s"] + 10 == pytest.approx(sound["time_per_unit_s"])
    assert (n["nodes_per_training"], n["mtbf_s"]) == (2, 3600)
    assert n["checkpoint_every_s"] == pytest.approx(failures.best_interval(np.array(30.0), np.array(3600.0)))
    assert n["time_per_unit_s"] > sound["time_per_unit_s"]
    assert n["lost_share"] == pytest.approx(1 - sound["time_per_unit_s"] / n["time_per_unit_s"])
    ids = {number.id for number in actual.values()}
    assert all(set(number.inputs) <= ids for number in actual.values())
    every = {"mtbf_node": "2 h", "checkpoint": {"every": "7 s", "write": "30 s"}}
    assert nominal(chain(tmp_path, {"nodes": 7, **every}, samples=80000))["checkpoint_every_s"] == 7


def test_a_run_that_failures_never_let_end_makes_a_machine_unfit(tmp_path: Path) -> None:
    write(tmp_path)
    with pytest.raises(UnfitError, match=r"a run of .* hardly ever .* nodes fail every 1.00 s; give .*'check"):
        chain(tmp_path, {"mtbf_node": "1 s"}, samples=80000)


def test_a_run_that_writes_checkpoints_alone_makes_a_machine_unfit(tmp_path: Path) -> None:
    write(tmp_path)
    busy = {"mtbf_node": "5 years", "checkpoint": {"every": "10 ms", "write": "5 min"}}
    with pytest.raises(UnfitError, match=r"hardly ever ends, as it stops every 10.0 ms .* for 5.00 min; .*auto"):
        chain(tmp_path, busy, samples=80000)


def test_a_machine_is_used_in_part_and_for_part_of_the_time(tmp_path: Path) -> None:
    write(tmp_path)
    whole = nominal(chain(tmp_path, {"nodes": 8}))
    actual = nominal(chain(tmp_path, {"nodes": 8, "fraction": "50 %", "availability": 0.9}))
    assert (actual["all_nodes"], actual["nodes"]) == (8, 4)
    assert actual["units_per_day"] == pytest.approx(whole["units_per_day"] * 0.5 * 0.9)
    assert actual["time_per_unit_s"] == whole["time_per_unit_s"]


def test_a_time_that_is_given_is_lengthened_by_failures_too() -> None:
    made = Study.model_validate({
        "title": "t", "baseline": "old", "machines": {"old": {"nodes": 10}, "new": {"nodes": 20, "mtbf_node": "10 h"}},
        "units_of_work": {"A": {"time_per_unit": {"old": "2 h", "new": "1 h"}}},
    })  # fmt: skip
    n = nominal(derive_chain(made, ("new", "A"), None, machine_size(made.machines["new"], Path())))
    assert n["time_per_unit_s"] == pytest.approx(36000 * (np.exp(0.1) - 1))
    assert n["units_per_day"] == pytest.approx(20 * 86400 / n["time_per_unit_s"])
