"""The commands of the catalogue: devices and systems."""

from __future__ import annotations

from estimator.cli.options import Check, DeviceName, Json, SystemName


def devices(
    name: DeviceName = None,
    check: Check = False,
    json: Json = False,
) -> None:
    """The catalogue of devices."""
    from estimator.cli import show
    from estimator.core.types import DeviceSpec
    from estimator.devices import catalogue, load_device

    if check:
        show.checked("devices", *catalogue.check(DeviceSpec, name), json)
    elif name:
        show.spec(load_device(name), json)
    else:
        show.devices(catalogue.all_devices(), json)


def systems(
    name: SystemName = None,
    check: Check = False,
    json: Json = False,
) -> None:
    """The catalogue of systems."""
    from estimator.cli import show
    from estimator.core.types import SystemSpec
    from estimator.devices import catalogue, load_system

    if check:
        show.checked("systems", *catalogue.check(SystemSpec, name), json)
    elif name:
        show.spec(load_system(name), json)
    else:
        show.systems(catalogue.all_systems(), json)
