from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.core.errors import EstimatorError
from estimator.core.types import DeviceSpec
from estimator.devices import catalogue, load_device, load_system, source_device
from tests.conftest import make_device


def test_the_smallest_device_is_a_name_a_peak_and_a_bandwidth(tmp_path: Path) -> None:
    path = tmp_path / "vendor-b.yaml"
    path.write_text("name: vendor-b\npeak: {fp32: 60 TFLOP/s}\nmemory_bandwidth: 4 TB/s\n")
    device = load_device(path)
    fp32 = device.peak_of("fp32")
    assert fp32.vector is not None
    assert fp32.vector.value == 60e12
    assert fp32.tensor is None
    assert fp32.vector.unverified
    assert device.peak_of("bf16").matrix is None


def test_the_forms_of_a_peak() -> None:
    device = make_device(
        peak={
            "fp32": "60 TFLOP/s",
            "bf16": {"value": "900 TFLOP/s", "accumulate": "fp32", "clock": "1.8 GHz", "status": "read", "source": "x"},
            "fp16": {"vector": "120 TFLOP/s", "tensor": {"value": "900 TFLOP/s", "uncertainty": "3 %"}},
            "int8": {"value": "62 TOP/s", "path": "vector"},
            "fp8": "unsupported",
        }
    )
    bf16, fp16 = device.peak_of("bf16").matrix, device.peak_of("fp16")
    assert bf16 is not None
    assert (bf16.value, bf16.clock, bf16.accumulate, bf16.unverified) == (900e12, 1.8e9, "fp32", False)
    assert device.peak_of("bf16").vector is None
    assert fp16.matrix is fp16.tensor
    assert fp16.tensor is not None
    assert fp16.tensor.relative_uncertainty == 0.03
    assert device.peak_of("int8").vector is not None
    assert not device.peak_of("fp8").supported
    assert device.peak_of("fp64").supported  # unknown is not unsupported


def test_unknown_names_suggest_near_ones() -> None:
    with pytest.raises(EstimatorError) as caught:
        load_device("V10O")
    expected = "Unknown device 'V10O'. Did you mean v100-sxm2-16gb? 'estimator devices' lists all."
    assert str(caught.value) == expected
    with pytest.raises(EstimatorError, match=r"Unknown system 'sumit'\. Did you mean summit\?"):
        load_system("sumit")
    with pytest.raises(EstimatorError, match="no such file"):
        load_device("none/here.yaml")


def test_aliases_in_any_case() -> None:
    assert load_device("nv_v100").name == load_device("V100").name == "v100-sxm2-16gb"
    assert source_device("v100") == load_device("v100")
    assert source_device("somebody's laptop") is None
    assert source_device(None) is None


def test_a_file_must_bear_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("name: b\npeak: {fp32: 1 TFLOP/s}\nmemory_bandwidth: 1 GB/s\n")
    with pytest.raises(EstimatorError, match="name is 'b'; expected 'a'"):
        load_device(tmp_path / "a.yaml")


def test_the_check_finds_what_has_no_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "devices").mkdir()
    (tmp_path / "devices" / "a.yaml").write_text("name: a\npeak: {fp32: 1 TFLOP/s}\nmemory_bandwidth: 1 GB/s\n")
    (tmp_path / "devices" / "b.yaml").write_text("name: b\npeak: {fp32: 1 GB}\nmemory_bandwidth: 1 GB\n")
    monkeypatch.setenv("ESTIMATOR_LIBRARY", str(tmp_path))
    _, faults = catalogue.check(DeviceSpec)
    assert len(faults) == 4
    assert catalogue.check(DeviceSpec, str(tmp_path / "devices" / "b.yaml"))[0] == 1
    assert sum("has no source and no status" in fault for fault in faults) == 2


@given(st.sampled_from(["900 GB", "fast", "-1 GB/s", "0 GB/s", "1e999 GB/s", 900, [], {}]))
def test_no_wrong_bandwidth_gets_in(wrong: object) -> None:
    with pytest.raises(ValueError, match="memory_bandwidth"):
        make_device(memory_bandwidth=wrong)
