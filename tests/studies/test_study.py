from pathlib import Path

import pytest

from estimator.core.errors import EstimatorError
from estimator.core.notes import sentences
from estimator.reports import documents
from estimator.studies.run import run_study
from estimator.studies.study import find_study, read_study

STUDY = """title: t
baseline: old
figure_of_merit: {mean: harmonic, of: rates}
machines:
  old: {nodes: 10}
  new: {nodes: 20}
units_of_work:
  A: {time_per_unit: {old: 2 h, new: 1 h}}
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "study.yaml"
    path.write_text(text)
    return path


def test_figure_of_merit_of_a_minimal_study(tmp_path: Path) -> None:
    result = run_study(write(tmp_path, STUDY))
    assert result.foms["new"].samples[0] == pytest.approx(4.0)
    assert result.chains["new", "A"]["ratio"].level == "system"
    assert result.chains["new", "A"]["time_per_unit_s"].level == "node"


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


ESTIMATED = """title: t
baseline: titan
machines:
  titan: {system: titan}
  mine: {device: mine.yaml, devices_per_node: 4, nodes: 2}
units_of_work:
  A: {profile: p1b3, epochs: 2, load_time: 90 s}
draws: 50
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    device = "name: mine\npeak: {fp32: 60 TFLOP/s}\nmemory_bandwidth: {value: 4 TB/s, uncertainty: 3 %}\n"
    (tmp_path / "mine.yaml").write_text(device)
    return tmp_path


def test_a_device_file_beside_the_study(folder: Path) -> None:
    result = run_study(write(folder, ESTIMATED))
    mine = result.chains["mine", "A"]
    step, steps = mine["step_s"].samples[0], mine["steps_per_epoch"].samples[0]
    assert mine["time_per_unit_s"].samples[0] == pytest.approx(90 + 2 * 9001 * step)
    assert mine["time_per_unit_s"].level == "device"
    assert mine["units_per_day"].samples[0] == pytest.approx(8 * 86400 / mine["time_per_unit_s"].samples[0])
    assert steps == 9001
    assert result.foms["mine"].p_threshold is None
    assert "device mine" in result.inputs


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("p1b3", "p1b4"), "Unknown profile 'p1b4'"),
        (("mine.yaml", "mime"), "Unknown device 'mime'"),
        (("system: titan", "system: titanic"), "Unknown system 'titanic'. Did you mean titan?"),
    ],
)
def test_missing_profiles_devices_and_systems_are_errors(folder: Path, change: tuple[str, str], words: str) -> None:
    with pytest.raises(EstimatorError) as caught:
        run_study(write(folder, ESTIMATED.replace(*change)))
    assert words in str(caught.value)


def test_a_misspelt_system_is_named_beside_other_faults(folder: Path) -> None:
    text = STUDY.replace("  new: {nodes: 20}\n", "").replace("old: {nodes: 10}", "old: {system: sumit}")
    with pytest.raises(EstimatorError) as caught:
        read_study(write(folder, text))
    one, unknown, _ = caught.value.faults
    assert one.endswith("there is 1 machine; a figure of merit needs at least two")
    assert ":5: Unknown system 'sumit'. Did you mean summit?" in unknown


def test_a_study_without_machines_has_one_fault(tmp_path: Path) -> None:
    text = STUDY.replace("  old: {nodes: 10}\n  new: {nodes: 20}\n", "").replace("machines:", "machines: {}")
    with pytest.raises(EstimatorError) as caught:
        read_study(write(tmp_path, text))
    (only,) = caught.value.faults
    assert only.endswith("there are 0 machines; a figure of merit needs at least two")


