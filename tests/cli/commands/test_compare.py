"""``estimator compare``: an estimate for each profile and device."""

import pytest

from tests.cli.command_line import read, run


@pytest.mark.slow
def test_each_device_has_an_estimate() -> None:
    document = read("compare", "p1b3", "--to", "v100", "--to", "a100")
    assert [estimate["target"] for estimate in document["estimates"]] == ["v100-sxm2-16gb", "a100-sxm4-80gb"]
    assert document["estimates"][0] == {**read("estimate", "p1b3", "--to", "v100"), "refused": None}


@pytest.mark.slow
def test_options_of_the_plan_reach_every_estimate() -> None:
    document = read("compare", "p1b3/amd-epyc.tfprof", "--to", "v100", "--fusion", "elementwise")
    assert document["estimates"][0]["fusion"]["ops"] > 0
    document = read("compare", "nt3", "--to", "v100", "--batch", "40", "--mode", "inference")
    assert (document["estimates"][0]["batch_size"], document["estimates"][0]["mode"]) == (40, "inference")


def test_a_device_that_cannot_run_it_is_a_row_that_says_why() -> None:
    words = ("compare", "p1b3", "--to", "tpu-v4", "--to", "v100")
    refused, estimated = read(*words)["estimates"]
    assert (refused["target"], refused["step_s"], refused["ops"]) == ("tpu-v4", None, [])
    assert refused["refused"].startswith("tpu-v4 gives no peak for fp32; ")
    assert refused.keys() == estimated.keys()
    assert estimated["step_s"]["mid"] > 0
    shown = run(*words)
    assert "refused" in next(line for line in shown.stdout.splitlines() if "tpu-v4" in line)
    assert "warning: p1b3 on tpu-v4: tpu-v4 gives no peak for fp32; " in shown.stderr


def test_where_no_device_can_run_it_the_reasons_are_the_error() -> None:
    shown = run("compare", "p1b3", "--to", "tpu-v4", "--to", "sn40l", "--json", code=1)
    assert shown.stdout == ""
    assert [line.split()[0] for line in shown.stderr.splitlines()] == ["tpu-v4", "sn40l"]


@pytest.mark.parametrize("device", ["tpu-v4", "gaudi2", "sn40l"])
def test_a_device_without_fp32_is_offered_what_the_framework_takes(device: str) -> None:
    refusal = run("estimate", "p1b3", "--to", device, code=1).stderr
    assert "; write --precision auto, or 'precision: auto' in a study, as a framework does there" in refusal
    assert read("estimate", "p1b3", "--to", device, "--precision", "auto")["precision"] == "bf16"
    assert "--precision auto" not in run("estimate", "p1b3", "--to", device, "--precision", "fp64", code=1).stderr
