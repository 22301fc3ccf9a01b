"""Other batch sizes and modes on the command line."""

import pytest

from tests.cli.test_cli import read, run


def test_sweep_as_a_document() -> None:
    found = read("sweep", "p1b3", "--to", "v100", "--to", "k20x", "--batch", "8", "--batch", "800")
    assert [target["target"] for target in found["targets"]] == ["v100-sxm2-16gb", "k20x"]
    assert found["profiled_batch_size"] == 100
    for target in found["targets"]:
        assert [row["batch_size"] for row in target["batches"]] == [8, 800]
        assert {"step_s", "samples_per_s", "epoch_s", "gain_per_doubling", "shares", "efficiency"} <= target["batches"][
            0
        ].keys()
    assert found["notes"]
    assert found["assumptions"]


def test_sweep_as_a_table() -> None:
    done = run("sweep", "p1b3", "--to", "k20x", "--batch", "100", "--batch", "20000", "--batch", "80000")
    assert "100 *" in done.stdout
    assert "beyond batch 20000 throughput gains less than 10 % per doubling" in done.stdout
    assert "DAWNBench" in done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 120


@pytest.mark.parametrize("command", ["sweep", "estimate"])
def test_a_bad_batch_is_refused_in_a_sentence(command: str) -> None:
    assert "--batch" in run(command, "p1b3", "--to", "v100", "--batch", "0", code=2).stderr
    refused = run(command, "p1b3", "--to", "v100", "--batch", str(10**12), code=1).stderr
    assert "expected a whole number from 1 to 1000000000" in refused


def test_estimate_at_another_batch_and_in_another_mode() -> None:
    plain = read("estimate", "nt3", "--to", "v100")
    assert (plain["batch_size"], plain["mode"]) == (20, "training")
    again = read("estimate", "nt3", "--to", "v100", "--batch", "20", "--mode", "training")
    assert again == plain
    other = read("estimate", "nt3", "--to", "v100", "--batch", "64", "--mode", "inference")
    assert (other["batch_size"], other["mode"]) == (64, "inference")
    assert other["source_step_s"] is None
    assert other["speedup"]["mid"] is None
    assert not [op for op in other["ops"] if op["phase"] == "backward"]
    shown = run("estimate", "nt3", "--to", "v100", "--batch", "64", "--mode", "inference").stdout
    assert "inference, batch 64" in shown
    assert "speedup" not in shown


def test_a_profile_whose_phases_are_unknown_has_no_forward_pass() -> None:
    assert (
        "no op is marked as of the backward pass"
        in run("estimate", "p1b3", "--to", "v100", "--mode", "inference", code=1).stderr
    )


def test_ingest_tells_the_mode() -> None:
    assert read("ingest", "nt3")["mode"] == "training"
    assert "mode" not in run("ingest", "nt3").stdout.splitlines()[0]
