"""Valid files of a die, its module and a machine, and the faults of changed ones."""

from pathlib import Path

from estimator.core import library, yaml_files
from estimator.core.errors import EstimatorError, Fault
from estimator.core.types import DeviceSpec, SystemSpec
from estimator.devices import lints
from estimator.devices.specs import catalogue
from tests.devices.lints import mutants
from tests.devices.lints.mutants import Data

PER_CLOCK = {  # per unit of a die with 110 units at 1.7 GHz
    "fp64": {"vector": 128, "tensor": 256}, "fp32": {"vector": 256}, "tf32": {"tensor": 512}, "bf16": {"tensor": 1024},
    "fp16": {"vector": 512, "tensor": 1024}, "fp8": {"tensor": 2048}, "int8": {"tensor": 2048}, "fp4": {"tensor": 4096},
}  # fmt: skip


def sourced(value: object, **more: object) -> Data:
    return {"value": value, "status": "read", "confidence": "high", "source": "data sheet", "note": "p. 2", **more}


def die(name: str, parts: int = 1) -> Data:
    """A rich device: the die of a module of two, or the module."""
    units = 110 * parts

    def rate(per_clock: int) -> Data:
        value = f"{units * per_clock * 1.7e9 / 1e12:.1f} TFLOP/s"
        return sourced(value, clock="1700 MHz", flop_per_clock=per_clock, accumulate="fp64", uncertainty="3 %")

    return {
        "name": name,
        "aliases": [f"Acme {name}"],
        "vendor": "Acme",
        "architecture": "acme1",
        "year": 2021,
        "peak": {
            precision: {path: rate(per_clock) for path, per_clock in paths.items()}
            for precision, paths in PER_CLOCK.items()
        }
        | {"int4": "unsupported"},
        "memory_type": "HBM2e",
        "memory_bandwidth": sourced(f"{1638.4 * parts} GB/s"),
        "memory_capacity": sourced(f"{64 * parts} GB"),
        "last_level_cache": sourced(f"{8 * parts} MB"),
        "compute_unit": "CU",
        "compute_units": sourced(units),
        "base_clock": sourced("1000 MHz"),
        "boost_clock": sourced("1700 MHz"),
        "power_limit": sourced(f"{280 * parts} W"),
        "launch_latency": sourced("5 us"),
        "link": {
            "name": "fabric",
            "per_direction": sourced(f"{200 * parts} GB/s"),
            "per_neighbour": sourced("100 GB/s"),
            "total": sourced(f"{400 * parts} GB/s"),
        },
        "pcie_generation": 4,
        "source": "data sheet",
        "notes": ["the second die is disabled in some boards"],
    }


MODULE = die("module", parts=2)
DIE = die("die") | {"part_of": {"device": "module", "parts": 2}}
SYSTEM = {
    "name": "system", "aliases": ["The System"], "site": "lab", "year": 2022, "nodes": sourced(1000),
    "node_name": "blade", "device": "die", "devices_per_node": sourced(8), "host": "CPU", "interconnect": "fabric",
    "topology": "fat tree", "injection_bandwidth": sourced("100 GB/s"), "power": sourced("4 MW"),
    "rpeak": sourced("200 PFLOP/s"), "rmax": sourced("150 PFLOP/s"), "source": "data sheet", "notes": ["a note"],
}  # fmt: skip
OTHERS = {"module": DeviceSpec.model_validate(MODULE), "die": DeviceSpec.model_validate(DIE)}
ALIASES = {"acme module": ["module"], "taken": ["other"], "module": ["module"]}


def device_of(name: str) -> DeviceSpec:
    if name not in OTHERS:
        raise EstimatorError(f"Unknown device '{name}'")
    return OTHERS[name]


Spec = type[DeviceSpec] | type[SystemSpec]
CATALOGUE = lints.Catalogue(device_of, lambda name: ALIASES.get(name.lower(), []), list)


def model(data: Data) -> Spec:
    return SystemSpec if "nodes" in data or "device" in data else DeviceSpec


def faults(
    data: Data, spec: Spec | None = None, catalogue_view: lints.Catalogue = CATALOGUE, stem: str | None = None
) -> list[Fault]:
    document = yaml_files.Document(Path(f"{stem or data['name']}.yaml"), data, {(): 1})
    if (spec or model(data)) is DeviceSpec:
        return list(catalogue.faults(DeviceSpec, document, catalogue_view))
    return list(catalogue.faults(SystemSpec, document, catalogue_view))


def rules(data: Data) -> set[str]:
    return {fault.rule for fault in faults(data)}


def changed(data: Data, *changes: tuple[str, object]) -> Data:
    for field, value in changes:
        data = mutants.put(data, tuple(field.split(".")), value)
    return data


SHIPPED_CATALOGUE = catalogue.catalogue_for_lints(DeviceSpec)


def bare(like: str, *fields: str, **more: object) -> Data:
    """A user's file with some of a shipped device's numbers, without clocks and FLOP per clock of the peaks."""
    shipped = yaml_files.read_yaml(library.names("devices", catalogue.DEVICE_FILES)[like]).data
    return {"name": "mine", **{field: shipped[field] for field in ("architecture", *fields)}, **more}


def peaks(**values: float) -> Data:
    return {precision: sourced(f"{value} TFLOP/s") for precision, value in values.items()}


# a lint, a file, what changes, words of the sentence, and a value whose waiver silences it
Faulty = tuple[str, Data, list[tuple[str, object]], str, str | None]


def check_fault(lint: str, data: Data, changes: list[tuple[str, object]], words: str, waived: str | None) -> None:
    """Check that a lint, and no other, finds the fault of a changed file, and that its own waiver alone silences it."""
    wrong = changed(data, *changes)
    all_faults = faults(wrong)
    assert {fault.rule for fault in all_faults} == {lint}
    assert any(words in fault for fault in all_faults)
    if waived:
        only_other = changed(wrong, (f"{waived}.waiver", f"{'rpeak' if lint == 'plausible' else 'plausible'}: why not"))
        assert rules(only_other) == {lint, "stale-waiver"}
        assert rules(changed(wrong, (f"{waived}.waiver", f"{lint}: the data sheet says so"))) == set()


H100 = bare("h100-sxm5-80gb", "memory_bandwidth", "memory_type", "compute_units", "boost_clock")
