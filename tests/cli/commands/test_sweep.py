"""``estimator sweep``: the document of a profile at several batch sizes."""

import pytest

from tests.cli.command_line import read


@pytest.mark.slow
def test_the_document_of_sweep() -> None:
    document = read("sweep", "p1b3", "--to", "v100", "--to", "k20x", "--batch", "8", "--batch", "800")
    assert [target["target"] for target in document["targets"]] == ["v100-sxm2-16gb", "k20x"]
    assert document["profiled_batch_size"] == 100
    for target in document["targets"]:
        assert [row["batch_size"] for row in target["batches"]] == [8, 800]
        keys = {"step_s", "samples_per_s", "epoch_s", "gain_per_doubling", "shares", "efficiency"}
        assert keys <= target["batches"][0].keys()
    assert document["notes"]
    assert document["assumptions"]