@pytest.mark.slow
def test_validation_samples_add_forward_passes_to_an_epoch(folder: Path) -> None:
    held_out = ESTIMATED.replace("p1b3, epochs: 2", "p1b3/amd-epyc.xplane, validation_samples: 450")
    chain = run_study(write(folder, held_out)).chains["mine", "A"]
    said = {name: n.samples[0] for name, n in chain.items()}
    assert said["validation_steps"] == 5
    assert "; inference is the forward pass of the profiled training" in str(chain["forward_s"].source)
    assert 0 < said["forward_s"] < said["step_s"]
    assert said["epoch_s"] == pytest.approx(9001 * said["step_s"] + 5 * said["forward_s"])
    (folder / "dump.csv").write_text("op_type,time_s\nMatMul,0.5\n")
    (folder / "workload.yaml").write_text("name: w\nsamples: 100\nbatch_size: 10\nmode: inference\n")
    with pytest.raises(EstimatorError, match=r"\(asked for by validation_samples\): .*dump.csv: holds inference"):
        run_study(write(folder, held_out.replace("p1b3/amd-epyc.xplane", "dump.csv")))
    without_phases = ESTIMATED.replace("epochs: 2", "validation_samples: 450")
    with pytest.raises(
        EstimatorError, match=r"\(asked for by validation_samples\): .* no op is marked as of the backward"
    ):
        run_study(write(folder, without_phases))


def test_a_machine_that_does_not_say_how_many_devices_a_node_has_is_taken_to_have_one(folder: Path) -> None:
    words = "machines.mine gives no devices_per_node: 1 is taken"
    given, taken = (run_study(write(folder, ESTIMATED.replace(*c))) for c in (("", ""), ("devices_per_node: 4, ", "")))
    assert [words in sentences(run.machine_notes) for run in (given, taken)] == [False, True]
    number = taken.chains["mine", "A"]["workers_per_node"]
    assert (number.samples[0], number.formula, number.source) == (1, "assumed", "assumed")


def test_samples_must_be_known(folder: Path) -> None:
    (folder / "dump.csv").write_text("op_type,time_s\nMatMul,0.5\n")
    with pytest.raises(EstimatorError, match="samples and batch_size not known"):
        run_study(write(folder, ESTIMATED.replace("p1b3", "dump.csv")))
    given = ESTIMATED.replace("profile: p1b3", "profile: dump.csv, samples: 100, batch_size: 10, steps_rounding: ceil")
    assert run_study(write(folder, given)).chains["mine", "A"]["steps_per_epoch"].samples[0] == 10


WEIGHED = STUDY + "  B: {time_per_unit: {old: 8 h, new: 1 h}, weight: 3}\n"


def test_weights_count(tmp_path: Path) -> None:
    result = run_study(write(tmp_path, WEIGHED))
    assert result.foms["new"].samples[0] == pytest.approx(2 * (2 + 3 * 8) / (1 + 3 * 1))
    assert result.numbers()["weights/B"].samples[0] == 3
    assert "weights/B" in result.numbers()["new/fom"].inputs


def test_names_with_a_slash_do_not_collide(tmp_path: Path) -> None:
    text = STUDY.replace("new", "a").replace("units_of_work:", "  a/b: {nodes: 5}\nunits_of_work:")
    text = text.replace("A: {time_per_unit: {old: 2 h, a: 1 h}}", "u: {time_per_unit: {old: 2 h, a: 1 h, a/b: 1 h}}")
    text += "  b/u: {time_per_unit: {old: 2 h, a: 1 h, a/b: 1 h}}\n"
    result = run_study(write(tmp_path, text))
    assert len(result.numbers()) == sum(map(len, result.chains.values())) + len(result.fom_numbers)


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("unit", "machine", "host", "reads"),
    [
        ("host: none", "", "none", "none"),
        ("", ", host: 2", "dispatch × 2", "carried"),
        ("host: none, input: carried", ", input: none", "none", "carried"),
        ("", ", input: overlapped", "dispatch", "overlapped"),
    ],
)
def test_a_unit_declares_its_host_and_input_else_its_machine_does(
    folder: Path, unit: str, machine: str, host: str, reads: str
) -> None:
    text = ESTIMATED.replace("epochs: 2", unit or "epochs: 2").replace(
        "device: mine.yaml", f"device: mine.yaml{machine}"
    )
    found = run_study(write(folder, text)).estimates["mine", "A"]
    assert (found.host, found.input) == (host, reads)


