"""What a study's machines take as given."""

from pathlib import Path
from typing import Any

import pytest

from estimator.studies.run import run_study

STUDY: dict[str, Any] = {
    "title": "two machines",
    "baseline": "titan",
    "machines": {"titan": {"system": "titan"}, "mine": {"device": "h100", "nodes": 2}},
    "units_of_work": {"small": {"profile": "p1b3"}},
    "draws": 20,
}


def codes_of(machine: dict[str, object]) -> set[tuple[str, str]]:
    machines = {**STUDY["machines"], "mine": {**STUDY["machines"]["mine"], **machine}}
    result = run_study({**STUDY, "machines": machines})
    return {(note.code, note.subject) for note in result.machine_notes if note.kind == "left-open"}


def test_what_a_machine_leaves_open_is_noted() -> None:
    open_of_mine = {code for code, machine in codes_of({}) if machine == "mine"}
    assert open_of_mine == {"devices-per-node-assumed", "delivered-assumed", "pue-assumed"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        ("devices_per_node", 4, "devices-per-node-assumed"),
        ("availability", "95 %", "delivered-assumed"),
        ("pue", 1.1, "pue-assumed"),
    ],
)
def test_what_is_given_is_not(key: str, value: object, code: str) -> None:
    actual = codes_of({key: value})
    assert (code, "mine") not in actual


@pytest.mark.parametrize(
    ("mine", "noted"), [({}, True), ({"mine": {"nodes": 2}}, False), ({"mine": {"nodes": 1}}, False)]
)
def test_a_run_whose_nodes_only_the_other_machine_states_is_noted(mine: dict[str, object], noted: bool) -> None:
    unit = {"time_per_unit": {"titan": "6 h", "mine": "2 h"}, "ran_on": {"titan": {"nodes": 64}, **mine}}
    notes = run_study({**STUDY, "units_of_work": {"code": unit}}).machine_notes
    assert (("run-nodes-assumed", "mine") in {(note.code, note.subject) for note in notes}) is noted


def test_a_slip_in_a_system_of_the_users_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "slow.yaml"
    path.write_text("name: slow\ndevice: h100\nnodes: 2\ndevices_per_node: 8\ninjection_bandwidth: 25 MB/s\n")
    notes = run_study({**STUDY, "machines": {**STUDY["machines"], "mine": {"system": str(path)}}}).machine_notes
    assert ("system-check", "mine") in {(note.code, note.subject) for note in notes}


def test_a_slip_in_a_network_of_the_study_is_noted() -> None:
    slow = {"injection_bandwidth": "25 MB/s", "taper": 100}
    machines = {"titan": {"system": "titan", "network": slow}, "mine": {"device": "h100", "nodes": 2, "network": slow}}
    unit = {"time_per_unit": {"titan": "6 h", "mine": "2 h"}}
    notes = run_study({**STUDY, "machines": machines, "units_of_work": {"code": unit}}).machine_notes
    actual = [(note.subject, note.text) for note in notes if note.code == "system-check"]
    for machine in machines:
        texts = [text for subject, text in actual if subject == machine]
        for what in ("injection_bandwidth is 25.0 MB/s", "taper is 100"):
            assert any(what in text for text in texts)
        assert not any("nodes is" in text for text in texts)
