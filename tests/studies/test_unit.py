"""One unit of work on one machine: sizes of machines and runs, what is refused, and the chain to units per day."""

from pathlib import Path
from typing import Any

import pytest

from estimator.core.errors import EstimatorError
from estimator.core.types import Estimate, Number
from estimator.studies.study import Study, UnitOfWork
from estimator.studies.unit import derive_chain, estimate_unit, machine_size, read_unit

OPS = """op_type,op_class,phase,precision,m,n,k,calls,time_s,bytes
MatMul,gemm,forward,fp32,2048,2048,2048,4,0.5,
Add,elementwise,backward,fp32,,,,2,0.1,80000000
"""
IDLE = "Sleep,host,other,,,,,1,30,\n"
WORKLOAD = "name: w\nbatch_size: 8\nsamples: 83\n"
FOLDER = Path()


def write(folder: Path, ops: str = OPS, workload: str = WORKLOAD) -> Path:
    (folder / "dump.csv").write_text(ops)
    (folder / "workload.yaml").write_text(workload)
    return folder


def study(machine: dict[str, Any], unit: dict[str, Any]) -> Study:
    machines = {"old": {"device": "k20x", "nodes": 1}, "new": {"device": "v100", "nodes": 3} | machine}
    return Study.model_validate({
        "title": "t", "baseline": "old", "machines": machines, "draws": 10,
        "units_of_work": {"A": {"profile": "dump.csv"} | unit},
    })  # fmt: skip


def estimated(folder: Path, machine: dict[str, Any] | None = None, unit: dict[str, Any] | None = None) -> Estimate:
    made = study(machine or {}, unit or {})
    profile = read_unit(made.units_of_work["A"], folder)
    return estimate_unit(made, "A", made.machines["new"], profile, folder)


def chain(folder: Path, **unit: object) -> dict[str, Number]:
    made = study({"devices_per_node": 2}, dict(unit))
    step = estimated(folder, unit=dict(unit))
    return derive_chain(made, ("new", "A"), step, machine_size(made.machines["new"], folder))


def test_a_machine_has_the_size_of_its_system_unless_the_study_says_another() -> None:
    machines = study({}, {}).machines
    system = machines["new"].model_copy(update={"device": None, "system": "summit", "nodes": None})
    size = machine_size(system, FOLDER)
    assert (size.nodes, size.devices) == (4608, 6)
    assert size.nodes_source == size.devices_source == "system summit: OLCF Summit User Guide"
    fewer = machine_size(system.model_copy(update={"nodes": 10, "devices_per_node": 4}), FOLDER)
    assert (fewer.nodes, fewer.devices) == (10, 4)
    assert fewer.nodes_source == fewer.devices_source == "study file"


def test_a_machine_of_nodes_alone_has_one_device_in_each() -> None:
    size = machine_size(study({"node_name": "blade"}, {}).machines["new"], FOLDER)
    assert (size.nodes, size.devices, size.node_name) == (3, 1, "blade")


def test_a_profile_without_a_batch_size_takes_the_units(tmp_path: Path) -> None:
    write(tmp_path, workload="name: w\n")
    profile = read_unit(UnitOfWork(profile="dump.csv", batch_size=16), tmp_path)
    assert profile.workload.batch_size == 16
    assert read_unit(UnitOfWork(profile="dump.csv"), tmp_path).workload.batch_size is None
    write(tmp_path)
    assert read_unit(UnitOfWork(profile="dump.csv", batch_size=16), tmp_path).workload.batch_size == 8


@pytest.mark.parametrize(
    ("machine", "unit", "expected"),
    [
        ({"precision": "fp16"}, {}, "fp16"),
        ({"precision": "fp16"}, {"precision": "fp32"}, "fp32"),
        ({}, {}, "fp32"),
    ],
)
def test_a_units_precision_comes_before_its_machines(
    tmp_path: Path, machine: dict[str, Any], unit: dict[str, Any], expected: str
) -> None:
    assert estimated(write(tmp_path), machine, unit).precision == expected


def test_a_step_that_is_mostly_carried_is_refused_unless_the_study_accepts_it(tmp_path: Path) -> None:
    write(tmp_path, OPS + IDLE)
    with pytest.raises(EstimatorError, match=r"100 % of the step on v100-sxm2-16gb is the source's own time"):
        estimated(tmp_path)
    with pytest.raises(EstimatorError, match="own time"):
        estimated(tmp_path, {"input": "carried"})
    for machine, unit in (({"host": "profile"}, {}), ({}, {"host": "profile"})):
        assert estimated(tmp_path, machine, unit).step.total[0] > 30


@pytest.mark.parametrize(
    ("machine", "unit", "factor"),
    [({"host": "2"}, {}, 2.0), ({"host": "profile"}, {"host": "0.5"}, 0.5), ({"host": "2"}, {"host": "profile"}, 1.0)],
)
def test_a_study_that_says_what_the_host_does_has_chosen_it(
    tmp_path: Path, machine: dict[str, Any], unit: dict[str, Any], factor: float
) -> None:
    """A unit's word comes before its machine's."""
    write(tmp_path, OPS + IDLE)
    found = estimated(tmp_path, machine, unit)
    assert found.step.total[0] == pytest.approx(30 * factor, rel=0.01)
    assert found.evidence["carried"] > 0.99
    assert "unchanged" not in found.evidence


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
    found = chain(write(tmp_path), epochs=7, load_time="100 s")
    run_s = 7 * 10 * found["step_s"].samples[0] + 100
    assert found["time_per_unit_s"].samples[0] == pytest.approx(run_s)
    assert found["units_per_day"].samples[0] == pytest.approx(3 * 2 * 86400 / run_s)
    assert found["epochs"].source == found["load_s"].source == "study file"
    assert found["samples"].source == "workload file of the profile"
    assert chain(tmp_path)["epochs"].source == "neither the study nor the workload file says"


def test_a_validation_ends_each_epoch(tmp_path: Path) -> None:
    without, validated = chain(write(tmp_path)), chain(tmp_path, validation_samples=9)
    forward_s = validated["forward_s"].samples[0]
    assert 0 < forward_s < without["step_s"].samples[0]
    added_s = validated["epoch_s"].samples[0] - without["epoch_s"].samples[0]
    assert added_s == pytest.approx(2 * forward_s)


@pytest.mark.parametrize(
    ("workload", "words"),
    [
        ("name: w\n", "samples and batch_size not known from the profile; add to the unit 'A'"),
        ("name: w\nbatch_size: 8\n", "^samples not known"),
        ("name: w\nbatch_size: 8\nsamples: 7\n", "A: 7 samples do not fill one batch of 8"),
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
    found = derive_chain(made, ("new", "A"), None, machine_size(made.machines["new"], FOLDER))
    assert found["time_per_unit_s"].samples[0] == 3600
    assert found["units_per_day"].samples[0] == 20 * 24
    assert found["units_per_day"].id == "new/A/units_per_day"
