"""The command line that other programs rely on: one JSON document, exit 0, 1 or 2, no traceback."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from estimator.core import library

STUDY = str(library.names("reports", "*")["lecture-example"] / "study.yaml")
CANDLE = str(library.names("reports", "*")["candle-fom"] / "study.yaml")


def run(
    *words: str, code: int = 0, cwd: Path | None = None, encoding: str = "utf-8", columns: int = 120
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": str(columns), "NO_COLOR": "1", "PYTHONIOENCODING": encoding}
    command = [sys.executable, "-W", "error", "-m", "estimator", *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment, check=False)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


def read(*words: str, cwd: Path | None = None) -> Any:
    return json.loads(run(*words, "--json", cwd=cwd).stdout)


@pytest.fixture(scope="module")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("shapes") / "shapes.csv"
    path.write_text("op_class,precision,batch,m,n,k\ngemm,fp32,1,1760,128,1760\ngemm,fp32,1,100,50,1\n")
    return str(path)


def test_ingest() -> None:
    found = read("ingest", "p1b3")
    assert {
        "format", "framework", "tool_version", "steps", "batch_size", "wall_step_s", "op_time_s", "busy_step_s",
        "coverage", "top", "warnings", "ops",
    } <= found.keys()  # fmt: skip
    assert [row[0] for row in found["top"]] == ["MatMul", "Assign", "Mul", "Add"]
    assert found["matrix_flop"] == pytest.approx(12.146e9, rel=1e-4)
    assert {
        "op", "op_type", "op_class", "placement", "phase", "precision", "shapes", "batch", "m", "n", "k", "calls",
        "time_s", "flop", "bytes",
    } <= found["ops"][0].keys()  # fmt: skip


def test_ingest_writes_an_op_table_that_it_reads_again(tmp_path: Path) -> None:
    run("ingest", "p1b3", "--csv", str(tmp_path / "ops.csv"))
    again = read("ingest", str(tmp_path / "ops.csv"))
    assert again["matrix_flop"] == pytest.approx(12.146e9, rel=1e-4)
    assert again["op_time_s"] == pytest.approx(0.2873, rel=1e-4)


def test_predict(shapes: str, tmp_path: Path) -> None:
    found = read("predict", shapes, "--on", "v100", "--csv", str(tmp_path / "times.csv"))
    assert [row["method"] for row in found["rows"]] == ["measured", "roofline"]
    assert found["rows"][0]["time_s"] == pytest.approx(88e-6)
    header, *rows = (tmp_path / "times.csv").read_text().splitlines()
    assert header.endswith("time_s,low_s,high_s,bound,method")
    assert len(rows) == 2


def test_predict_tells_shapes_apart_and_splits_no_word(tmp_path: Path) -> None:
    (tmp_path / "shapes.csv").write_text(
        "op_class,precision,conv_n,conv_c,conv_h,conv_w,conv_k,conv_r,conv_s,bytes\n"
        "convolution,fp32,8,64,56,56,64,3,3,\nconvolution,fp32,8,64,28,28,64,3,3,\nelementwise,fp32,,,,,,,,1000000000\n"
    )
    shown = run("predict", "shapes.csv", "--on", "H100", cwd=tmp_path, columns=80).stdout
    assert "One call on h100-sxm5-80gb" in shown
    for word in ("h 56", "h 28", "1.000 GB", "convolution", "elementwise"):
        assert word in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_a_summary_splits_no_word() -> None:
    shown = run("compare", "p1b3", "--to", "v100", columns=80).stdout
    assert "v100-sxm2-16gb" in shown
    shown = run("estimate", "p1b3", "--to", "v100", columns=80).stdout
    assert {"elementwise", "interpolated", "unmodelled"} <= set(shown.split())
    assert max(map(len, shown.splitlines())) <= 80


def test_a_profile_in_the_folder_one_is_in_has_a_name(tmp_path: Path) -> None:
    shutil.copytree(library.names("profiles", "*")["p1b3"] / "amd-epyc.xplane", tmp_path / "mine")
    (tmp_path / "mine" / "workload.yaml").unlink(missing_ok=True)
    assert read("estimate", ".", "--to", "v100", cwd=tmp_path / "mine")["workload"] == "mine"


def test_estimate() -> None:
    found = read("estimate", "p1b3", "--to", "v100", "--seed", "3")
    assert found["target"] == "v100-sxm2-16gb"
    assert found["source"] == "lecture-x86"
    assert found["step_s"]["low"] < found["step_s"]["mid"] < found["step_s"]["high"]
    assert found["step_s"]["covers"] == "all"
    assert found == read("estimate", "p1b3", "--to", "V100", "--seed", "3")


def test_estimate_in_another_precision_and_fused() -> None:
    plan = ("estimate", "p1b3/amd-epyc.tfprof", "--to", "a100-sxm4-80gb", "--precision", "bf16")
    plain, fused = read(*plan), read(*plan, "--fusion", "elementwise")
    assert plain["fusion"] == {"kind": "none", "chains": 0, "ops": 0, "saved_bytes": 0, "saved_launches": 0}
    assert fused["fusion"]["kind"] == "elementwise"
    assert fused["fusion"]["ops"] > fused["fusion"]["chains"] > 0
    assert sum(op["bytes"] or 0 for op in fused["ops"]) < sum(op["bytes"] or 0 for op in plain["ops"])
    assert fused["step_s"]["mid"] < plain["step_s"]["mid"]
    assert fused["source_step_s"] == plain["source_step_s"]
    told = str(fused["assumptions"])
    assert f"a compiler fuses {fused['fusion']['ops']} element-wise ops" in told
    assert "cast of weights of 29532000 elements, fp32 to bf16" in told
    added = [op for op in plain["ops"] if op["op"].startswith("cast")]
    assert {op["time_s"] for op in added} == {0}
    assert all(op["target_time_s"] > 0 for op in added)


def test_nothing_is_fused_where_the_dump_tells_no_order() -> None:
    found = read("estimate", "p1b3", "--to", "v100", "--fusion", "elementwise")
    assert found["fusion"]["ops"] == 0
    assert "not fused" in str(found["warnings"])


def test_estimate_on_a_device_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("name: mine\npeak: {fp32: 60 TFLOP/s}\nmemory_bandwidth: 4 TB/s\n")
    assert read("estimate", "p1b3", "--to", "mine.yaml", cwd=tmp_path)["target"] == "mine"


def test_compare() -> None:
    found = read("compare", "p1b3", "--to", "v100", "--to", "a100")
    assert [document["target"] for document in found["estimates"]] == ["v100-sxm2-16gb", "a100-sxm4-80gb"]
    found = read("compare", "p1b3/amd-epyc.tfprof", "--to", "v100", "--fusion", "elementwise")
    assert found["estimates"][0]["fusion"]["ops"] > 0
    words = ("compare", "nt3", "--to", "v100", "--batch", "40", "--mode", "inference")
    found = read(*words)
    assert (found["estimates"][0]["batch_size"], found["estimates"][0]["mode"]) == (40, "inference")
    assert "nt3, inference 40" in " ".join(run(*words, columns=200).stdout.split())


def test_fom() -> None:
    found = read("fom", STUDY)
    assert {"definition", "baseline", "threshold", "targets"} <= found.keys()
    target = found["targets"]["machine-a"]
    assert target["fom"] == {
        "low": None,
        "mid": pytest.approx(82.5973, abs=5e-5),
        "high": None,
        "level": 0.9,
        "covers": "inputs",
    }
    assert (target["dominant_unit"], target["p_threshold"], target["meets_threshold"]) == ("P1", None, True)
    unit = target["units"]["P1"]
    assert (unit["level"], unit["time_level"], unit["units_per_day"]["mid"]) == ("system", "node", 564000)


def test_report(tmp_path: Path) -> None:
    found = read("report", CANDLE, "-o", str(tmp_path))
    assert [Path(path).name for path in found["written"]] == ["report.html", "results.json"]
    assert all(Path(path).stat().st_size for path in found["written"])


def test_init_writes_files_that_run(tmp_path: Path) -> None:
    run("init", "mine", cwd=tmp_path)
    found = read("fom", "mine/study.yaml", cwd=tmp_path)
    assert found["targets"]["mine"]["fom"]["mid"] > 0
    assert (
        read("estimate", "mine/my-profile.csv", "--to", "mine/my-device.yaml", cwd=tmp_path)["workload"]
        == "my-workload"
    )
    assert "is there already" in run("init", "mine", code=1, cwd=tmp_path).stderr


@pytest.mark.parametrize(
    "words",
    [
        ("fom", STUDY),
        ("fom", CANDLE),
        ("estimate", "p1b3", "--to", "k20x"),
        ("ingest", "p1b3"),
        ("ingest", "--list"),
        ("compare", "p1b3", "--to", "v100"),
    ],
)
def test_people_get_tables(words: tuple[str, ...]) -> None:
    shown = run(*words)
    assert shown.stdout
    assert "[bold]" not in shown.stdout + shown.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("estimate", "p1b3", "--to", "V10O"), "Unknown device 'V10O'. Did you mean v100-sxm2-16gb?"),
        (("estimate", "p1b4", "--to", "v100"), "Unknown profile 'p1b4'. Did you mean p1b3 or"),
        (("estimate", "p1b3", "--to", "v100", "--precision", "fp31"), "precision 'fp31' is not known"),
        (("estimate", "p1b3", "--to", "v100", "--from", "v10O"), "Unknown device 'v10O'"),
        (("estimate", "p1b3", "--to", "v100", "--measurements", "none.csv"), "none.csv: there is no such file"),
        (("fom", "none.yaml"), "none.yaml: there is no such file"),
        (("predict", "none.csv", "--on", "v100"), "none.csv: there is no such file"),
    ],
)
def test_faults_of_the_input_are_one_sentence_and_exit_1(words: tuple[str, ...], sentence: str) -> None:
    done = run(*words, code=1)
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not done.stdout


@pytest.mark.parametrize(
    "words", [("estimate",), ("guess",), ("estimate", "p1b3", "--to"), ("ingest", "p1b3", "--batch", "0")]
)
def test_wrong_usage_is_exit_2(words: tuple[str, ...]) -> None:
    run(*words, code=2)


def test_a_study_at_fault_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(Path(STUDY).read_text() + "baseline: machine-a\n")
    done = run("report", "study.yaml", "-o", "out", code=1, cwd=tmp_path)
    assert "the key 'baseline' stands twice" in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["study.yaml"]


def test_help_has_an_example_for_every_command() -> None:
    commands = ("ingest", "devices", "systems", "predict", "estimate", "compare", "fom", "report", "init")
    listing = run("--help").stdout
    for command in commands:
        assert command in listing
        assert f"Example: estimator {command}" in run(command, "--help").stdout
    assert run("--version").stdout == "estimator 0.1.0\n"


REPORTS, READERS = {"matplotlib", "jinja2"}, {"google.protobuf", "msgspec", "python_calamine", "pint"}
FITS = {"scipy", "sklearn", "numba", "tensorflow"}


@pytest.mark.parametrize(
    ("words", "heavy"),
    [
        (["--help"], {"pandas", "numpy", "pydantic", "yaml", *REPORTS, *READERS, *FITS}),
        (["estimate", "p1b3", "--to", "v100"], {"estimator.devices.lints", *REPORTS, *READERS, *FITS}),
    ],
    ids=["help", "estimate"],
)
def test_a_command_loads_nothing_heavy_that_it_does_not_need(words: list[str], heavy: set[str]) -> None:
    code = (
        f"import sys; sys.argv = {['estimator', *words]}\n"
        "from estimator.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        f"heavy = {heavy} & set(sys.modules)\n"
        "sys.exit(f'loaded {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_request_to_end_leaves_nothing_behind() -> None:
    code = (
        "import os, signal, time\n"
        "from estimator import cli\n"
        "def app():\n"
        "    try:\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "        time.sleep(10)\n"
        "    finally:\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"  # as timeout asks twice
        "        print('tidied up')\n"
        "cli.app = app\n"
        "cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "tidied up\n"
    assert done.returncode != 0
