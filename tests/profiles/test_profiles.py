import math
import re
from pathlib import Path

import pytest

from estimator.core.errors import EstimatorError
from estimator.core.interval import Z
from estimator.profiles import read_profile, shipped

TABLE = "op_type,time_s\nMatMul,0.5\n"


def test_name_folder_and_path_read_the_same_profile() -> None:
    named = read_profile("p1b3")
    assert named.sha256 == read_profile("p1b3/lecture-x86.tfprof").sha256
    assert named.sha256 == read_profile(named.files[0].parent).sha256
    assert named.workload.parameters == 30_088_701


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("p1b4", "Unknown profile 'p1b4'. Did you mean p1b3"),
        ("../p1b3x", "../p1b3x: there is no such file in "),
        ("/none/p1b3", "/none/p1b3: there is no folder /none; check the path"),
        ("p1b3/amd-epyc.xplan", "profiles/p1b3. Did you mean amd-epyc.xplane?"),
        ("trace.pb", "trace.pb: there is no such file in "),
        ("v100", "'v100' is a device, not a profile"),
    ],
)
def test_an_unknown_name_is_refused(name: str, sentence: str) -> None:
    with pytest.raises(EstimatorError, match=re.escape(sentence)):
        read_profile(name)


def test_near_names_are_suggested() -> None:
    with pytest.raises(EstimatorError, match=r"Did you mean p1b3 or"):
        read_profile("p1b4")


def test_batch_comes_from_the_caller_then_provenance_then_workload(tmp_path: Path) -> None:
    (tmp_path / "dump.csv").write_text(TABLE)
    (tmp_path / "workload.yaml").write_text("name: mine\nbatch_size: 32\n")
    assert read_profile(tmp_path / "dump.csv").workload.batch_size == 32
    (tmp_path / "provenance.yaml").write_text("device: k20x\nbatch_size: 64\nwall_step: 700 ms\n")
    read = read_profile(tmp_path)
    assert (read.workload.batch_size, read.device, read.wall_step_s) == (64, "k20x", 0.7)
    assert read_profile(tmp_path, batch=8).workload.batch_size == 8
    assert read.step_spread == 0
    with (tmp_path / "provenance.yaml").open("a") as file:
        file.write("wall_step_low: 600 ms\nwall_step_high: 900 ms\n")
    assert read_profile(tmp_path).step_spread == pytest.approx(math.log(1.5) / (2 * Z))


def test_a_folder_must_hold_one_run(tmp_path: Path) -> None:
    with pytest.raises(EstimatorError, match="found none"):
        read_profile(tmp_path)
    (tmp_path / "a.csv").write_text(TABLE)
    (tmp_path / "b.csv").write_text(TABLE)
    assert read_profile(tmp_path).ops["time_spread_s"].max() == 0  # two equal ranks
    (tmp_path / "b.csv").write_text("MatMul  0B (0.00%, 0.00%), 5us (100.00%, 100.00%)\n")
    with pytest.raises(EstimatorError, match="its format differs"):
        read_profile(tmp_path)


def test_an_unknown_key_of_the_workload_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "dump.csv").write_text(TABLE)
    (tmp_path / "workload.yaml").write_text("name: mine\nbatch: 32\n")
    with pytest.raises(EstimatorError, match="Did you mean batch_size"):
        read_profile(tmp_path)


def test_files_that_are_no_dumps_are_left_out_with_a_warning(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(TABLE)
    (tmp_path / "manifest.json").write_text('{"made": "by hand"}')
    assert read_profile(tmp_path).warnings == ("manifest.json is no dump that any reader knows: left out",)


def test_tensorboards_log_folder_is_read_as_its_one_run(tmp_path: Path) -> None:
    run = tmp_path / "plugins" / "profile" / "2026_11_21"
    run.mkdir(parents=True)
    (run / "host.csv").write_text(TABLE)
    assert len(read_profile(tmp_path).ops) == 1
    (run.parent / "2026_11_22").mkdir()
    with pytest.raises(EstimatorError, match=r"expected one profiled run, found 2 .*2026_11_22"):
        read_profile(tmp_path)


def test_the_name_of_a_workload_means_its_default_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for device, op_type in (("old.csv", "Conv2D"), ("new.csv", "MatMul")):
        folder = tmp_path / "profiles" / "mine" / device
        folder.mkdir(parents=True)
        (folder / "dump.csv").write_text(TABLE.replace("MatMul", op_type))
    workload = tmp_path / "profiles" / "mine" / "workload.yaml"
    workload.write_text("title: Mine\ndefault_profile: old.csv\n")
    monkeypatch.setenv("ESTIMATOR_LIBRARY", str(tmp_path))
    assert read_profile("mine").ops["op_type"].tolist() == ["Conv2D"]
    assert read_profile("mine/new.csv").ops["op_type"].tolist() == ["MatMul"]
    assert read_profile(workload.parent).workload.name == "mine"
    assert shipped()["mine"].title == "Mine"
    assert "p1b3" in shipped()


def test_the_caller_says_how_many_steps_a_dump_covers_where_anything_ran(tmp_path: Path) -> None:
    (tmp_path / "dump.csv").write_text(TABLE)
    assert read_profile(tmp_path, steps=5).ops["time_s"].tolist() == [0.1]
    with pytest.raises(EstimatorError, match="nothing ran, so that it covers no steps, and 5 are stated"):
        read_profile("gpt2", steps=5)


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "the file is empty"), (b"\x00\x01 nothing that anyone wrote", "no reader knows this dump")],
)
def test_a_file_of_no_format_is_refused(content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "dump"
    path.write_bytes(content)
    with pytest.raises(EstimatorError, match=words):
        read_profile(path)
