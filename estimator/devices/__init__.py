"""Device and system files, measured tables → DeviceSpec, SystemSpec, MEASUREMENTS (in ``measurements``)."""

from estimator.devices.specs.announced import announcements
from estimator.devices.specs.catalogue import load_device, load_system, source_device, system_warnings, target_warnings

__all__ = ["announcements", "load_device", "load_system", "source_device", "system_warnings", "target_warnings"]
