"""Device and system files, measured tables → DeviceSpec, SystemSpec, MEASUREMENTS (in ``measurements``)."""

from estimator.devices.specs.catalogue import doubts, load_device, load_system, source_device

__all__ = ["doubts", "load_device", "load_system", "source_device"]
