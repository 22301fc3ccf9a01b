from pathlib import Path

import pandas as pd
import pytest

from estimator.collect.measure import sweep
from estimator.collect.measure.kit import csv_text
from estimator.core.errors import EstimatorError
from estimator.core.operators import LAUNCH
from estimator.core.types import RunPlan
from estimator.devices import load_device, target_warnings
from estimator.studies import shapes

TABLE = """op_class,precision,batch,m,n,k,bytes,flop
gemm,fp32,1,1760,128,1760,,
gemm,fp16,,4096,4096,4096,,
elementwise,fp32,,,,,120354804,30088701
reduction,fp32,,,,,4000000,
host,fp32,,,,,,
gemm,fp32,8,64,64,64,,
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "shapes.csv"
    path.write_text(text)
    return path


def test_rows_keep_their_order_and_get_a_time(tmp_path: Path) -> None:
    predicted, assumptions = shapes.predict_shapes(write(tmp_path, TABLE), RunPlan("v100"))
    assert any("DeepBench" in sentence for sentence in assumptions)
    assert list(predicted["op_class"]) == ["gemm", "gemm", "elementwise", "reduction", "host", "gemm"]
    methods = ["measured", "interpolated", "roofline", "roofline", "none", "roofline"]  # the last fits into the cache
    assert list(predicted["method"].fillna("none")) == methods
    assert predicted["time_s"].iloc[0] == pytest.approx(88e-6)
    assert predicted["time_s"].isna().tolist() == [False] * 4 + [True, False]
    known = predicted[predicted["time_s"].notna()]
    assert (known["low_s"] <= known["time_s"]).all()
    assert (known["time_s"] <= known["high_s"]).all()
    assert predicted["bound"].iloc[2] == "memory"


def test_products_of_a_part_are_within_its_share_of_the_boards_power_limit(tmp_path: Path) -> None:
    path = write(tmp_path, "op_class,precision,m,n,k\ngemm,fp32,8192,8192,8192\n")
    predicted, notes = shapes.predict_shapes(path, RunPlan("mi250x-gcd", draws=0))
    assert not any("gives no power_limit" in note for note in notes)
    assert predicted["time_s"].iloc[0] > 2 * 8192**3 / 0.8 / 47.9e12  # 280 W hold fp32 below 0.8 of its peak


def test_warnings_about_the_device_are_passed_on(tmp_path: Path) -> None:
    device = tmp_path / "mine.yaml"
    device.write_text("name: mine\npeak: {fp32: 10 TFLOP/s, fp16: 20 TFLOP/s}\nmemory_bandwidth: 1 GB/s\n")
    path = write(tmp_path, TABLE)
    assert target_warnings(device, load_device(device))
    assert set(target_warnings(device, load_device(device))) <= set(
        shapes.predict_shapes(path, RunPlan(str(device)))[1]
    )
    assert "module of 2 mi250x-gcd" in str(shapes.predict_shapes(path, RunPlan("mi250x"))[1])


def test_the_kit_that_measure_writes_is_predicted(tmp_path: Path) -> None:
    anchors = sweep.anchors(["fp32"])
    predicted, _ = shapes.predict_shapes(write(tmp_path, csv_text(anchors)), RunPlan("h100"))
    assert predicted["time_s"].notna().all()
    launch = predicted[predicted["kernel"] == LAUNCH].iloc[0]
    assert (launch["bound"], predicted["time_s"].min()) == ("latency", launch["time_s"])


MEASURED = """device,op_class,kernel,precision,conv_c,bytes,flop,time_s,cache
mine,elementwise,add,fp32,,39996,3333,1e-5,warm
mine,elementwise,add,fp32,,39996,3333,3e-5,cold
mine,elementwise,bias_add,fp32,1024,1048576,131072,5e-5,warm
mine,reduction,sum,fp32,,40000,10000,2e-5,warm
mine,normalization,softmax,fp32,,81920,81920,7e-5,warm
"""
SHAPES_WITH_CACHE = """op_class,kernel,precision,conv_c,bytes,flop,cache
elementwise,,fp32,,40000,,
elementwise,,fp32,,40000,,cold
elementwise,add,fp32,,40000,,warm
elementwise,bias_add,fp32,1024,1048576,,
reduction,sum,fp32,,40000,,
normalization,softmax,fp32,,81920,,
elementwise,,fp32,,40000,99999,
elementwise,volta_add,fp32,,40000,,
elementwise,,fp32,,39000,,
"""


def test_memory_bound_rows_match_measurements(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("name: mine\npeak: {fp32: 1 TFLOP/s}\nmemory_bandwidth: 10 GB/s\n")
    (tmp_path / "mine.csv").write_text(MEASURED)
    plan = RunPlan(str(tmp_path / "mine.yaml"), measurements=str(tmp_path / "mine.csv"))
    predicted, _ = shapes.predict_shapes(write(tmp_path, SHAPES_WITH_CACHE), plan)
    assert predicted["method"].eq("measured").tolist() == [True] * 8 + [False]
    assert predicted["time_s"][:8].tolist() == [1e-5, 3e-5, 1e-5, 5e-5, 2e-5, 7e-5, 1e-5, 1e-5]
    assert predicted["bytes"].tolist() == [40000] * 3 + [1048576, 40000, 81920, 40000, 40000, 39000]


def test_unknown_columns_are_noted(tmp_path: Path) -> None:
    path = write(tmp_path, "op_class,precision,m,n,k,layer,trans_A\ngemm,fp32,1,2,3,first,t\n")
    note = f"{path}: columns that are not read: layer, trans_A."
    assert shapes.read_shapes(path)[1][0].startswith(note)
    assert "Did you mean trans_a" in shapes.predict_shapes(path, RunPlan("v100"))[1][0]


def test_rows_whose_work_no_column_tells_have_a_note(tmp_path: Path) -> None:
    """Dimensions of a product do not tell the work of attention."""
    text = "op_class,precision,m,n,k,flop,bytes\nattention,fp16,64,64,64,,\nattention,fp16,8,8,8,,1e6\n"
    path = write(tmp_path, text + "attention,fp16,,,,1e10,1e8\ncollective,fp16,,,,,1e8\n")
    predicted, notes = shapes.predict_shapes(path, RunPlan("v100"))
    assert predicted["time_s"].isna().tolist() == [True, True, False, True]
    needs = "nothing is predicted, as"
    assert f"{path}: row 1 and 1 more: {needs} attention needs flop, bytes; add flop, bytes" in notes
    assert f"{path}: row 4: {needs} collective needs operator, ranks, bytes; add operator, ranks" in notes


def test_prediction_in_parts_gives_the_same_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, TABLE)
    whole, _ = shapes.predict_shapes(path, RunPlan("v100"))
    monkeypatch.setattr(shapes, "SAMPLES_AT_ONCE", 2002)
    pd.testing.assert_frame_equal(shapes.predict_shapes(path, RunPlan("v100"))[0], whole, rtol=1e-12)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (TABLE.replace("1760,128,1760", "1760,128,"), "row 1: gemm needs m, n, k; add k"),
        (TABLE.replace("120354804", ""), "row 3: elementwise needs bytes"),
        (TABLE.replace("gemm,fp32,1,", "gemm,fp99,1,"), "precision is 'fp99'"),
        (TABLE.replace("gemm,fp16", "gemm,fp8"), "shapes.csv: row 2: v100-sxm2-16gb has no hardware path for fp8"),
        ("op_class,precision,m,n,k\n", "the file has no rows"),
        ("m,n,k\n1,2,3\n", "the column 'op_class' is missing"),
    ],
)
def test_faults_of_a_table_are_reported(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(EstimatorError, match=r".") as caught:
        shapes.predict_shapes(write(tmp_path, text), RunPlan("v100"))
    assert words in str(caught.value)


def test_a_table_without_rows_is_refused_by_read_shapes(tmp_path: Path) -> None:
    with pytest.raises(EstimatorError, match="the file has no rows"):
        shapes.read_shapes(write(tmp_path, "op_class,precision,m,n,k\n"))


def test_products_measured_on_a_device_of_the_architecture_count(tmp_path: Path) -> None:
    table = write(tmp_path, "op_class,precision,m,n,k\ngemm,bf16,8192,8192,8192\n")
    (on_mi300x, _), (on_mi325x, assumptions) = (
        shapes.predict_shapes(table, RunPlan(name)) for name in ("mi300x", "mi325x")
    )
    assert list(on_mi325x["method"]) == ["scaled"]
    assert on_mi325x["low_s"].item() < on_mi300x["time_s"].item() < on_mi325x["high_s"].item()
    assert any("follow those measured on mi300x in bf16" in sentence for sentence in assumptions)
