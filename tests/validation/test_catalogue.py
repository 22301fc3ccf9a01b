"""The shipped catalogue agrees with the collected facts; differences are explained in notes."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest

from estimator.core import units
from estimator.core.types import DeviceSpec, Sourced, SystemSpec
from estimator.devices import load_device, load_system
from estimator.devices.specs import catalogue
from estimator.devices.specs.values import sourced_values

PublicData = Callable[[str], Path]
PEAKS = {
    "fp64_vector": "peak.fp64.vector", "fp64_tensor": "peak.fp64.tensor", "fp32_vector": "peak.fp32.vector",
    "fp32_matrix": "peak.fp32.tensor", "tf32_tensor": "peak.tf32.tensor", "fp16_vector": "peak.fp16.vector",
    "fp16_tensor": "peak.fp16.tensor", "bf16_tensor": "peak.bf16.tensor", "fp8_tensor": "peak.fp8.tensor",
    "fp4_tensor": "peak.fp4.tensor",
}  # fmt: skip
NUMBERS = {
    "compute_units": "compute_units", "base_clock": "base_clock", "boost_clock": "boost_clock",
    "mem_capacity": "memory_capacity", "mem_bandwidth": "memory_bandwidth", "llc": "last_level_cache",
    "tdp": "power_limit", "link_per_direction": "link.per_direction", "link_total_bidir": "link.total",
}  # fmt: skip
SYSTEM_NUMBERS = {
    "nodes": "nodes", "accelerators_per_node": "devices_per_node", "peak_rpeak": "rpeak", "hpl_rmax": "rmax",
    "injection_bw_per_node_per_direction": "injection_bandwidth", "power": "power",
}  # fmt: skip
SI = {"count": ("1", ""), "TFLOP/s": ("FLOP/s", "TFLOP/s"), "TOP/s": ("FLOP/s", "TOP/s"), "MHz": ("Hz", "MHz"),
      "GB": ("B", "GB"), "MB": ("B", "MB"), "GB/s": ("B/s", "GB/s"), "W": ("W", "W"), "MW": ("W", "MW"),
      "PFLOP/s": ("FLOP/s", "PFLOP/s"), "PFLOP/s FP64 (HPL basis)": ("FLOP/s", "PFLOP/s")}  # fmt: skip


def facts(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def printed(fact: pd.Series) -> float:
    kind, unit = SI[fact["unit"]]
    return units.parse(f"{fact['value']} {unit}".strip(), kind)


def differences(
    spec: DeviceSpec | SystemSpec, rows: pd.DataFrame, fields: dict[str, str]
) -> Iterator[tuple[str, Sourced | None, pd.Series]]:
    """Every number that is not the printed one (GiB for GB counts as printed) or that claims more than was seen."""
    ours = dict(sourced_values(spec))
    for _, fact in rows[(rows["value"] != "") & rows["field"].isin(fields)].iterrows():
        field = fields[fact["field"]]
        value = ours.get(field) or ours.get(field.replace("vector", "tensor"))  # another path needs a note as well
        meant = [pytest.approx(printed(fact) * binary) for binary in (1, 1.024**2, 1.024**3)]
        same = value is not None and value is ours.get(field) and value.value in meant
        promoted = value is not None and value.status == "read" and fact["status"] != "read"
        if not same or promoted:
            yield fact["field"], value, fact


@pytest.mark.slow
def test_devices_agree_with_the_facts(public_data: PublicData) -> None:
    table = facts(public_data("data/catalogue/devices.csv"))
    unexplained = []
    for name, rows in table.groupby("device"):
        differing = differences(load_device(str(name)), rows, PEAKS | NUMBERS)
        unexplained += [
            f"{name}.{field}: {fact['value']}" for field, value, fact in differing if not (value and value.note)
        ]
    assert not unexplained


@pytest.mark.slow
def test_missing_hardware_paths_are_stated(public_data: PublicData) -> None:
    table = facts(public_data("data/catalogue/devices.csv"))
    lacking = table[(table["status"] == "unsupported") & table["field"].isin(PEAKS)]
    for _, fact in lacking.iterrows():
        _, precision, path = PEAKS[fact["field"]].split(".")
        rate = getattr(load_device(fact["device"]).peak_of(precision), path)
        assert rate is None or "path is" in rate.note, (fact["device"], precision)
    unknown = table[(table["status"] == "unsourced") & table["field"].isin(PEAKS)]
    for _, fact in unknown.iterrows():
        assert load_device(fact["device"]).peak_of(PEAKS[fact["field"]].split(".")[1]).supported, fact["device"]


def test_systems_agree_with_the_facts(public_data: PublicData) -> None:
    table = facts(public_data("data/catalogue/systems.csv"))
    unexplained = []
    for name, rows in table.groupby("system"):
        differing = differences(load_system(str(name)), rows, SYSTEM_NUMBERS)
        unexplained += [
            f"{name}.{field}: {fact['value']}" for field, value, fact in differing if not (value and value.note)
        ]
    assert not unexplained


def test_the_catalogue_covers_all_facts(public_data: PublicData) -> None:
    devices = facts(public_data("data/catalogue/devices.csv"))["device"].nunique()
    systems = facts(public_data("data/catalogue/systems.csv"))["system"].nunique()
    assert len(catalogue.all_devices()) >= devices >= 90
    assert len(catalogue.all_systems()) >= systems >= 27
