"""A step of one unit of work on one machine: what the study says of it, on one device and on several; refusals."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from estimator.core.errors import EstimatorError, UnfitError
from estimator.core.types import Estimate
from estimator.rollup.memory_fit import DoesNotFitError
from estimator.studies.size import machine_size
from estimator.studies.study import Study, UnitOfWork
from estimator.studies.unit import estimate_unit, group_of_unit, read_unit

OPS = """op_type,op_class,phase,precision,m,n,k,calls,time_s,bytes
MatMul,gemm,forward,fp32,2048,2048,2048,4,0.5,
Add,elementwise,backward,fp32,,,,2,0.1,80000000
"""
IDLE = "Sleep,host,other,,,,,1,30,\n"
WORKLOAD = "name: w\nbatch_size: 8\nsamples: 83\n"


def write(folder: Path, ops: str = OPS, workload: str = WORKLOAD) -> Path:
    (folder / "dump.csv").write_text(ops)
    (folder / "workload.yaml").write_text(workload)
    return folder


def study(machine: dict[str, Any], unit: dict[str, Any]) -> Study:
    machines = {"old": {"device": "k20x", "nodes": 1}, "new": {"device": "v100", "nodes": 3} | machine}
    return Study.model_validate({
        "title": "t", "baseline": "old", "machines": machines, "draws": 20,
        "units_of_work": {"A": {"profile": "dump.csv"} | unit},
    })  # fmt: skip


def estimated(folder: Path, machine: dict[str, Any] | None = None, unit: dict[str, Any] | None = None) -> Estimate:
    made = study(machine or {}, unit or {})
    profile = read_unit(made.units_of_work["A"], folder)
    target = made.machines["new"]
    return estimate_unit(made, "A", target, machine_size(target, folder), profile, folder)


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


@pytest.mark.slow
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
    actual = estimated(tmp_path, machine, unit)
    assert actual.step.total[0] == pytest.approx(30 * factor, rel=0.01)
    assert actual.evidence["carried"] > 0.99
    assert "unchanged" not in actual.evidence


GROUPED = {"devices": 8, "host": "none"}
IN_A_NODE = {"devices_per_node": 8}


@pytest.mark.slow
def test_devices_of_one_training_wait_for_their_messages_and_the_slowest(tmp_path: Path) -> None:
    """The exposed part is what the step has beyond that of one device; between nodes there is more of it."""
    write(tmp_path, workload=WORKLOAD + "parameters: 40000000\n")
    one = estimated(tmp_path, IN_A_NODE, {"host": "none"})
    inside = estimated(tmp_path, IN_A_NODE, GROUPED)
    between = estimated(tmp_path, {"nodes": 8, "network": {"injection_bandwidth": "1 GB/s"}}, GROUPED)
    for actual in (inside, between):
        assert actual.step.communication_exposed[0] == pytest.approx(actual.step.total[0] - one.step.total[0])
    assert 0 < inside.step.communication_exposed[0] < between.step.communication_exposed[0]
    assert inside.power_w is not None
    assert one.power_w is not None
    assert inside.power_w[0] < one.power_w[0], "a device that waits draws less"
    assert any("8 devices, data: each copy holds all states" in text for text in inside.assumptions)


@pytest.mark.slow
def test_a_network_that_nothing_tells_is_noted_to_be_assumed(tmp_path: Path) -> None:
    write(tmp_path, workload=WORKLOAD + "parameters: 40000000\n")
    assumptions = [estimated(tmp_path, {"nodes": 8, **network}, GROUPED).assumptions for network in ({}, SLOW)]
    words = "the network between nodes is not known: 25 GB/s per node are assumed, drawn from 8.3 to 400 GB/s"
    assert [any(sentence.startswith(words) for sentence in sentences) for sentences in assumptions] == [True, False]


@pytest.mark.slow
def test_a_network_that_nothing_tells_widens_the_interval(tmp_path: Path) -> None:
    write(tmp_path, workload=WORKLOAD + "parameters: 40000000\n")
    same = {"network": {"injection_bandwidth": "25 GB/s", "transport": "rdma"}}
    assumed, stated = (estimated(tmp_path, {"nodes": 8, **network}, GROUPED).step.total for network in ({}, same))
    assert assumed[0] == pytest.approx(stated[0])
    assert np.quantile(assumed, 0.95) > 1.02 * np.quantile(stated, 0.95)


@pytest.mark.slow
def test_devices_that_keep_the_profiles_batch_are_noted(tmp_path: Path) -> None:
    write(tmp_path, workload=WORKLOAD + "parameters: 40000000\n")
    units = (GROUPED, GROUPED | {"batch_size": 8}, GROUPED | {"scaling": "strong"})
    words = "A: each of 8 devices trains the profile's batch of 8, as 'batch_size' is not given"
    assert [words in estimated(tmp_path, IN_A_NODE, unit).assumptions for unit in units] == [True, False, False]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("samples", "unit", "noted"),
    [
        (83, {}, False),
        (86, {}, True),
        (86, {"steps_rounding": "ceil"}, False),
        (112, GROUPED, True),
        (64, GROUPED, False),
    ],
)
def test_samples_that_whole_steps_leave_out_are_noted(
    samples: int, unit: dict[str, Any], noted: bool, tmp_path: Path
) -> None:
    write(tmp_path, workload=WORKLOAD.replace("83", str(samples)) + "parameters: 40000000\n")
    warnings = estimated(tmp_path, IN_A_NODE, unit).warnings
    assert any("samples of an epoch do not fill a batch of" in text for text in warnings) is noted


@pytest.mark.parametrize(
    ("table", "noted"), [({8: 9000, 16: 12000, 32: 100}, True), ({8: 9000, 16: 9000, 32: 3000}, False), ({8: 9}, False)]
)
def test_steps_that_rise_with_the_batch_are_noted(table: dict[int, float], noted: bool, tmp_path: Path) -> None:
    warnings = estimated(write(tmp_path), unit={"steps_to_quality": table}).warnings
    words = "A: steps_to_quality are 9,000 steps at batch 8 and 12,000 steps at batch 16; a larger batch should need no"
    assert any(text.startswith(words) for text in warnings) is noted


@pytest.mark.parametrize(
    ("unit", "noted"), [({"batch_size": 8}, False), ({"batch_size": 64}, True), ({"batch_size": 8, **GROUPED}, True)]
)
def test_a_batch_beyond_the_table_of_steps_is_noted(unit: dict[str, Any], noted: bool, tmp_path: Path) -> None:
    """That of all devices counts."""
    write(tmp_path, workload=WORKLOAD + "parameters: 40000000\n")
    actual = estimated(tmp_path, IN_A_NODE, {"steps_to_quality": {8: 9000, 32: 3000}, **unit})
    texts = [note.text for note in actual.notes if note.code == "steps-extrapolated"]
    assert bool(texts) is noted
    assert all("the batch of all devices is 64, and steps_to_quality tells of 8 to 32: " in text for text in texts)


SLOW = {"network": {"injection_bandwidth": "1 GB/s"}}


@pytest.mark.slow
def test_owners_of_the_optimizers_state_need_less_memory(tmp_path: Path) -> None:
    write(tmp_path, workload=WORKLOAD + "parameters: 40000000\noptimizer: {name: adam}\n")
    plain, owners = (estimated(tmp_path, IN_A_NODE, GROUPED | {"parallel": split}) for split in ("data", "zero1"))
    assert plain.memory is not None
    assert owners.memory is not None
    state = plain.memory.parts["optimizer"][0]
    assert state > 0
    assert owners.memory.parts["optimizer"][0] == pytest.approx(state / 8)


def test_a_batch_is_that_of_each_device_or_of_all(tmp_path: Path) -> None:
    made, profile = study(IN_A_NODE, {}), read_unit(UnitOfWork(profile="dump.csv"), write(tmp_path))
    size = machine_size(made.machines["new"], tmp_path)
    weak, strong = (UnitOfWork(profile="dump.csv", devices=4, scaling=scaling) for scaling in ("weak", "strong"))
    assert [group_of_unit(unit, 4, profile, size).local_batch for unit in (weak, strong)] == [8, 2]
    with pytest.raises(EstimatorError, match=r"devices 3: the batch of 8 cannot be divided .* 2 or 4"):
        group_of_unit(strong, 3, profile, size)


SENT = """op_type,op_class,phase,precision,placement,m,n,k,calls,time_s,bytes,ranks
MatMul,gemm,forward,fp32,gpu:0,2048,2048,2048,4,0.5,,
MatMul,gemm,backward,fp32,gpu:0,2048,2048,2048,4,0.5,,
all_reduce,collective,backward,fp32,gpu:0,,,,1,0.2,800000000,4
"""


@pytest.mark.slow
def test_a_rank_of_several_sends_nothing_on_one_device_and_more_on_more(tmp_path: Path) -> None:
    write(tmp_path, SENT)
    alone, several, many = (estimated(tmp_path, IN_A_NODE, unit) for unit in ({}, {"devices": 2}, {"devices": 16}))
    steps = [float(actual.step.total[0]) for actual in (alone, several, many)]
    assert steps == sorted(steps)
    assert steps[0] < steps[1]
    assert alone.step.communication_exposed[0] == 0
    for actual, copies in ((alone, 1), (several, 2), (many, 16)):
        assert actual.copies == copies
        assert "one of 4 ranks" in next(note.text for note in actual.notes if note.code == "ranks-replaced")


def test_ranks_that_exchange_parts_of_a_model_are_not_fewer(tmp_path: Path) -> None:
    write(tmp_path, SENT.replace("all_reduce,", "all_to_all,"))
    with pytest.raises(EstimatorError, match="devices 1: 4 ranks of the profile exchange parts of one model"):
        estimated(tmp_path, IN_A_NODE)


def test_more_devices_than_the_machine_has_make_it_unfit(tmp_path: Path) -> None:
    write(tmp_path)
    with pytest.raises(UnfitError, match=r"devices 8: the machine has 3 nodes of 2 devices; .* 1 to 6"):
        estimated(tmp_path, {"devices_per_node": 2}, GROUPED)
    with pytest.raises(UnfitError, match=r"the machine has 1 node of 1 device; expected a number from 1 to 1, or say"):
        estimated(tmp_path, {"nodes": 1}, GROUPED)


@pytest.mark.slow
def test_memory_must_hold_all_trainings_of_a_device(tmp_path: Path) -> None:
    write(tmp_path, workload=WORKLOAD + "parameters: 200000000\noptimizer: {name: adam}\n")
    one, two = (estimated(tmp_path, unit={"trainings_per_device": count}).memory for count in (1, 2))
    assert one is not None
    assert two is not None
    assert two.total[0] == pytest.approx(2 * one.total[0])
    with pytest.raises(DoesNotFitError, match=r"w: 9 trainings need at least .* v100-sxm2-16gb has .*; 3 would fit"):
        estimated(tmp_path, unit={"trainings_per_device": 9})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("machine", "unit", "expected"),
    [
        ({}, {}, "none"),
        ({"fusion": "elementwise"}, {}, "elementwise"),
        ({"fusion": "elementwise"}, {"fusion": "none"}, "none"),
    ],
)
def test_a_units_fusion_and_layout_come_before_its_machines(
    tmp_path: Path, machine: dict[str, Any], unit: dict[str, Any], expected: str
) -> None:
    actual = estimated(write(tmp_path), machine | {"layout": "none"}, unit).plan
    assert (actual.fusion, actual.layout) == (expected, "none")
    assert estimated(tmp_path, {"layout": "none"}, {"layout": "converted"}).plan.layout == "converted"
    assert estimated(tmp_path).plan.layout == "auto"


@pytest.mark.slow
def test_a_study_may_leave_the_number_format_to_the_framework(tmp_path: Path) -> None:
    write(tmp_path)
    assert estimated(tmp_path, {"device": "tpu-v5p"}, {"precision": "AUTO"}).precision == "bf16"
    assert estimated(tmp_path, {"device": "tpu-v5p", "precision": "auto"}).precision == "bf16"
