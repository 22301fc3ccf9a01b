"""Trainings on many devices against published rates: what is read, and how waits for the slowest are found."""

from pathlib import Path

import numpy as np
import pytest

from estimator.validation import scaling
from estimator.validation.scaling import DDL, NVIDIA, TENSORFLOW
from estimator.validation.tables import KEYS
from tests.validation.public import write

MODEL = {
    "model": "ResNet-50", "parameters": 25_557_032, "network": "10GbE with TCP/IP", "architecture": "all-reduce",
    "method": "WFBP", "gpus": 1, "nodes": 1, "iteration_ms": 250.0,
}  # fmt: skip
SEVERAL = MODEL | {"gpus": 8, "nodes": 2, "iteration_ms": 300.0}
BASE = MODEL | {"model": "BERT-Base", "parameters": 110_106_428, "iteration_ms": 300.0}
RATE = {
    "system": "DGX-1", "device": "P100", "model": "VGG16", "gpus": 1, "nodes": 1, "batch_per_gpu": 64,
    "data": "synthetic", "variable_update": "replicated (with NCCL), n/a", "images_per_s": 150.0,
}  # fmt: skip
EXAMPLE = {
    "framework": "TensorFlow", "model": "Segmentation/VNet", "variant": None, "section": "s", "device": "V100 16G",
    "system": "DGX-1", "gpus": 1, "nodes": 1, "batch_per_gpu": 8, "seq_len": None, "precision": "amp", "xla": None,
    "unit": "images/s", "column": "c", "throughput": 100.0, "grad_accum": None,
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    timed = [
        row | {"method": "BSP", "gpus": 8, "nodes": 2, "iteration_ms": row["iteration_ms"] + extra_ms}  # type: ignore[operator]
        for row, extra_ms in ((MODEL, 150.0), (BASE, 640.0))
    ]
    write(tmp_path, DDL, [MODEL, BASE, SEVERAL, *timed])
    write(tmp_path, TENSORFLOW, [RATE, RATE | {"gpus": 4, "images_per_s": 560.0}, RATE | {"gpus": 4, "device": "K80"}])
    write(
        tmp_path, NVIDIA, [EXAMPLE, EXAMPLE | {"gpus": 8, "throughput": 700.0}, EXAMPLE | {"gpus": 8, "unit": "tok/s"}]
    )
    return tmp_path


def test_rates_of_several_devices_are_read_with_that_of_one(folder: Path) -> None:
    rates = scaling.read_rates(folder)
    assert rates.rows[["gpus", "one_s", "time_s"]].to_numpy(dtype=float).tolist() == [
        [8, 0.25, 0.3], [8, 0.25, 0.4], [8, 0.3, pytest.approx(0.94)], [4, pytest.approx(64 / 150),
        pytest.approx(4 * 64 / 560)], [8, 0.08, pytest.approx(8 * 8 / 700)],
    ]  # fmt: skip
    assert rates.rows["split"].tolist() == ["data"] * 5
    assert rates.notes[0].startswith("2 of 7 published rates of several devices are left out")


@pytest.mark.slow
def test_steps_are_judged_with_nominal_networks_and_with_timed_collectives(folder: Path) -> None:
    judged = scaling.judge(scaling.read_rates(folder))
    assert {name: len(rows) for name, rows in judged.items()} == {
        "scaling": 2, "scaling-networks": 3, "scaling-networks-kit": 1,
    }  # fmt: skip
    for rows in judged.values():
        assert set(KEYS) <= set(rows)
        assert (rows["low_s"] <= rows["ours"]).all()
        assert (rows["ours"] >= rows[scaling.LINEAR]).all()
    nominal = judged["scaling-networks"].set_index("overlaps", append=True)["ours"]
    assert nominal.xs(False, level="overlaps").iloc[0] == pytest.approx(0.25 + 0.155, rel=0.1)  # 10GbE, 178 MB a GPU


def test_a_timed_collective_gives_latency_and_rate(folder: Path) -> None:
    rows = scaling.read_rates(folder).rows
    link = scaling._timed_link(rows[rows["method"] == "BSP"])
    assert link.ranks == 8
    assert link.seconds_per_byte == pytest.approx(1.45e-9, rel=0.05)


def test_the_shortest_half_ignores_a_tail() -> None:
    values = np.concatenate([np.linspace(0.03, 0.05, 60), np.linspace(0.05, 2.0, 40)])
    assert scaling._shorth(values) == pytest.approx(0.04, abs=0.005)
