"""Published steps of language models: how rows become trainings, and how these are judged."""

from pathlib import Path

import pandas as pd
import pytest

from estimator.core.parallel import Split
from estimator.model.coefficients import shipped
from estimator.profiles.layers import parameters
from estimator.validation import language_models
from estimator.validation.language_models import MEGATRON, MEGATRON_NODES, MPT
from estimator.validation.protocol import FittedPredictor
from estimator.validation.tables import KEYS, PublishedRows
from tests.validation.public import write

OF_MPT = {
    "model": "mpt-125m", "device": "a100_40gb", "checkpointing": "False", "gpus": 8, "seq_len": 2048, "micro_batch": 2,
    "global_batch": 64, "iteration_s": 0.5,
}  # fmt: skip
OF_MEGATRON = {
    "# GPUs": 8, "global batch": 16, "micro batch": 2, "hidden size": 1024, "attention heads": 16, "# layers": 4,
    "sequence length": 128, "tensor parallelism": 2, "pipeline parallelism": 2, "iteration time (ms)": 100.0,
}  # fmt: skip


@pytest.fixture
def steps(tmp_path: Path) -> PublishedRows:
    write(tmp_path, MPT, [OF_MPT, OF_MPT | {"checkpointing": "True"}])
    write(tmp_path, MEGATRON, [OF_MEGATRON, OF_MEGATRON | {"global batch": 32}])
    write(tmp_path, MEGATRON_NODES, [OF_MEGATRON | {"# GPUs": 64, "global batch": 128}])
    return language_models.read_steps(tmp_path)


def test_rows_become_trainings(steps: PublishedRows) -> None:
    plain, recomputed, divided, *_ = steps.rows["training"]
    assert (plain.device, plain.devices, plain.batch) == ("a100-sxm4-40gb", 8, 64)
    assert plain.split == Split("zero3", micro_batch=2)
    assert (plain.layers.recompute, recomputed.layers.recompute) == ("none", "full")
    assert divided.split == Split("data", 2, 2, 2)
    assert steps.rows["time_s"].tolist() == pytest.approx([0.5, 0.5, 0.1, 0.1, 0.1])


def test_the_layers_have_the_published_parameters(steps: PublishedRows) -> None:
    """125,311,488 at 2048 positions: README of mosaicml/llm-foundry, scripts/train/benchmarking."""
    assert parameters.total(steps.rows["training"][0].layers).count == 125_311_488


@pytest.mark.slow
def test_every_step_is_judged_in_its_problem(steps: PublishedRows) -> None:
    truth = pd.DataFrame({"family": ["volta"]})
    judged = language_models.judge(truth, steps, lambda train: FittedPredictor(lambda rows, own: own["x"], shipped()))
    assert {name: len(rows) for name, rows in judged.items()} == {
        "language-models": 2, "megatron": 2, "megatron-nodes": 1,
    }  # fmt: skip
    for rows in judged.values():
        assert {*KEYS, "target", "op"} <= set(rows)
        assert (rows["low_s"] < rows["ours"]).all()
        assert (rows["ours"] < rows["high_s"]).all()
        assert (rows[language_models.PLAIN] < rows["ours"]).all()
    plain, recomputed = judged["language-models"]["ours"]
    assert recomputed > plain
    small, large = judged["megatron"]["ours"]
    assert small < large < 2 * small  # twice as many micro-batches, the same bubble


@pytest.mark.slow
def test_rows_are_judged_given_others_that_were_timed(steps: PublishedRows, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language_models, "TIMED", 1)
    slow = PublishedRows(steps.rows.assign(time_s=10.0))  # far longer than predicted
    truth = pd.DataFrame({"family": ["volta"]})
    judged = language_models.judge(truth, slow, lambda train: FittedPredictor(lambda rows, own: own["x"], shipped()))
    given = judged["megatron-timed"]
    assert len(given) == len(language_models.SEEDS)  # one of two rows, for each seed
    assert given["ours"].min() > 3 * judged["megatron"]["ours"].max()
    assert (given["low_s"] < given["ours"]).all()
    assert "megatron-nodes-timed" not in judged  # its only row is timed
