"""Collectives against public tables: what is read, which sizes are given, and how the others are judged."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from estimator.model.coefficients import shipped
from estimator.validation import collectives
from estimator.validation.collectives import MPI, PROBLEMS
from estimator.validation.protocol import FittedPredictor
from estimator.validation.tables import KEYS, PublishedRows
from tests.validation.public import truth, write

SIZES = [2.0**power for power in range(10, 30, 2)]
ROW = {
    "system": "lumi", "nodes": 8, "tasks_per_node": 1, "collective": "allreduce", "library": "MPICH", "algorithm": "a",
    "source": "x",
}  # fmt: skip


def gpus(device: str = "a100-sxm4-80gb") -> pd.DataFrame:
    rows = [
        {"device": device, "op": "all_reduce", "op_class": "collective", "precision": "fp16", "ranks": 8, "bytes": size,
         "time_s": 2e-5 + size / 150e9, "library": "nccl 2", "kernel": "NCCL", "data_set": "aiconfigurator-all_reduce"}
        for size in SIZES
    ]  # fmt: skip
    return truth(*rows)


def mpi(tmp_path: Path) -> PublishedRows:
    rows = [ROW | {"bytes": size, "median_us": 1e6 * (1e-5 + size / 10e9)} for size in SIZES]
    write(tmp_path, MPI, [*rows, rows[0] | {"collective": "barrier"}, rows[0] | {"system": "other"}])
    return collectives.read_rows(tmp_path)


def test_known_collectives_of_known_machines_are_read(tmp_path: Path) -> None:
    actual = mpi(tmp_path).rows
    assert len(actual) == len(SIZES)
    assert actual["operator"].unique().tolist() == ["all_reduce"]
    assert actual["ranks"].unique().tolist() == [8]
    assert actual["time_s"].iloc[0] == pytest.approx(1e-5 + 1024 / 10e9)


def test_every_row_is_judged_from_specifications_and_every_second_size_from_the_others(tmp_path: Path) -> None:
    judged = collectives.judge(
        gpus(), mpi(tmp_path), lambda train: FittedPredictor(lambda rows, own: own["x"], shipped())
    )
    assert list(judged) == list(PROBLEMS)
    assert [len(judged[name]) for name in PROBLEMS] == [len(SIZES), len(SIZES) // 2, len(SIZES) // 2]
    for rows in judged.values():
        assert set(KEYS) <= set(rows)
        assert (rows["low_s"] <= rows["ours"]).all()
    for name in ("collectives-own", "collectives-mpi"):  # both follow a line, which both methods find
        rows = judged[name]
        for method in ("ours", collectives.ALPHA_BETA):
            assert np.abs(rows[method] / rows["time_s"] - 1).max() < 0.02, (name, method)


def test_the_family_of_a_device_is_not_seen(tmp_path: Path) -> None:
    seen = []

    def method(train: pd.DataFrame) -> FittedPredictor:
        seen.append(set(train["device"]))
        return FittedPredictor(lambda rows, own: own["x"], shipped())

    collectives.judge(pd.concat([gpus(), gpus("l40s")]), mpi(tmp_path), method)
    assert {"l40s"} in seen
    assert {"a100-sxm4-80gb"} in seen
