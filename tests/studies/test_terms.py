"""What a study says of a unit of work for its figure of merit: faults with their line."""

from pathlib import Path

import pytest

from estimator.core.errors import EstimatorError
from estimator.studies.study import read_study
from tests.studies.toy_merit import study_file

TIMES = "time_per_unit: {old: 4 h, new: 1 h}"
TIMED = f"{TIMES}, "


@pytest.mark.parametrize(
    ("unit", "words"),
    [
        (
            TIMED + "capability: {nev: 8}",
            "A: capability names 'nev', which is none of the machines old, new. Did you mean new?",
        ),
        (TIMED + "committed: {newer: 1 h}", "A: committed names 'newer', which is none of the machines"),
        (TIMED + "capability: {old: 8}", "A: capability counts from the baseline, old, which has none; delete it"),
        (TIMED + "capability: {new: 0}", "greater than 0"),
        (
            TIMED + "capability: {new: .inf}",
            "capability.new.value is inf; input should be less than or equal to 1000000000",
        ),
        (
            TIMED + "algorithmic_factor: {new: {value: .inf, source: x}}",
            "value is inf; input should be less than or equal to",
        ),
        (
            TIMED + "algorithmic_factor: {new: 7}",
            "A: the algorithmic factor has no source; write 'new: {value: 7, source: …}'",
        ),
        (TIMED + "ran_on: {new: {efficiency: 120 %}}", "write a share above 0 and at most 1, such as '95 %'"),
        (TIMED + "ran_on: {new: {nodes: 0}}", "greater than 0"),
        (
            TIMED + "ran_on: {new: {nodes: 2}}, time_of: device",
            "names the nodes that ran it, but its time is that of a device",
        ),
        (TIMED + "time_of: device", "the time is that of a device, but old has no 'devices_per_node'; add it"),
        (TIMED + "reference_flop: 12 GB", "write an amount of arithmetic such as '12 GFLOP'"),
        (TIMED + "reference_flop: 0 TFLOP", "write an amount of arithmetic above zero"),
        (TIMED + "amount_per_s: {old: 1, new: 2}", "needs either 'time_per_unit' or 'profile' (or 'amount_per_s')"),
        ("amount_per_s: {old: 20, new: .inf}", "A.amount_per_s.new is inf; write a number above zero, from 1e-30 to"),
        ("amount_per_s: {old: 20, new: 1e-300}", "A.amount_per_s.new is '1e-300'; write a number above zero"),
        ("amount_per_s: {old: 20, new: .nan}", "A.amount_per_s.new is nan; write a number above zero"),
        ("amount: 1e300, amount_per_s: {old: 20, new: 30}", "A.amount is '1e300'; write a number above zero"),
        ("amount: -1, amount_per_s: {old: 20, new: 30}", "A.amount is -1; write a number above zero"),
        (
            "amount: 1e30, amount_per_s: {old: 1e20, new: 1}",
            "A: an amount of 1e+30 at 1 a second takes 1e+30 s on new, which is longer than anything runs; write an "
            "amount and a rate that make at most 1e+12 s",
        ),
        ("amount_per_s: {old: 1e-30, new: 1}", "A: an amount of 1 at 1e-30 a second takes 1e+30 s on old"),
    ],
)
def test_faults_are_sentences_with_their_line(unit: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(EstimatorError) as raised:
        read_study(study_file(tmp_path, f"  A: {{{unit}}}"))
    assert words in str(raised.value)
    assert "study.yaml:6: " in str(raised.value)


def test_a_profile_runs_on_no_nodes_of_its_own(tmp_path: Path) -> None:
    machines = "machines: {old: {system: titan}, new: {system: summit}}"
    with pytest.raises(EstimatorError, match="its time is that of a profile; delete 'nodes'"):
        read_study(study_file(tmp_path, "  A: {profile: p1b3, ran_on: {new: {nodes: 2}}}", machines=machines))
    with pytest.raises(EstimatorError, match="gives 'profile', which is timed as a whole; delete amount"):
        read_study(study_file(tmp_path, "  A: {profile: p1b3, amount: 2}", machines=machines))


def test_a_rate_is_needed_of_every_machine(tmp_path: Path) -> None:
    with pytest.raises(EstimatorError, match="A has no rate on new; add 'new: 1000'"):
        read_study(study_file(tmp_path, "  A: {amount_per_s: {old: 20}}"))


def test_amounts_may_be_large(tmp_path: Path) -> None:
    unit = read_study(
        study_file(tmp_path, "  u: {amount: 2e24, amount_per_s: {old: 1e18, new: 1.0e+21}}")
    ).units_of_work
    assert (unit["u"].amount, unit["u"].amount_per_s) == (2e24, {"old": 1e18, "new": 1e21})


def test_weights_name_units(tmp_path: Path) -> None:
    with pytest.raises(EstimatorError, match=r"study.yaml:3: weights names 'B', which is none of the units A"):
        read_study(study_file(tmp_path, f"  A: {{{TIMES}}}", "{mean: harmonic, weights: {B: 2}}"))


def test_a_threshold_needs_a_baseline(tmp_path: Path) -> None:
    path = study_file(tmp_path, f"  A: {{{TIMES}}}", "{preset: candle, threshold: 50}")
    path.write_text(path.read_text().replace("baseline: old\n", ""))
    with pytest.raises(EstimatorError, match="'baseline' is missing, and the threshold of 50 is a multiple of it"):
        read_study(path)


def test_factors_are_numbers_or_say_their_source(tmp_path: Path) -> None:
    unit = f"  A: {{{TIMES}, capability: {{new: 8}}, algorithmic_factor: {{new: {{value: 3, source: a paper}}}}}}"
    read = read_study(study_file(tmp_path, unit)).units_of_work["A"]
    assert (read.capability["new"].value, read.capability["new"].source) == (8, None)
    assert (read.algorithmic_factor["new"].value, read.algorithmic_factor["new"].source) == (3, "a paper")
