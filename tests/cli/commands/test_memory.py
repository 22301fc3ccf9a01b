"""``estimator memory``: the keys that other programs rely on, and what an estimate says where nothing fits."""

import pytest

from tests.cli.command_line import read, run

KEYS = {
    "parameters", "gradients", "optimizer", "activations", "workspace", "reserve", "total", "capacity", "fits",
    "largest_batch",
}  # fmt: skip


def test_the_document() -> None:
    document = read("memory", "p1b2", "--on", "v100")
    assert read("memory", "p1b2", "--to", "v100") == document
    assert document.keys() >= KEYS
    parts = ("parameters", "gradients", "optimizer", "activations", "workspace", "buckets", "allocator", "reserve")
    assert sum(document[name] for name in parts) == pytest.approx(document["total"])
    assert document["total_interval"]["low"] < document["total"] < document["total_interval"]["high"]
    assert (document["fits"], document["capacity"]) == (True, 16e9)


@pytest.mark.slow
def test_the_largest_batch_fits_and_a_larger_one_does_not() -> None:
    largest = read("memory", "nt3", "--on", "k20x")["largest_batch"]
    assert read("memory", "nt3", "--on", "k20x", "--batch", str(largest))["fits"] is True
    assert read("memory", "nt3", "--on", "k20x", "--batch", str(largest + 1))["fits"] is False


def test_without_a_device_what_it_would_tell_is_null() -> None:
    document = read("memory", "p1b2")
    assert [document[name] for name in ("reserve", "capacity", "fits", "largest_batch")] == [None] * 4


@pytest.mark.slow
def test_an_estimate_that_cannot_fit_says_so_in_one_sentence() -> None:
    shown = run("estimate", "nt3", "--to", "k20x", "--batch", "200", code=1)
    assert shown.stdout == ""
    assert shown.stderr.startswith("nt3: the step needs at least ")
    assert shown.stderr.count("\n") == 1
    largest = read("memory", "nt3", "--on", "k20x")["largest_batch"]
    assert f"k20x has 5.588 GiB; a batch of {largest} would fit" in shown.stderr


@pytest.mark.slow
def test_an_estimate_that_may_not_fit_notes_it() -> None:
    assert "the step probably does not fit: it needs" in run("estimate", "nt3", "--to", "k20x", "--batch", "29").stderr


@pytest.mark.slow
def test_a_sweep_leaves_out_what_cannot_fit() -> None:
    document = read("sweep", "nt3", "--to", "k20x", "--batch", "20", "--batch", "200")
    assert [row["batch_size"] for row in document["targets"][0]["batches"]] == [20]
    assert any("left out from batch 200 on" in warning for warning in document["warnings"])


@pytest.mark.slow
def test_devices_of_one_training_hold_their_part() -> None:
    words = ("memory", "gpt2", "--on", "a100-sxm4-80gb", "--batch", "8")
    whole, owners, parts = (
        read(*words, "--parallel", split, "--devices", "16")
        for split in ("data", "zero1", "tensor=4,pipeline=4,micro=2")
    )
    assert owners["optimizer"] == pytest.approx(whole["optimizer"] / 16)
    assert owners["parameters"] == whole["parameters"]
    assert parts["parameters"] < whole["parameters"] / 8
    assert any("those of the pipeline's last stage" in note for note in parts["notes"])
    assert any("each of 16 devices, zero1" in note for note in owners["notes"])
    assert read(*words, "--parallel", "zero1")["optimizer"] == pytest.approx(whole["optimizer"] / 8)


def test_a_copy_that_the_devices_cannot_hold_is_refused() -> None:
    shown = run("memory", "gpt2", "--parallel", "tensor=4", "--devices", "6", code=1)
    assert shown.stderr.startswith("devices 6: a copy of the model takes 4 (tensor × pipeline)")
