"""Reading a study: its faults, each a sentence with its line."""

from pathlib import Path

import pytest

from estimator.core.errors import EstimatorError
from estimator.studies.study import find_study, read_study
from tests.studies.files import STUDY, write


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            STUDY.replace("baseline: old", "baseline: olt"),
            ":2: 'olt' is not one of the machines old, new. Did you mean old?",
        ),
        (STUDY.replace("new: 1 h", "nwe: 1 h"), "A has no time on new; add 'new: 4 h'"),
        (STUDY.replace("new: 1 h", "nwe: 1 h"), "'nwe' is not one of the machines old, new. Did you mean new?"),
        (STUDY.replace("new: 1 h", "new: 0 h"), "is '0 h', which is not above zero"),
        (STUDY.replace("new: 1 h", "new: -1 h"), "is '-1 h', which is not above zero"),
        (STUDY.replace("new: 1 h", "new: 1 GB"), "is '1 GB', which is a size; write a time"),
        (STUDY.replace("new: 1 h", "new: 1"), "which is a plain number; write a time"),
        (STUDY.replace("harmonic", "harmonious"), "figure_of_merit.mean is 'harmonious'"),
        (STUDY.replace("nodes: 20", "nodes: 0"), "machines.new.nodes is 0"),
        (
            STUDY.replace("nodes: 20", "notes: 20"),
            "'machines.new.notes' is not a key that is known here. Did you mean nodes?",
        ),
        (STUDY.replace("{nodes: 20}", "{system: summit, device: v100}"), "names both 'system' and 'device'"),
        (STUDY.replace("{nodes: 20}", "{}"), "names neither 'system' nor 'nodes'"),
        (STUDY.replace("  new: {nodes: 20}\n", ""), "machines"),
        (STUDY + "  B: {}\n", "needs either 'time_per_unit' or 'profile'"),
        (STUDY + "  B: {profile: p1b3}\n", "old has no device to estimate on"),
        (STUDY + "  A: {}\n", "the key 'A' stands twice"),
        (STUDY + "title: again\n", ":9: the key 'title' stands twice (first on line 1)"),
        (STUDY + "published: [{quantity: fom, printed: 3, source: s}]\n", "needs either 'machine' or 'device'"),
    ],
)
def test_faults_are_sentences_with_their_line(tmp_path: Path, text: str, words: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(EstimatorError, match=r".") as caught:
        read_study(path)
    assert any(words in fault for fault in caught.value.faults), caught.value.faults
    assert all(fault.startswith(f"{path}:") for fault in caught.value.faults)


def test_a_misspelt_system_is_named_beside_other_faults(tmp_path: Path) -> None:
    text = STUDY.replace("  new: {nodes: 20}\n", "").replace("old: {nodes: 10}", "old: {system: sumit}")
    with pytest.raises(EstimatorError) as caught:
        read_study(write(tmp_path, text))
    one, unknown, _ = caught.value.faults
    assert one.endswith("there is 1 machine; a figure of merit needs at least two")
    assert ":5: Unknown system 'sumit'. Did you mean summit?" in unknown


def test_a_study_without_machines_has_one_fault(tmp_path: Path) -> None:
    text = STUDY.replace("  old: {nodes: 10}\n  new: {nodes: 20}\n", "").replace("machines:", "machines: {}")
    with pytest.raises(EstimatorError) as caught:
        read_study(write(tmp_path, text))
    (only,) = caught.value.faults
    assert only.endswith("there are 0 machines; a figure of merit needs at least two")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (STUDY.replace("{old: 2 h, new: 1 h}", "{old: 2 h, new: 1 h}, epochs: 3"), "delete epochs"),
        (STUDY.replace("nodes: 20", "nodes: yes"), "is True, as YAML reads yes and no"),
        (STUDY.replace("2 h", "'2,5 h'"), "a number has no commas"),
        (STUDY + "  B: {profile: p1b3, devices: 2, trainings_per_device: 2}\n", "names both 'devices' and"),
        (STUDY + "  B: {profile: p1b3, count: 9, spread: 110 %}\n", "spread is '110 %'; write a share from 0 to 50 %"),
        (STUDY + "  B: {profile: p1b3, spread: 5 %}\n", "not how many there are; add 'count: 1000'"),
        (STUDY + "  B: {profile: '', epochs: 3}\n", "has an empty 'profile'; name a dump, a folder or a shipped"),
        (STUDY.replace("new: 1 h}", "new: 1 h}, weight: .inf"), "weight is inf"),
        (STUDY.replace("new: 1 h}", "new: 1 h}, weight: yes"), "weight is True, as YAML reads yes and no"),
        ("draws: 19\n" + STUDY, "draws is 19, too few for a 90 % interval; write 20 or more, or 0 for no intervals"),
        ("draws: yes\n" + STUDY, "draws is True, as YAML reads yes and no"),
        (STUDY.replace("nodes: 20", "nodes: 20, availability: 1e-320"), "availability is"),
        (STUDY.replace("new:", "'':"), "a machine has an empty name; write one"),
        (STUDY.replace("new: 1 h}", "new: 1e-300 s}"), "is '1e-300 s', which is shorter than anything runs; write at"),
        (
            STUDY + "  B: {profile: p1b3, load_time: 1e200 years}\n",
            "load_time is '1e200 years', which is longer than any",
        ),
        (STUDY + "  B: {profile: p1b3, sharing: fused}\n", "not how many; add 'trainings_per_device: 4'"),
        (STUDY + "  B: {profile: p1b3, trainings_per_device: 2, sharing: both}\n", "sharing is 'both'"),
        (
            STUDY.replace("nodes: 20", "nodes: 20, availability: 1.2"),
            "availability is 1.2; write a share above 0 and",
        ),
        (STUDY.replace("nodes: 20", "nodes: 20, availability: 0"), "availability is 0; write a share above 0 and at"),
        (STUDY.replace("nodes: 20", "nodes: 20, fraction: 110 %"), "fraction is '110 %'; write a share above 0 and at"),
        (STUDY.replace("nodes: 20", "nodes: 20, mtbf_node: 0 h"), "mtbf_node is '0 h', which is not above zero"),
        (STUDY.replace("nodes: 20", "nodes: 20, checkpoint: {write: 5 min}"), "against; add 'mtbf_node: 5 years'"),
        (
            STUDY.replace("nodes: 20", "nodes: 20, mtbf_node: 5 years, checkpoint: {write: 0 s}"),
            "checkpoint.write is '0 s', which is not above zero",
        ),
        (
            STUDY.replace("nodes: 20", "nodes: 20, mtbf_node: 5 years, checkpoint: {every: often, write: 1 s}"),
            "checkpoint.every is 'often', which is not a quantity",
        ),
        (STUDY + "  B: {profile: p1b3, count: 0.5}\n", "units_of_work.B.count is 0.5"),
        (STUDY + "  B: {profile: p1b3, epochs: 2, steps_to_quality: {64: 9}}\n", "names both 'epochs' and 'steps_to_"),
        (STUDY + "  B: {profile: p1b3, steps_to_quality: {64: 0}}\n", "steps_to_quality.64 is 0"),
        (STUDY + "  B: {profile: p1b3, steps_to_quality: {}}\n", "steps_to_quality is {}"),
        (STUDY + "  B: {profile: p1b3, devices: 0}\n", "units_of_work.B.devices is 0"),
        (STUDY + "  B: {profile: p1b3, devices: 1.5}\n", "units_of_work.B.devices is 1.5"),
        (STUDY + "  B: {profile: p1b3, devices: 2, parallel: dta}\n", "B.parallel 'dta' is not known; expected one of"),
        (STUDY + "  B: {profile: p1b3, devices: 2, parallel: 8}\n", "units_of_work.B.parallel is 8; expected one of"),
        (
            STUDY + "  B: {profile: p1b3, devices: 2, parallel: 'context=2,experts=4'}\n",
            "units_of_work.B.parallel 'context=2,experts=4': context=2 with experts=4: not supported; expected one of",
        ),
        (STUDY + "  B: {profile: p1b3, scaling: weak}\n", "but not how many; add 'devices: 8'"),
        (STUDY + "  B: {profile: p1b3, devices: 2, mode: inference}\n", "is of inference, which each device does by"),
        (STUDY + "  B: {profile: p1b3, steps_to_quality: {9: 9}, mode: inference}\n", "names 'steps_to_quality' of a"),
        (STUDY + "  B: {profile: p1b3, validation_samples: 9, mode: inference}\n", "names 'validation_samples' of a"),
        (STUDY.replace("nodes: 20", "nodes: 20, network: {latency: 2}"), "latency is '2', which is a plain number"),
        (
            STUDY.replace("nodes: 20", "nodes: 20, host: fast"),
            ":6: machines.new.host is 'fast'; write profile, none, or a factor from 1e-06 to 1e+06, such as 0.5",
        ),
        (
            STUDY + "  B: {profile: p1b3, host: -2}\n",
            ":9: units_of_work.B.host is -2; write profile, none, or a factor from 1e-06 to 1e+06, such as 0.5",
        ),
        (
            STUDY + "  B: {profile: p1b3, input: late}\n",
            ":9: units_of_work.B.input is 'late'; write carried, overlapped, or none",
        ),
    ],
)
def test_ambiguous_values_are_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(EstimatorError) as caught:
        read_study(write(tmp_path, text))
    (fault,) = caught.value.faults
    assert words in fault


def test_a_shipped_study_is_found_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_study("lecture-example").name == "study.yaml"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lecture-example").write_text(STUDY)
    assert find_study("lecture-example") == Path("lecture-example")  # the user's own file comes first
    assert find_study("none.yaml") == Path("none.yaml")
