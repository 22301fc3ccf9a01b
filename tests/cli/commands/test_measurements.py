"""``estimator measurements``: what an import wrote feeds a prediction, what cannot be is refused."""

from pathlib import Path

import pytest

from tests.cli.command_line import read, run
from tests.devices.importers.samples import CONV, NVIDIA_GEMM


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    (folder / "gemm.log").write_text(NVIDIA_GEMM)
    (folder / "conv.log").write_text(CONV)
    (folder / "fast.csv").write_text("m,n,k,dtype,time_us\n5000,5000,5000,float,9\n")
    return folder


def test_import_counts_what_was_read_and_left_out(logs: Path) -> None:
    files = ("gemm.log", "conv.log")
    words = ("measurements", "import", *files, "--device", "v100", "--library", "lib 1", "-o", "out.csv")
    document = read(*words, cwd=logs)
    assert document["devices"] == ["v100-sxm2-16gb"]
    assert document["rows"] == 7
    counts = {(kind["op_class"], kind["precision"]): (kind["rows"], kind["left_out"]) for kind in document["kinds"]}
    assert counts == {("gemm", "fp32"): (2, 0), ("gemm", "fp16"): (0, 1), ("convolution", "fp32"): (5, 1)}
    assert {row["library"] for row in document["conditions"]} == {"lib 1"}
    printed = run(*words, cwd=logs).stdout
    assert "DeepBench log" in printed
    assert "wrote out.csv" in printed
    assert "left out" in printed


def test_what_was_imported_feeds_a_prediction(logs: Path) -> None:
    run("measurements", "import", "gemm.log", "--device", "v100", "-o", "mine.csv", cwd=logs)
    (logs / "shapes.csv").write_text("op_class,precision,m,n,k,trans_a,trans_b\ngemm,fp32,1760,16,1760,n,t\n")
    document = read("predict", "shapes.csv", "--on", "v100", "--measurements", "mine.csv", cwd=logs)
    assert document["rows"][0]["method"] == "measured"
    assert document["rows"][0]["time_s"] == pytest.approx(38e-6)


def test_impossible_products_are_refused_unless_asked_for(logs: Path) -> None:
    words = ("measurements", "import", "fast.csv", "--device", "v100", "-o", "fast-out.csv")
    assert "above 1.05 x the peak of v100-sxm2-16gb" in run(*words, code=1, cwd=logs).stderr
    assert not (logs / "fast-out.csv").exists()
    assert read(*words, "--keep-impossible", cwd=logs)["kinds"][0]["above_peak"] == 1


def test_show_counts_what_is_measured_of_a_device() -> None:
    document = read("measurements", "show", "v100")
    kinds = {(kind["op_class"], kind["precision"]): kind for kind in document["kinds"]}
    assert kinds["gemm", "fp16"]["rows"] == 160
    assert 0.5 < kinds["gemm", "fp16"]["best_share"] < 1
    assert kinds["convolution", "fp32"]["beats_bound"] > 0
    assert {row["accumulate"] for row in document["conditions"] if row["precision"] == "fp16"} == {"fp32"}
    assert "nothing is measured" in run("measurements", "show", "k20x").stdout


def test_a_file_that_no_reader_knows_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("hello\n")
    assert "no reader knows this file" in run("measurements", "import", "x", "-o", "y", code=1, cwd=tmp_path).stderr
    assert "Example" in run("measurements", "import", "--help").stdout
