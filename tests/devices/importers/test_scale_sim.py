from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.core.errors import EstimatorError
from estimator.devices.importers.declared import Declared
from tests.devices.importers.samples import import_text, read_text

REPORT = """LayerID, Total Cycles (incl. prefetch), Total Cycles, Stall Cycles, Overall Util %, Mapping Efficiency %, Compute Util %,
0, 1300.0, 1000.0, 0.0, 90.1, 100.0, 90.1,
1, 2300.0, 2000.0, 10.0, 80.1, 100.0, 80.1,
"""  # noqa: E501
GEMM = "Layer, M, N, K,\nfc1, 64, 128, 256,\nfc2, 64, 10, 128,\n"
CONVOLUTION = """Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,
conv1, 230, 231, 7, 5, 3, 64, 2,
conv2, 58, 58, 3, 3, 64, 64, 1,
"""


def declare(
    folder: Path, topology: str = GEMM, clock: str | None = "1 GHz", precision: str | None = "int8"
) -> Declared:
    (folder / "net.csv").write_text(topology)
    return Declared(clock=clock, precision=precision, topology=folder / "net.csv")


def test_times_of_products_from_cycles_and_clock(tmp_path: Path) -> None:
    rows = read_text(tmp_path, REPORT, declare(tmp_path))
    assert rows[["m", "n", "k"]].values.tolist() == [[64, 128, 256], [64, 10, 128]]
    assert rows["time_s"].tolist() == [1e-6, 2e-6]
    assert set(rows["precision"]) == {"int8"}
    assert set(rows["clock"]) == {"1 GHz"}
    assert set(rows["library"]) == {"SCALE-Sim (simulated)"}


def test_times_of_convolutions_from_cycles_and_clock(tmp_path: Path) -> None:
    rows = read_text(tmp_path, REPORT, declare(tmp_path, CONVOLUTION))
    names = [
        "conv_n",
        "conv_c",
        "conv_h",
        "conv_w",
        "conv_k",
        "conv_r",
        "conv_s",
        "stride_h",
        "stride_w",
        "pad_h",
        "pass",
    ]
    assert rows[names].values.tolist()[0] == [1, 3, 230, 231, 64, 7, 5, 2, 2, 0, "forward"]


@pytest.mark.parametrize(
    ("report", "topology", "clock", "precision", "words"),
    [
        (REPORT, GEMM, None, "int8", "say --clock"),
        (REPORT, GEMM, "1 GB", "int8", "--clock is '1 GB', which is a size"),
        (REPORT, GEMM, "0 Hz", "int8", "not above zero"),
        (REPORT, GEMM, "1 GHz", None, "say --precision"),
        (REPORT, GEMM, "1 GHz", "int9", "precision is 'int9'"),
        (REPORT, GEMM + "fc3, 1, 2, 3,\n", "1 GHz", "int8", "found 2 layers, expected the 3"),
        (REPORT, "Layer, X,\nfc1, 1,\nfc2, 2,\n", "1 GHz", "int8", "found no layers"),
        (REPORT.replace("1000.0", "0"), GEMM, "1 GHz", "int8", "above 0"),
        (REPORT.replace("1000.0", "many"), GEMM, "1 GHz", "int8", "time_s is 'many'"),
        (REPORT.replace("\n1,", "\none,"), GEMM, "1 GHz", "int8", "does not count from 0 to 1"),
        (REPORT.replace("\n1,", "\n2,"), GEMM, "1 GHz", "int8", "does not count from 0 to 1"),
    ],
)
def test_faults_of_a_report_are_reported(
    tmp_path: Path, report: str, topology: str, clock: str | None, precision: str | None, words: str
) -> None:
    with pytest.raises(EstimatorError) as caught:
        import_text(tmp_path, report, declare(tmp_path, topology, clock, precision))
    assert words in str(caught.value)


def test_a_report_without_topology_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EstimatorError, match="say --topology"):
        import_text(tmp_path, REPORT, Declared(clock="1 GHz", precision="int8"))


@pytest.mark.slow
@given(data=st.data())
def test_a_mutilated_report_is_read_or_refused(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    start, stop = sorted(data.draw(st.tuples(*[st.integers(0, len(REPORT))] * 2)))
    inserted = data.draw(st.text(max_size=20) | st.sampled_from(["\n", ",", "nan", "1e999", "x"]))
    folder = tmp_path_factory.mktemp("report")
    try:
        import_text(folder, REPORT[:start] + inserted + REPORT[stop:], declare(folder))
    except EstimatorError as error:
        assert error.faults