def test_each_unit_states_its_fusion(folder: Path) -> None:
    result = run_study(write(folder, ESTIMATED.replace("epochs: 2", "fusion: elementwise")))
    assert {estimate.fusion.kind for estimate in result.estimates.values()} == {"elementwise"}


def test_too_few_samples_for_one_step_are_refused(folder: Path) -> None:
    with pytest.raises(EstimatorError, match="50 samples do not fill one batch of 100"):
        run_study(write(folder, ESTIMATED.replace("epochs: 2", "samples: 50")))


def test_the_seed_moves_the_draws_alone(folder: Path) -> None:
    one, two = (run_study(write(folder, ESTIMATED + f"seed: {seed}\n")).foms["mine"].samples for seed in (1, 2))
    assert one[0] == two[0]
    assert one[1] != two[1]


def test_a_system_file_beside_the_study(folder: Path) -> None:
    system = "name: own\nnodes: 3\ndevice: v100\ndevices_per_node: 2\n"
    (folder / "own.yaml").write_text(system)
    result = run_study(write(folder, ESTIMATED.replace("{system: titan}", "{system: own.yaml}")))
    assert result.chains["titan", "A"]["nodes"].samples[0] == 3
    assert any("not said" in text or "without a source" in text for text in sentences(result.machine_notes))
    specifications = documents.figures_of_merit(result)["specifications"]
    assert {"titan: nodes", "titan: devices_per_node"} <= set(specifications["names"])
    assert len(specifications["names"]) == specifications["unverified"] < specifications["used"]


def test_every_input_is_hashed(folder: Path) -> None:
    def inputs() -> dict[str, str]:
        return dict(run_study(folder / "study.yaml").inputs)

    (folder / "dump.csv").write_text("op_type,time_s\nMatMul,0.5\n")
    (folder / "workload.yaml").write_text("name: w\nsamples: 100\nbatch_size: 10\n")
    write(folder, ESTIMATED.replace("p1b3", "dump.csv"))
    old_inputs = inputs()
    assert {"study study.yaml", "profile of A", "system titan", "device mine", "device k20x"} <= old_inputs.keys()
    (folder / "workload.yaml").write_text("name: w\nsamples: 200\nbatch_size: 10\n")
    assert inputs()["profile of A"] != old_inputs["profile of A"]


def test_a_shipped_study_is_found_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_study("lecture-example").name == "study.yaml"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lecture-example").write_text(STUDY)
    assert find_study("lecture-example") == Path("lecture-example")  # the user's own file comes first
    assert find_study("none.yaml") == Path("none.yaml")


RESIZED = """title: t
baseline: GPU
machines:
  GPU: {device: v100-sxm2-16gb, nodes: 1}
  TPU: {device: tpu-v2, nodes: 1, precision: bf16}
units_of_work:
  as profiled: {profile: p1b3/amd-epyc.xplane}
  larger: {profile: p1b3/amd-epyc.xplane, batch_size: 400}
  forward: {profile: p1b3/amd-epyc.xplane, batch_size: 400, mode: inference}
draws: 0
"""


@pytest.mark.slow
def test_units_of_another_batch_and_of_inference_on_machines_of_unlike_precision(tmp_path: Path) -> None:
    result = run_study(write(tmp_path, RESIZED))
    for machine in ("GPU", "TPU"):
        profiled, larger, forward = (result.estimates[machine, unit] for unit in ("as profiled", "larger", "forward"))
        flop = [found.prediction.ops["flop"].sum() for found in (profiled, larger, forward)]
        assert flop[1] > 3.5 * flop[0]
        assert flop[2] < 0.5 * flop[1]
        assert forward.step.total[0] < larger.step.total[0]
    assert {found.precision for (machine, _), found in result.estimates.items() if machine == "TPU"} == {"bf16"}
    assert {found.precision for (machine, _), found in result.estimates.items() if machine == "GPU"} == {"fp32"}
    steps = [result.chains["GPU", unit]["steps_per_epoch"].samples[0] for unit in ("as profiled", "larger")]
    assert steps == [9001, 2250]
