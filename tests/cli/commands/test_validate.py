"""``estimator validate``: the table that is shipped, or one judged anew on a folder of public data."""

import itertools
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from estimator.validation import scores, validate
from estimator.validation.baselines import BASELINES
from tests.cli.command_line import read, run
from tests.validation.public import LINEAR, write

pytest.importorskip("sklearn", reason="extra 'fit' is not installed")
DEVICES = {"Tesla P4": 0.3, "Tesla V100-PCIE-32GB": 0.6, "Tesla T4": 0.3}  # TFLOP/s over 10
SIZES = tuple(itertools.product((1024, 1536, 2048, 4096), repeat=3))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("public")
    rows = [
        {**LINEAR, "device": device, "m": m, "n": n, "k": k, "time_ms": 2e-10 * m * n * k / share}
        for device, share in {**DEVICES, "Unheard Of": 1.0}.items()
        for m, n, k in SIZES
    ]
    write(folder, "neusight/gemm.parquet", rows)
    return str(folder)


UNJUDGED = (  # what one table of products does not hold, and the problems that need it
    "no rows of these ops worth judging; so convolution, memory, memory-kit",
    "no neusight/whole_model.csv; so whole, whole-kit, whole-kit-75w",
    "so networks",
    "holds no scaling/nvidia_examples.csv; so layers",
    "holds no scaling/lambda.csv; so cards, cards-layers",
    "holds no collectives/aiconfigurator.csv.gz; so collectives, collectives-own, collectives-mpi",
    "holds no scaling/ddl.csv; so scaling, scaling-networks, scaling-networks-kit",
    "holds no scaling/mlperf.csv; so clusters",
    "holds no scaling/llm_foundry.csv; so language-models, megatron, megatron-nodes, language-models-timed, "
    "megatron-timed, megatron-nodes-timed",
    "holds no memory/gpumemnet_mlp.csv.gz; so peak-memory",
    "holds no power/zeus.csv; so power, energy, energy-timed",
)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``judged`` writes as CSV."""
    return tmp_path_factory.mktemp("table") / "held_out.csv"


@pytest.fixture(scope="module")
def judged(data: str, table: Path) -> Any:
    return read("validate", "--data", data, "--csv", str(table))


@pytest.mark.slow
def test_the_document_of_validate(judged: Any) -> None:
    assert judged["source"] == "data"
    assert list(judged["problems"]) == ["gemm", "gemm-kit", "gemm-own"]
    left_out, *unjudged = judged["notes"]
    assert left_out == "neusight-linear: Unheard Of: 64 rows are left out, as no device file bears this name"
    assert len(unjudged) == len(UNJUDGED)
    for note, expected in zip(unjudged, UNJUDGED, strict=True):
        assert f"{expected} cannot be judged" in note
    rows = pd.DataFrame(judged["held_out"])
    assert list(rows.columns) == scores.COLUMNS
    assert set(rows["method"]) == {"ours", *BASELINES}
    groups = rows[(rows["problem"] == "gemm") & (rows["device"] != "")]
    assert set(groups["device"]) == {"p4", "v100-pcie-32gb", "t4"}
    assert set(groups["n"]) == {len(SIZES)}


@pytest.mark.slow
def test_an_error_can_be_recomputed(judged: Any) -> None:
    rows = pd.DataFrame(judged["held_out"])
    of_p4 = rows[(rows["device"] == "p4") & (rows["method"] == "roofline") & (rows["problem"] == "gemm")].iloc[0]
    assert of_p4["median"] == pytest.approx(100 * (1 - 3.0 / 5.5), abs=0.5)  # 3 TFLOP/s measured, 5.5 on the data sheet
    assert of_p4["bias"] == -of_p4["median"]
    worst = judged["worst"]["gemm"]
    assert len(worst) == 10
    assert worst[0].keys() == {"data_set", "device", "op_class", "precision", "shape", "measured_s", "predicted_s"}


@pytest.mark.slow
def test_the_printed_tables(data: str, judged: Any) -> None:
    done = run("validate", "--data", data, "--problem", "gemm", "--quick")
    for words in (
        "ours",
        *BASELINES,
        "matrix products, specs only",
        "family turing",
        "neusight-linear on p4",
        "Worst misses",
    ):
        assert words.split()[0] in done.stdout
    assert "with the kit" not in done.stdout
    assert "\x1b" not in done.stdout
    assert "Unheard Of" in done.stderr
    overall = next(row for row in judged["held_out"] if row["method"] == "roofline" and not row["path"] + row["device"])
    assert f"{overall['median']:.1f}" in done.stdout


@pytest.mark.slow
def test_the_table_as_csv(table: Path, judged: Any) -> None:
    written = pd.read_csv(table, keep_default_na=False)
    assert list(written.columns) == scores.COLUMNS
    assert written["median"].tolist() == pytest.approx([row["median"] for row in judged["held_out"]])


@pytest.mark.slow
@pytest.mark.usefixtures("judged")
def test_a_written_table_is_read_as_the_shipped_one_is(table: Path) -> None:
    written = validate.read_held_out(table, ["gemm", "gemm-kit", "gemm-own"])
    assert written.held_out.to_dict("records") == pd.read_csv(table, keep_default_na=False).to_dict("records")
    assert not written.judged


def test_faults_of_input_are_one_sentence(tmp_path: Path, data: str) -> None:
    for words, sentence in (
        (("--data", str(tmp_path / "none")), "there is no such folder"),
        (("--data", str(tmp_path)), "holds none of the public tables"),
        (("--data", data, "--problem", "gem"), "Unknown problem 'gem'. Did you mean gemm"),
        (("--data", data, "--problem", "convolution"), "so convolution cannot be judged"),
        (("--data", data, "--problem", "whole"), "holds no neusight/whole_model.csv; so whole cannot be judged"),
        (("--data", data, "--csv", str(tmp_path / "none" / "x.csv")), "x.csv: cannot be written"),
    ):
        done = run("validate", *words, code=1)
        assert sentence in done.stderr
        assert len(done.stderr.strip().splitlines()) <= 2
    assert "--quick changes nothing without --data" in run("validate", "--quick", code=2).stderr
