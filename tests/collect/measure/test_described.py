"""Measured rows → a device file that the catalogue's own checks pass."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from estimator.collect.measure import described
from estimator.core.schema import MEASUREMENTS
from estimator.core.types import DeviceSpec
from estimator.devices import load_device
from estimator.devices.specs import catalogue

PROVENANCE: dict[str, Any] = {
    "device": {"name": "AMD EPYC", "memory": 2.0**34, "cache": 2.0**25, "units": 2, "max_clock": None},
    "cache": 2.0**25, "date": "2026-11-21", "library": "numpy 2.4.6", "threads": 2, "gpu": False, "clock": "2445 MHz",
    "processor": "AMD EPYC", "system": "Linux",
}  # fmt: skip
MIB = 2**20


def gemm(precision: str, size: int, rate: float) -> dict[str, object]:
    time = 2 * size**3 / rate
    return {"op_class": "gemm", "precision": precision, "batch": 1, "m": size, "n": size, "k": size, "time_s": time}


def stream(kernel: str, size: float, rate: float, cache: str = "cold") -> dict[str, object]:
    actual = {"op_class": "movement", "precision": "fp32", "kernel": kernel, "bytes": size, "time_s": size / rate}
    return {**actual, "cache": cache}


def rows(*some: dict[str, object]) -> pd.DataFrame:
    frame = pd.DataFrame(some)
    frame["time_low_s"], frame["time_high_s"] = 0.98 * frame["time_s"], 1.05 * frame["time_s"]
    return MEASUREMENTS.conform(frame, "rows")


TABLE = rows(
    gemm("fp32", 512, 100e9), gemm("fp32", 1024, 120e9), gemm("fp32", 2048, 110e9), gemm("fp64", 1024, 60e9),
    gemm("bf16", 1024, 2e9),
    stream("copy", 512 * MIB, 20e9), stream("add", 512 * MIB, 24e9), stream("triad", 64 * MIB, 80e9),
    stream("copy", 512 * MIB, 90e9, "warm"), {**stream("launch", 12, 1e7, "warm"), "op_class": "elementwise"},
)  # fmt: skip


def written(folder: Path, table: pd.DataFrame, **changes: object) -> DeviceSpec:
    provenance = {**PROVENANCE, **changes}
    path = folder / "mine.yaml"
    best = described.best(table, PROVENANCE["cache"])
    path.write_text(described.device_file("mine", best, provenance, "estimator measure"))
    assert catalogue.check(DeviceSpec, str(path)) == (1, [])
    return load_device(path)


def test_the_device_file_has_the_best_rates(tmp_path: Path) -> None:
    actual = written(tmp_path, TABLE)
    fp32 = actual.peak_of("fp32").vector
    assert fp32 is not None
    assert fp32.value == pytest.approx(120e9, rel=1e-3)
    assert (fp32.status, fp32.clock, fp32.relative_uncertainty) == ("measured", 2.445e9, 0.05)
    assert actual.memory_bandwidth is not None
    assert actual.memory_bandwidth.value == pytest.approx(24e9, rel=1e-3)
    assert actual.launch_latency is not None
    assert actual.launch_latency.value == pytest.approx(1.2e-6, rel=1e-3)
    assert actual.boost_clock is None
    assert actual.last_level_cache is not None
    assert actual.compute_units is not None
    assert (actual.last_level_cache.value, actual.compute_units.value) == (2.0**25, 2)
    wide = written(tmp_path, TABLE, cache=1023 * 2.0**10).last_level_cache
    assert wide is not None
    assert wide.value == 1023 * 2.0**10
    part = written(tmp_path, TABLE, cache=2.0**23).last_level_cache
    assert part is not None
    assert (part.value, part.status) == (2.0**23, "measured")
    assert "the machine names 32.00 MiB" in str(part.source)


def test_a_precision_that_a_processor_converts_has_no_peak(tmp_path: Path) -> None:
    actual = written(tmp_path, TABLE)
    assert set(actual.peak) == {"fp32", "fp64"}
    assert any("bf16" in note for note in actual.notes)


def test_narrow_formats_of_a_gpu_are_on_tensor_units(tmp_path: Path) -> None:
    table = rows(gemm("fp32", 1024, 60e12), gemm("tf32", 1024, 400e12), gemm("bf16", 1024, 800e12),
                 stream("copy", 512 * MIB, 4e12))  # fmt: skip
    machine = {"name": "GPU", "memory": 141e9, "cache": 50 * 2.0**20, "units": 132, "max_clock": 1.98e9}
    actual = written(tmp_path, table, gpu=True, device=machine, clock="1755 MHz, memory 2619 MHz")
    assert actual.peak_of("bf16").tensor is not None
    assert actual.peak_of("bf16").vector is None
    assert actual.peak_of("fp32").vector is not None
    assert actual.compute_unit == "SM"


def test_no_row_exceeds_the_measured_peak(tmp_path: Path) -> None:
    table = rows(gemm("fp32", 512, 123.44999e9), stream("copy", 512 * MIB, 20.00001e9))
    actual = written(tmp_path, table)
    assert actual.peak_of("fp32").vector is not None
    assert 123.44999e9 <= actual.peak_of("fp32").vector.value <= 123.5e9  # type: ignore[union-attr]
    assert actual.memory_bandwidth is not None
    assert actual.memory_bandwidth.value >= 20.00001e9


def test_a_gpu_without_tensor_units_has_none(tmp_path: Path) -> None:
    table = rows(gemm("fp32", 1024, 9e12), gemm("tf32", 1024, 9.1e12), gemm("fp16", 1024, 18.5e12),
                 stream("copy", 512 * MIB, 5e11))  # fmt: skip
    machine = {"name": "GPU", "memory": 16e9, "cache": 4 * 2.0**20, "units": 56, "max_clock": 1.3e9}
    actual = written(tmp_path, table, gpu=True, device=machine, clock="1300 MHz")
    assert set(actual.peak) == {"fp32", "fp16"}
    assert (actual.peak_of("fp16").tensor, actual.peak_of("fp16").vector is None) == (None, False)


def test_quantities_without_rows_are_left_open(tmp_path: Path) -> None:
    actual = written(tmp_path, rows(gemm("fp32", 64, 10e9), stream("copy", 100, 5e5)))
    assert (actual.specifications, actual.memory_bandwidth) == ("incomplete", None)
    small = written(tmp_path, rows(gemm("fp32", 64, 10e9), stream("copy", 100, 5e11), stream("add", 2e6, 9e9)))
    assert small.memory_bandwidth is not None
    assert small.memory_bandwidth.value == pytest.approx(9e9, rel=1e-3)


def test_disturbances_are_noted_in_the_device() -> None:
    notes = ["load 3.0 before the run", "1 rows hold samples alone that other processes disturbed: add warm"]
    text = described.device_file("mine", described.best(TABLE, None), PROVENANCE, "estimator measure", notes)
    assert all(note in text for note in notes)
