"""Problems that cannot be judged are refused before the long work begins."""

from pathlib import Path
from typing import NoReturn

import pandas as pd
import pytest

from estimator.core.errors import EstimatorError
from estimator.fitting.fitted_model import fitted_side_by_side
from estimator.validation import cards, validate
from tests.validation.public import LINEAR, write

pytest.importorskip("sklearn", reason="extra 'fit' is not installed")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Products of one family, memory-bound ops of two."""
    streams = [
        {"op": op, "B": rows, "H": 8192, "time_ms": 1e-3 * rows, "kernel": "k", "device": f"Tesla {name}"}
        for op in ("add", "relu")
        for rows in (4096, 8192, 16384)
        for name in ("P4", "T4")
    ]
    write(tmp_path, "neusight/gemm.parquet", [{**LINEAR, "m": 8192, "time_ms": 9.0, "device": "Tesla P4"}])
    write(tmp_path, "neusight/vector_ops.parquet", streams)
    return tmp_path


def never(*args: object) -> NoReturn:
    raise AssertionError("this takes long, and comes too early")


def test_one_family_is_refused_before_anything_is_fitted(folder: Path) -> None:
    with pytest.raises(EstimatorError, match="rows of one device family alone, pascal-gp102; so gemm cannot be judged"):
        validate.validate(folder, never, ["gemm"])


def test_whole_models_without_their_table_are_refused_before_anything_is_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(validate, "read_truth", never)
    with pytest.raises(EstimatorError, match=r"holds no neusight/whole_model\.csv; so whole-kit cannot be judged"):
        validate.validate(folder, never, ["whole-kit"])
    (folder / "neusight" / "whole_model.csv").touch()
    with pytest.raises(EstimatorError, match=r"holds no neusight/per_op\.csv"):
        validate.validate(folder, never, ["whole-kit"])


@pytest.mark.slow
def test_possible_problems_are_judged_and_others_noted(folder: Path) -> None:
    result = validate.validate(folder, fitted_side_by_side)
    assert list(result.judged) == ["memory", "memory-kit"]
    assert "so gemm, gemm-kit, gemm-own cannot be judged" in str(result.notes)


@pytest.mark.parametrize("data_set", validate.DATA_SETS, ids=lambda data_set: data_set.module.__name__)
def test_a_data_set_lacks_its_tables_until_they_are_there(data_set: validate.DataSet, tmp_path: Path) -> None:
    first, *others = data_set.module.FILES
    assert data_set.obstacle(tmp_path) == (
        f"neither {first} nor {others[0]}" if data_set.one_suffices else f"no {first}"
    )
    for name in [first] if data_set.one_suffices else [first, *others]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert data_set.obstacle(tmp_path) == ""


def test_a_table_without_a_row_to_judge_is_refused_before_anything_is_fitted(folder: Path) -> None:
    columns = ("device", "gpus", "suite", "model", "precision", "batch_per_gpu", "throughput")
    write(folder, "scaling/lambda.csv", [dict.fromkeys(columns, "1")])
    with pytest.raises(EstimatorError, match=r"no row of scaling/lambda\.csv can be judged; check that this is the"):
        validate.validate(folder, never, ["cards"])


def test_a_problem_without_rows_is_left_out() -> None:
    judged = {"cards": pd.DataFrame({"ours": []}), "cards-layers": pd.DataFrame({"ours": [1.0]})}
    data_set = validate.DataSet(cards, never, lambda request, own: judged)
    request = validate.Request(pd.DataFrame(), list(judged), {}, None, lambda done, total: None)
    assert list(validate._judge(request, {data_set: None})) == ["cards-layers"]
