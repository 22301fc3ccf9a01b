"""``estimator estimate``: one profile on one device, as it ran, at another batch size, in another mode."""

import shutil
from pathlib import Path

import pytest

from estimator.core import library
from tests.cli.command_line import read, run


def test_the_document_of_estimate() -> None:
    document = read("estimate", "p1b3", "--to", "v100", "--seed", "3")
    assert document["target"] == "v100-sxm2-16gb"
    assert document["source"] == "lecture-x86"
    assert document["step_s"]["low"] < document["step_s"]["mid"] < document["step_s"]["high"]
    assert document["step_s"]["covers"] == "all"
    assert document == read("estimate", "p1b3", "--to", "V100", "--seed", "3")


@pytest.mark.slow
def test_power_and_energy_of_a_step_and_neither_without_a_power_limit(tmp_path: Path) -> None:
    known = read("estimate", "p1b3", "--to", "v100")
    assert 0 < known["power_w"]["low"] < known["power_w"]["mid"] < known["power_w"]["high"] <= 300
    assert known["energy_j_per_step"]["mid"] == pytest.approx(known["power_w"]["mid"] * known["step_s"]["mid"])
    (tmp_path / "mine.yaml").write_text("name: mine\npeak: {fp32: 60 TFLOP/s}\nmemory_bandwidth: 4 TB/s\n")
    unknown = read("estimate", "p1b3", "--to", "mine.yaml", cwd=tmp_path)
    assert (unknown["power_w"], unknown["energy_j_per_step"]) == (None, None)
    assert "power" not in str(unknown["warnings"])


@pytest.mark.slow
def test_options_precision_and_fusion() -> None:
    plan = ("estimate", "p1b3/amd-epyc.tfprof", "--to", "a100-sxm4-80gb", "--precision", "bf16")
    plain, fused = read(*plan), read(*plan, "--fusion", "elementwise")
    assert plain["fusion"] == {"kind": "none", "chains": 0, "ops": 0, "saved_bytes": 0, "saved_launches": 0}
    assert fused["fusion"]["kind"] == "elementwise"
    assert fused["fusion"]["ops"] > fused["fusion"]["chains"] > 0
    assert sum(op["bytes"] or 0 for op in fused["ops"]) < sum(op["bytes"] or 0 for op in plain["ops"])
    assert fused["step_s"]["mid"] < plain["step_s"]["mid"]
    assert fused["source_step_s"] == plain["source_step_s"]
    assumptions = str(fused["assumptions"])
    assert f"a compiler fuses {fused['fusion']['ops']} element-wise ops" in assumptions
    assert "cast of weights of 29532000 elements, fp32 to bf16" in assumptions
    casts = [op for op in plain["ops"] if op["op"].startswith("cast")]
    assert {op["time_s"] for op in casts} == {0}
    assert all(op["target_time_s"] > 0 for op in casts)


def test_nothing_is_fused_where_the_dump_has_no_order() -> None:
    document = read("estimate", "p1b3", "--to", "v100", "--fusion", "elementwise")
    assert document["fusion"]["ops"] == 0
    assert "not fused" in str(document["warnings"])


def test_a_users_device_file(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("name: mine\npeak: {fp32: 60 TFLOP/s}\nmemory_bandwidth: 4 TB/s\n")
    assert read("estimate", "p1b3", "--to", "mine.yaml", cwd=tmp_path)["target"] == "mine"


def test_a_profile_in_the_current_folder_has_the_name_of_the_folder(tmp_path: Path) -> None:
    shutil.copytree(library.names("profiles", "*")["p1b3"] / "amd-epyc.xplane", tmp_path / "mine")
    (tmp_path / "mine" / "workload.yaml").unlink(missing_ok=True)
    assert read("estimate", ".", "--to", "v100", cwd=tmp_path / "mine")["workload"] == "mine"


@pytest.mark.slow
def test_options_batch_and_mode() -> None:
    plain = read("estimate", "nt3", "--to", "v100")
    assert (plain["batch_size"], plain["mode"]) == (20, "training")
    assert read("estimate", "nt3", "--to", "v100", "--batch", "20", "--mode", "training") == plain
    other = read("estimate", "nt3", "--to", "v100", "--batch", "64", "--mode", "inference")
    assert (other["batch_size"], other["mode"]) == (64, "inference")
    assert other["source_step_s"] is None
    assert other["speedup"]["mid"] is None
    assert not [op for op in other["ops"] if op["phase"] == "backward"]


def test_a_profile_of_unknown_phases_has_no_forward_pass() -> None:
    refused = run("estimate", "p1b3", "--to", "v100", "--mode", "inference", code=1)
    assert "no op is marked as of the backward pass" in refused.stderr


@pytest.mark.parametrize("command", ["sweep", "estimate"])
def test_an_impossible_batch_is_refused(command: str) -> None:
    assert "--batch" in run(command, "p1b3", "--to", "v100", "--batch", "0", code=2).stderr
    refused = run(command, "p1b3", "--to", "v100", "--batch", str(10**12), code=1).stderr
    assert "expected a whole number from 1 to 1000000000" in refused


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--host", "it is 'bad'; write profile, none, or a factor"),
        ("--input", "it is 'bad'; write carried, overlapped"),
    ],
)
def test_a_scenario_that_there_is_not_is_refused_in_one_way(option: str, words: str) -> None:
    assert words in run("estimate", "p1b3", "--to", "v100", option, "bad", code=2).stderr


@pytest.mark.slow
def test_what_a_scenario_leaves_out_takes_no_time_in_the_table() -> None:
    actual = read("estimate", "p3b2", "--to", "h100", "--host", "none")
    (op,) = [op for op in actual["ops"] if op["op_class"] == "host" and op["method"] != "proportional"]
    assert (op["time_s"] > 0, op["target_time_s"], op["method"]) == (True, 0.0, "none")


def test_layers_have_neither_a_source_nor_a_speedup() -> None:
    document = read("estimate", "gpt2", "--to", "h100", "--batch", "4")
    assert document["source"] is document["source_step_s"] is document["coverage"] is None
    assert document["speedup"]["mid"] is None
    assert document["step_s"]["low"] < document["step_s"]["mid"] < document["step_s"]["high"]
    printed = run("estimate", "gpt2", "--to", "h100").stdout
    assert "speedup" not in printed
    assert "source's step" not in printed


@pytest.mark.parametrize("command", [("compare", "gpt2", "--to", "h100"), ("memory", "gpt2", "--on", "h100")])
def test_other_commands_take_layers(command: tuple[str, ...]) -> None:
    assert "nan" not in run(*command).stdout


def test_layers_are_scaled_over_a_machine() -> None:
    document = read("scale", "gpt2", "--system", "selene", "--devices", "1", "--devices", "16")
    one, many = document["rows"]
    assert one["global_batch"] * 16 == many["global_batch"] == 128
    assert 0 < many["communication_exposed_s"]["mid"] < many["step_s"]["mid"]
    assert not any("spread evenly" in text or "sent evenly" in text for text in document["warnings"])
