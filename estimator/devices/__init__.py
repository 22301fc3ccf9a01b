"""Device and system files, measured tables → DeviceSpec, SystemSpec, MEASUREMENTS."""

from estimator.devices.catalogue import load_device, load_system, source_device
from estimator.devices.measurements import load_measurements, read_measurements

__all__ = ["load_device", "load_measurements", "load_system", "read_measurements", "source_device"]
