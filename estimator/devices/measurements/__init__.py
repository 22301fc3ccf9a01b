"""Measured times of a device's kernels: read, checked against its data sheet, never merged under unlike conditions."""

from estimator.devices.measurements.tables import load_measurements, read_measurements, with_measured

__all__ = ["load_measurements", "read_measurements", "with_measured"]
