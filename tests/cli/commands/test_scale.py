"""``estimator scale``: the document of a profile on many devices, and what it refuses."""

from pathlib import Path

import pytest

from tests.cli.command_line import read, run

KEYS = {
    "devices", "nodes", "local_batch", "global_batch", "step_s", "samples_per_s", "efficiency", "communication_s",
    "communication_exposed_s", "memory_bytes", "fits", "power_w", "energy_j_per_step", "warnings",
    "timed_s", "parallel", "micro_batch",
}  # fmt: skip


@pytest.mark.slow
def test_the_document_of_scale() -> None:
    document = read("scale", "vgg16", "--system", "dgx-a100", "--devices", "8", "--devices", "2", "--batch", "32")
    assert (document["workload"], document["system"], document["device"]) == ("vgg16", "dgx-a100", "a100-sxm4-40gb")
    assert [row["devices"] for row in document["rows"]] == [2, 8]
    for row in document["rows"]:
        assert row.keys() == KEYS
        assert row["fits"] is True
        assert row["energy_j_per_step"]["mid"] == pytest.approx(row["power_w"]["mid"] * row["step_s"]["mid"])
        assert row["memory_bytes"]["total"] < row["memory_bytes"]["capacity"]
    two, eight = document["rows"]
    assert eight["power_w"]["mid"] > two["power_w"]["mid"]


@pytest.mark.slow
def test_owners_of_states_hold_less() -> None:
    words = ("scale", "vgg16", "--system", "summit", "--devices", "96", "--batch", "8", "--parallel")
    plain, owners, gradients = (read(*words, split)["rows"][0]["memory_bytes"] for split in ("data", "zero1", "zero2"))
    assert owners["optimizer"] == pytest.approx(plain["optimizer"] / 96)
    assert gradients["gradients"] < owners["gradients"]


@pytest.mark.slow
def test_several_splits_are_rows_of_one_document() -> None:
    words = ("scale", "vgg16", "--system", "summit", "--devices", "96", "--batch", "8")
    document = read(*words, "--parallel", "data", "--parallel", "zero1")
    assert [row["parallel"] for row in document["rows"]] == ["data", "zero1"]


@pytest.mark.slow
def test_the_table_fits_a_usual_terminal() -> None:
    words = ("scale", "vgg16", "--system", "summit", "--devices", "96", "--batch", "8")
    lines = run(*words, "--parallel", "data", "--parallel", "zero1", columns=80).stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert any({"split", "devices", "exposed", "memory"} <= {*line.split()} for line in lines)


