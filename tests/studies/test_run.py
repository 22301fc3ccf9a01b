"""Running a study: what its figures are, and which faults of the files that it names stop it."""

from pathlib import Path

import pytest

from estimator.core.errors import EstimatorError
from estimator.core.notes import sentences
from estimator.reports import study_documents
from estimator.studies.run import run_study
from tests.studies.files import ESTIMATED, STUDY, write


def test_figure_of_merit_of_a_minimal_study(tmp_path: Path) -> None:
    result = run_study(write(tmp_path, STUDY))
    assert result.foms["new"].samples[0] == pytest.approx(4.0)
    assert result.chains["new", "A"]["ratio"].level == "system"
    assert result.chains["new", "A"]["time_per_unit_s"].level == "node"


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


@pytest.mark.slow
def test_validation_samples_add_forward_passes_to_an_epoch(folder: Path) -> None:
    held_out = ESTIMATED.replace("p1b3, epochs: 2", "p1b3/amd-epyc.xplane, validation_samples: 450")
    chain = run_study(write(folder, held_out)).chains["mine", "A"]
    values = {name: n.samples[0] for name, n in chain.items()}
    assert values["validation_steps"] == 5
    assert "; inference is the forward pass of the profiled training" in str(chain["forward_s"].source)
    assert 0 < values["forward_s"] < values["step_s"]
    assert values["epoch_s"] == pytest.approx(9001 * values["step_s"] + 5 * values["forward_s"])
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
    estimate = run_study(write(folder, text)).estimates["mine", "A"]
    assert (estimate.host, estimate.input) == (host, reads)


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
    assert any("not values" in text or "without a source" in text for text in sentences(result.machine_notes))
    specifications = study_documents.figures_of_merit(result)["specifications"]
    assert {"titan: nodes", "titan: devices_per_node"} <= set(specifications["names"])
    assert len(specifications["names"]) == specifications["unverified"] < specifications["used"]


def test_the_device_of_a_system_lies_beside_the_system(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path of the system's file is not looked up in the study's folder once more."""
    within = folder / "bid"
    (within / "bid").mkdir(parents=True)
    (within / "bid" / "own.yaml").write_text("name: own\npeak: {fp32: 1 TFLOP/s}\nmemory_bandwidth: 1 GB/s\n")
    (within / "own.yaml").write_text("name: own\npeak: {fp32: 60 TFLOP/s}\nmemory_bandwidth: 4 TB/s\n")
    (within / "machine.yaml").write_text("name: machine\nnodes: 3\ndevice: own\ndevices_per_node: 2\n")
    monkeypatch.chdir(folder)
    study = ESTIMATED.replace("{system: titan}", "{system: machine}").replace("device: mine.yaml", "device: own")
    result = run_study(write(Path("bid"), study))
    assert {str(estimate.target.memory_bandwidth) for estimate in result.estimates.values()} == {"4 TB/s"}


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
        flop = [estimate.prediction.ops["flop"].sum() for estimate in (profiled, larger, forward)]
        assert flop[1] > 3.5 * flop[0]
        assert flop[2] < 0.5 * flop[1]
        assert forward.step.total[0] < larger.step.total[0]
    assert {estimate.precision for (machine, _), estimate in result.estimates.items() if machine == "TPU"} == {"bf16"}
    assert {estimate.precision for (machine, _), estimate in result.estimates.items() if machine == "GPU"} == {"fp32"}
    steps = [result.chains["GPU", unit]["steps_per_epoch"].samples[0] for unit in ("as profiled", "larger")]
    assert steps == [9001, 2250]
