"""aiconfigurator's products and collectives."""

from pathlib import Path

import pandas as pd
import pytest

from estimator.validation import aiconfigurator
from tests.validation.public import write

COLLECTIVE = {
    "device": "h100_sxm", "library": "nccl", "version": "2.23", "collective": "all_reduce", "kernel": "NCCL",
    "dtype": "half", "gpus": 8, "bytes": 4096, "time_us": 12.5, "source": "h100_sxm/nccl",
}  # fmt: skip


def collectives(folder: Path, *rows: dict[str, object]) -> pd.DataFrame:
    """The rows that are read of a table of collectives."""
    path = folder / "aiconfigurator.csv.gz"
    pd.DataFrame([COLLECTIVE | row for row in rows]).to_csv(path, index=False, compression="gzip")
    return aiconfigurator.read(path)


def test_a_collective_is_of_its_library_or_a_custom_all_reduce(tmp_path: Path) -> None:
    rows = collectives(
        tmp_path, {}, {"library": "trtllm", "kernel": "one_shot"}, {"library": "vllm", "kernel": "eager"}
    )
    assert rows["operator"].tolist() == ["all_reduce", "custom_all_reduce"]  # eager ones time a framework's calls too
    first = rows.iloc[0]
    assert first[["precision", "ranks", "bytes", "library"]].tolist() == ["fp16", 8, 4096, "nccl 2.23"]
    assert first["time_s"] == pytest.approx(12.5e-6)
    assert rows["data_set"].tolist() == ["aiconfigurator-all_reduce", "aiconfigurator-custom_all_reduce"]


@pytest.mark.parametrize(
    ("library", "collective", "size"),
    [("oneccl", "all_gather", 8 * 4096), ("oneccl", "all_reduce", 4096), ("nccl", "all_gather", 4096)],
)
def test_bytes_are_of_the_whole_message(library: str, collective: str, size: int, tmp_path: Path) -> None:
    """oneCCL's all-gather counts those that each of eight ranks gives."""
    assert collectives(tmp_path, {"library": library, "collective": collective})["bytes"].tolist() == [size]


def test_products_are_of_warm_caches_and_weights_that_are_stored_transposed(tmp_path: Path) -> None:
    row = {"device": "b300_sxm", "precision": "bf16", "m": 8, "n": 16, "k": 32, "time_ms": 0.5}
    (product,) = aiconfigurator.read(write(tmp_path, aiconfigurator.FILES[0], [row])).to_dict("records")
    assert (product["m"], product["n"], product["k"], product["time_s"]) == (8, 16, 32, 0.5e-3)
    assert (product["op_class"], product["trans_a"], product["trans_b"], product["cache"]) == ("gemm", "n", "t", "warm")