@pytest.mark.slow
def test_nodes_make_a_machine_of_so_many() -> None:
    document = read("scale", "vgg16", "--system", "dgx-a100", "--nodes", "2", "--batch", "8")
    assert [row["devices"] for row in document["rows"]] == [1, 2, 4, 8, 16]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--devices", "27649"), "devices 27649: summit has 4608 nodes of 6; expected a number from 1 to 27648"),
        (
            ("--parallel", "data", "--parallel", "zero1", "--timed-steps", "steps.csv"),
            "timed steps correct one way to divide a training, and 2 are asked for (data and zero1); give one of them",
        ),
        (("--parallel", "zero9"), "parallel 'zero9' is not known; expected one of data"),
        (("--scaling", "strong", "--devices", "3", "--batch", "16"), "devices 3: the batch of 16 cannot be divided"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(words: tuple[str, ...], sentence: str) -> None:
    shown = run("scale", "vgg16", "--system", "summit", *words, code=1)
    assert sentence in shown.stderr
    assert len(shown.stderr.splitlines()) == 1


@pytest.mark.slow
def test_a_picture_stands_beside_the_document(tmp_path: Path) -> None:
    picture = tmp_path / "rates.svg"
    words = ("scale", "vgg16", "--system", "summit", "--devices", "1", "--devices", "6", "--plot", str(picture))
    document = read(*words)
    assert len(document["rows"]) == 2
    svg = picture.read_text()
    assert svg.startswith("<svg")
    assert "vgg16 on summit, data, weak scaling" in svg


@pytest.mark.slow
def test_nothing_is_printed_where_the_picture_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    nowhere = tmp_path / "file" / "rates.svg"
    words = ("scale", "vgg16", "--system", "summit", "--devices", "6", "--plot", str(nowhere), "--json")
    shown = run(*words, code=1)
    assert not shown.stdout
    assert "rates.svg: cannot be written" in shown.stderr


def test_a_picture_of_another_format_is_refused_before_anything_runs(tmp_path: Path) -> None:
    shown = run("scale", "vgg16", "--system", "summit", "--plot", str(tmp_path / "rates.png"), code=1)
    assert "pictures are written as SVG; expected a name that ends in .svg" in shown.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_step_that_does_not_fit_is_a_row_that_says_so() -> None:
    (row,) = read("scale", "gpt3-175b", "--system", "selene", "--devices", "1")["rows"]
    assert row["fits"] is False
    assert any("the step does not fit: it needs" in warning for warning in row["warnings"])


def timed(folder: Path, text: str) -> tuple[str, ...]:
    path = folder / "steps.csv"
    path.write_text(text)
    return ("scale", "vgg16", "--system", "summit", "--batch", "8", "--timed-steps", str(path))


@pytest.mark.slow
def test_timed_steps_correct_the_others(tmp_path: Path) -> None:
    devices = ("--devices", "1", "--devices", "6", "--devices", "96")
    before = read("scale", "vgg16", "--system", "summit", "--batch", "8", *devices)["rows"]
    measured_s = 2.0 * before[1]["step_s"]["mid"]
    document = read(*timed(tmp_path, f"devices,step_s\n6,{measured_s}\n"), *devices)
    one, six, many = document["rows"]
    assert one["timed_s"] is many["timed_s"] is None
    assert six["timed_s"] == pytest.approx(measured_s)
    assert six["step_s"]["mid"] == pytest.approx(measured_s, rel=0.02)
    assert many["step_s"]["mid"] == pytest.approx(2.0 * before[2]["step_s"]["mid"], rel=0.2)
    assert any(note.startswith("given 1 timed step(s), steps are") for note in document["notes"])
    assert document["timed_steps"] == 1
    shares = [
        row["communication_exposed_s"]["mid"] / row["step_s"]["mid"] for row in (before[2], many)
    ]  # as the legend says
    assert shares[0] == pytest.approx(shares[1])


@pytest.mark.slow
def test_energy_follows_a_timed_step_and_power_does_not_as_a_note_says(tmp_path: Path) -> None:
    devices = ("--devices", "6")
    before = read("scale", "vgg16", "--system", "summit", "--batch", "8", *devices)
    measured_s = 2.0 * before["rows"][0]["step_s"]["mid"]
    after = read(*timed(tmp_path, f"devices,step_s\n6,{measured_s}\n"), *devices)
    ((then,), (now,)) = before["rows"], after["rows"]
    assert now["power_w"]["mid"] == pytest.approx(then["power_w"]["mid"])
    for row in (then, now):
        assert row["energy_j_per_step"]["mid"] == pytest.approx(row["power_w"]["mid"] * row["step_s"]["mid"])
    assert "power stays as predicted, and energy is that power over the corrected step" in " ".join(after["notes"])
    assert "power stays as predicted" not in " ".join(before["notes"])


@pytest.mark.slow
def test_timed_steps_that_contradict_each_other_are_named(tmp_path: Path) -> None:
    document = read(*timed(tmp_path, "devices,step_s\n1,0.08\n6,1.0\n"), "--devices", "1")
    assert sum(warning.endswith("foretell: check it") for warning in document["warnings"]) == 2
    assert any(
        "uncertainties explain: every interval is widened" in warning and warning.endswith("times (Birge ratio)")
        for warning in document["warnings"]
    )


@pytest.mark.slow
def test_timed_steps_that_contradict_each_other_leave_a_wide_interval(tmp_path: Path) -> None:
    agreeing, contradicting = (
        read(*timed(tmp_path, f"devices,step_s\n1,0.08\n6,{step_s}\n"), "--devices", "96")["rows"][0]["step_s"]
        for step_s in (0.09, 1.0)
    )
    assert contradicting["high"] / contradicting["low"] > 4 * agreeing["high"] / agreeing["low"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("devices,step_s\n6,80\n", "times what is predicted; step_s is in seconds, so check its unit"),
        ("devices\n6\n", "the column 'step_s' is missing; add it"),
        ("devices,step_s\n6,-1\n", "row 1: step_s is '-1'; expected a number of at least 1e-09"),
        ("devices,step_s\n6,0.1\n27649,0.1\n", "row 2: devices 27649: summit has 4608 nodes of 6"),
        ("devices,step_s,parallel\n6,0.1,zero1\n", "none of 1 rows is a step with parallel 'data'"),
        ("devices,step_s,parallel\n6,0.1,zero9\n", "row 1: parallel 'zero9' is not known"),
        ("devices,step_s,global_batch\n6,0.1,16\n", "row 1: devices 6: the batch of 16 cannot be divided"),
        (
            "devices,step_s,local_batch,global_batch\n6,0.1,8,13\n",
            "row 1: global_batch is 13, but 6 x local_batch 8 is 48",
        ),
        ("devices,step_s\n", "the file has no rows"),
    ],
)
def test_faults_of_timed_steps_are_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    shown = run(*timed(tmp_path, text), code=1)
    assert sentence in shown.stderr
    assert "steps.csv" in shown.stderr
    assert len(shown.stderr.splitlines()) == 1
