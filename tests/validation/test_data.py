"""The readers of the public data sets: rows keep their meaning, or are left out with a note."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from estimator.core import physics
from estimator.core.errors import EstimatorError
from estimator.devices import load_device
from estimator.validation.data import READERS, read_truth
from tests.validation.public import DEEPBENCH, LINEAR, write

PublicData = Callable[[str], Path]
GEMM = {**DEEPBENCH, "m": 1760, "n": 128, "k": 1760, "a_t": "T", "b_t": "N"}
CONVOLUTION = {
    **DEEPBENCH, "n": 4, "c": 1, "h": 161, "w": 700, "k": 32, "r": 5, "s": 20, "stride_h": 2, "stride_w": 2,
    "pad_h": 0, "pad_w": 0, "fwd_algo": "FFT", "op": "fwd",
}  # fmt: skip
HALF = "16 bit inputs, 32 bit multiplication, 32 bit addition"


def test_a_device_that_is_not_among_the_visible_ones_is_read_alike(tmp_path: Path) -> None:
    write(tmp_path, "neusight/gemm.parquet", [{**LINEAR, "device": name} for name in ("Tesla T4", "NVIDIA L4")])
    rows, notes = read_truth(tmp_path)
    assert not notes
    assert rows["device"].tolist() == ["t4", "l4"]
    assert rows["family"].tolist() == [load_device(name).architecture for name in ("t4", "l4")]
    assert rows["time_s"].tolist() == [3e-3, 3e-3]
    assert rows["trans_b"].tolist() == ["t", "t"]


def test_a_row_without_a_device_file_is_left_out_and_counted(tmp_path: Path) -> None:
    devices = ["Tesla P4", "Unheard Of 9", "Unheard Of 9"]
    write(tmp_path, "neusight/gemm.parquet", [{**LINEAR, "device": name} for name in devices])
    rows, notes = read_truth(tmp_path)
    assert rows["device"].tolist() == ["p4"]
    assert notes == ("neusight-linear: Unheard Of 9: 2 rows are left out, as no device file bears this name",)


def test_a_row_without_a_time_is_left_out_and_counted(tmp_path: Path) -> None:
    write(tmp_path, "neusight/gemm.parquet", [{**LINEAR, "device": "Tesla P4", "time_ms": t} for t in (1.0, np.nan)])
    rows, notes = read_truth(tmp_path)
    assert len(rows) == 1
    assert "1 rows are left out" in notes[0]


def test_a_product_above_the_peak_is_left_out_and_counted(tmp_path: Path) -> None:
    write(tmp_path, "neusight/gemm.parquet", [{**LINEAR, "device": "Tesla P4", "time_ms": t} for t in (1.0, 1e-9, 1.0)])
    rows, notes = read_truth(tmp_path)
    assert rows["time_s"].tolist() == [1e-3, 1e-3]
    assert notes == (
        "neusight-linear: Tesla P4: 1 rows are left out, as they are matrix products above 1.05 x the peak",
    )  # fmt: skip


def test_a_precision_without_a_peak_is_left_out(tmp_path: Path) -> None:
    shape = {"m": 64, "n": 64, "k": 64, "time_ms": 1.0}
    rows = [{**shape, "device": name, "precision": "fp8"} for name in ("l40s", "b60")]
    write(tmp_path, "aiconfigurator/gemm_bf16.parquet", rows)
    assert load_device("arc-pro-b60").peak_of("fp8").matrix is None
    assert set(read_truth(tmp_path)[0]["device"]) == {"l40s"}


def test_fp16_operands_on_fp32_units_have_the_peak_of_fp32(tmp_path: Path) -> None:
    rows = [{**GEMM, "device": name, "precision": HALF} for name in ("NV_P100", "NV_V100")]
    write(tmp_path, "deepbench/gemm.csv", rows)
    p100, v100 = read_truth(tmp_path)[0].to_dict("records")
    pascal, volta = load_device("p100-pcie-16gb"), load_device("v100-sxm2-16gb")
    assert pascal.peak["fp32"].vector
    assert volta.peak["fp16"].tensor
    assert (p100["path"], p100["peak"]) == ("vector", pascal.peak["fp32"].vector.value)
    assert (v100["path"], v100["peak"]) == ("tensor", volta.peak["fp16"].tensor.value)
    assert (p100["precision"], p100["accumulate"], p100["trans_a"]) == ("fp16", "fp32", "t")


def test_integers_and_inference_are_not_read(tmp_path: Path) -> None:
    int8 = {**GEMM, "precision": "GEMM, Conv: Int8 multiplication, 32 bit accumulation"}
    write(tmp_path, "deepbench/gemm.csv", [GEMM, {**GEMM, "mode": "inference"}, int8])
    assert len(read_truth(tmp_path)[0]) == 1


def test_a_convolution_keeps_its_pass_and_gets_its_output(tmp_path: Path) -> None:
    write(tmp_path, "deepbench/conv.csv", [CONVOLUTION, {**CONVOLUTION, "op": "bwd_params"}])
    forward, weights = read_truth(tmp_path)[0].to_dict("records")
    assert (forward["pass"], forward["kernel"]) == ("forward", "FFT")
    assert (weights["pass"], pd.isna(weights["kernel"])) == ("grad_weights", True)
    assert (forward["conv_p"], forward["conv_q"]) == ((161 - 5) // 2 + 1, (700 - 20) // 2 + 1)
    peak = load_device("v100-sxm2-16gb").peak["fp32"].vector
    assert peak
    assert forward["ideal_s"] >= physics.conv_flop(4, 1, 32, 79, 341, 5, 20) / peak.value


def test_faults_of_a_folder_are_one_sentence(tmp_path: Path) -> None:
    def refused(sentence: str) -> None:
        with pytest.raises(EstimatorError, match=sentence) as error:
            read_truth(tmp_path / "data")
        assert len(error.value.faults) == 1

    refused("there is no such folder")
    (tmp_path / "data").mkdir()
    refused(
        "holds none of the public tables; expected deepbench/gemm.csv.*neusight/whole_model.csv and neusight/per_op"
    )
    path = write(tmp_path / "data", "neusight/gemm.parquet", [{**LINEAR, "device": "Tesla P4"}])
    path.write_text("no parquet")
    refused("cannot be read as parquet")
    path.unlink()
    write(tmp_path / "data", "deepbench/gemm.csv", [{"device": "NV_V100", "m": 1}])
    refused("gemm.csv: the column 'precision' is missing")
    write(tmp_path / "data", "deepbench/gemm.csv", []).write_text(",".join(GEMM))
    refused("no row can be judged")
    write(tmp_path / "data", "deepbench/gemm.csv", [{**GEMM, "m": "many"}])
    refused("row 1: m is 'many'; expected a whole number above 0")


@pytest.mark.slow
def test_every_public_row_is_read(public_data: PublicData) -> None:
    rows, notes = read_truth(public_data("data"))
    assert notes == (
        "deepbench-fp32: NV_1080Ti: 1 rows are left out, as they are matrix products above 1.05 x the peak",
    )
    assert set(rows["stack"]) == {reader.__name__.rpartition(".")[2] for reader in READERS}
    counts = rows.groupby("data_set").size()
    for name, data_sets in (("gemm", ("linear", "bmm")), ("vector_ops", ("vector",)), ("conv", ("conv",))):
        published = pd.read_parquet(public_data(f"data/neusight/{name}.parquet"))
        assert counts[[f"neusight-{data_set}" for data_set in data_sets]].sum() == len(published)
    of_deepbench = rows[rows["data_set"] == "deepbench-fp32"].groupby("device").size()
    assert (of_deepbench.drop("gtx-1080-ti") == 160).all()
    assert rows.loc[rows["op_class"] != "collective", "ideal_s"].gt(0).all()
    assert rows.loc[rows["op_class"] == "collective", "ideal_s"].isna().all()
    assert set(rows.loc[rows["path"] == "tensor", "device"]) == {
        "a100-sxm4-80gb", "h100-sxm5-80gb", "a40", "l40s", "rtx-pro-6000-server", "arc-pro-b60", "mi100", "mi210",
        "v100-sxm2-16gb",
    }  # fmt: skip


@pytest.mark.slow
def test_roofline_times_are_those_of_the_device_files(public_data: PublicData) -> None:
    rows = read_truth(public_data("data"))[0].query("data_set == 'aiconfigurator'")
    published = pd.read_parquet(public_data("data/aiconfigurator/gemm_bf16.parquet"))
    for name, alias in (("l40s", "l40s"), ("arc-pro-b60", "b60")):
        device, theirs = load_device(name), published[published["device"] == alias]
        assert device.peak["bf16"].tensor
        assert device.memory_bandwidth
        m, n, k = (theirs[column].to_numpy(dtype=float) for column in "mnk")
        flop, traffic = 2 * m * n * k, 2 * (m * k + k * n + m * n)
        roofline = np.maximum(flop / device.peak["bf16"].tensor.value, traffic / device.memory_bandwidth.value)
        assert np.sort(rows.loc[rows["device"] == name, "ideal_s"]) == pytest.approx(np.sort(roofline))
