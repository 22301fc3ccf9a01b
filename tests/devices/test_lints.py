"""Tests of each lint and of waivers, and mutation tests of valid files."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimator.core import library, yaml_files
from estimator.core.errors import EstimatorError, Fault
from estimator.core.types import DeviceSpec, SystemSpec
from estimator.devices import lints
from estimator.devices.specs import catalogue
from tests.conftest import make_device
from tests.devices import mutants
from tests.devices.mutants import MUTATIONS, Data

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


@pytest.mark.parametrize("data", [DIE, MODULE, SYSTEM], ids=lambda data: str(data["name"]))
def test_a_complete_valid_file_has_no_fault(data: Data) -> None:
    assert faults(data) == []


FAULTY = [  # lint, file, what changes, words of the sentence, a value whose waiver silences it
    ("missing-source", DIE, [("power_limit.source", None)], "power_limit has no source;", "power_limit"),
    ("missing-source", SYSTEM, [("power.source", None)], "power has no source;", "power"),
    ("peak-arithmetic", MODULE, [("peak.fp4.tensor.value", "3064 TFLOP/s")],
     "twice that: is it the sparse", "peak.fp4.tensor"),
    ("peak-arithmetic", MODULE, [("peak.fp4.tensor.value", "1580 TFLOP/s")],
     "so it is 1.03 x that", "peak.fp4.tensor"),
    ("peak-arithmetic", MODULE, [("peak.fp64.vector.value", "23.9 TFLOP/s")],
     "half of that: is it fp64 for", "peak.fp64.vector"),
    ("sparse-or-dense", MODULE, [("peak.bf16.tensor.value", "192 TFLOP/s"), ("peak.bf16.tensor.flop_per_clock", 512)],
     "peak.fp16.tensor is 1.99 x that of bf16; expected 1 x", "peak.bf16.tensor"),
    ("sparse-or-dense", MODULE, [("peak.fp8.tensor.note", "with sparsity")],
     "peak.fp8.tensor is said to be with sparsity", "peak.fp8.tensor"),
    ("sparse-or-dense", MODULE, [("peak.int8.tensor", sourced("1533 TOP/s"))],
     "peak.int8.tensor is 4 x that of bf16", "peak.int8.tensor"),
    ("tensor-below-vector", MODULE,
     [("peak.fp64.tensor.value", "23.9 TFLOP/s"), ("peak.fp64.tensor.flop_per_clock", 64)],
     "peak.fp64.tensor is 23.9 TFLOP/s, below peak.fp64.vector", "peak.fp64.vector"),
    ("clock-order", DIE, [("base_clock.value", "1750 MHz")],
     "base_clock is 1.750 GHz, above boost_clock with 1.7 GHz", "base_clock"),
    ("memory-type", DIE, [("memory_type", "core store")],
     "memory_type is 'core store'; expected one of GDDR3", "memory_bandwidth"),
    ("memory-type", DIE, [("memory_type", "core store")],
     "or waive memory-type on memory_bandwidth or memory_capacity", "memory_capacity"),
    ("memory-type", DIE, [("memory_type", "HBM5"), ("memory_bandwidth.value", "900 TB/s"), ("part_of", None),
                          ("power_limit", None), ("last_level_cache", None), ("link", None), ("peak", {}),
                          ("specifications", "incomplete"), ("memory_capacity.value", "15 TB")],
     "memory_bandwidth is 900 TB/s; expected 2.00 TB/s to 480 TB/s of what follows HBM4e", "memory_bandwidth"),
    ("memory-type", DIE, [("year", 2018), ("pcie_generation", 4)], "year is 2018; HBM2e came in 2019", None),
    ("memory-type", MODULE, [("memory_capacity.value", "384 GB")],
     "memory_capacity is 384 GB; expected 8.00 GB to 256 GB", "memory_capacity"),
    ("memory-type", MODULE, [("memory_capacity.value", "32 GB")],
     "memory_capacity / memory_bandwidth is 9.77 ms", "memory_bandwidth"),
    ("memory-type", MODULE, [("memory_type", "DDR5-8800 24ch"), ("memory_bandwidth.value", "1800 GB/s")],
     "DDR5-8800 24ch give 1.690 TB/s", "memory_bandwidth"),
    ("plausible", DIE, [("power_limit.value", "280 kW")], "power_limit is 280 kW; expected", "power_limit"),
    ("plausible", DIE, [("pcie_generation", 9)], "pcie_generation is 9, but there are 1, 2, 3", None),
    ("plausible", DIE, [("pcie_generation", 5), ("year", 2020)], "pcie_generation is 5, but 5 came in 2021", None),
    ("plausible", DIE, [("compute_unit", "MXU")],
     "compute_units is 110; expected up to 64 of 'MXU'", "compute_units"),
    ("plausible", DIE, [("peak.fp16.tensor.accumulate", "fp8")],
     "accumulates in fp8, which is narrower", "peak.fp16.tensor"),
    ("plausible", MODULE, [("specifications", "incomplete")], "specifications is 'incomplete', but a peak and", None),
    ("plausible", SYSTEM, [("year", 2019)], "years after the device is -2; expected -1 to 10", None),
    ("plausible", SYSTEM, [("power.value", "40 kW")], "power / devices is 5.00 W; expected 30.0 W", "power"),
    ("link-directions", MODULE, [("link.total.value", "400 GB/s")],
     "is the total of both directions written one way?", "link.total"),
    ("link-directions", MODULE, [("link.total.value", "900 GB/s")],
     "expected twice it; mend one", "link.per_direction"),
    ("link-directions", DIE, [("link.per_neighbour.value", "300 GB/s"), ("link.total", None)],
     "more than all neighbours together", "link.per_neighbour"),
    ("link-directions", DIE, [("link.slowest_neighbour", sourced("150 GB/s"))],
     "more than link.per_neighbour of 100 GB/s", "link.slowest_neighbour"),
    ("part-of-module", DIE, [("memory_capacity.value", "128 GB")], "is it the module's number?", "memory_capacity"),
    ("part-of-module", DIE, [("last_level_cache.value", "6 MB")],
     "expected 2 parts to make the module; mend one", "last_level_cache"),
    ("part-of-module", MODULE, [("part_of", {"device": "module", "parts": 2})],
     "part_of names this device itself", None),
    ("unknown-device", DIE, [("part_of.device", "modul")], "Unknown device 'modul'", None),
    ("unknown-device", SYSTEM, [("device", "dye")], "Unknown device 'dye'", None),
    ("duplicate-alias", DIE, [("aliases", ["Taken"])], "the alias 'Taken' also names other", None),
    ("duplicate-alias", DIE, [("aliases", ["module"])], "the alias 'module' also names module", None),
    ("duplicate-alias", SYSTEM, [("aliases", ["A", "a"])], "stands twice", None),
    ("rpeak", SYSTEM, [("rmax.value", "200.1 PFLOP/s"), ("rpeak.value", "200.1 PFLOP/s"), ("nodes.value", 200)],
     "rpeak is 200.1 PFLOP/s; 1600 of die lead to expect 21.8 PFLOP/s to 115 PFLOP/s", "nodes"),
]  # fmt: skip


@pytest.mark.parametrize(("lint", "data", "changes", "words", "waived"), FAULTY)
def test_each_lint_finds_its_fault(
    lint: str, data: Data, changes: list[tuple[str, object]], words: str, waived: str
) -> None:
    wrong = changed(data, *changes)
    found_faults = faults(wrong)
    assert {fault.rule for fault in found_faults} == {lint}
    assert any(words in fault for fault in found_faults)
    if waived:
        only_other = changed(wrong, (f"{waived}.waiver", f"{'rpeak' if lint == 'plausible' else 'plausible'}: why not"))
        assert rules(only_other) == {lint, "stale-waiver"}
        assert rules(changed(wrong, (f"{waived}.waiver", f"{lint}: the data sheet says so"))) == set()


def test_every_lint_has_a_test_and_a_line_of_help() -> None:
    assert lints.help_by_lint().keys() - {"stale-waiver", "rpeak", "sibling"} <= {row[0] for row in FAULTY}
    assert all(line.endswith(".") for line in lints.help_by_lint().values())


@pytest.mark.parametrize(("joined", "found"), [(8, set()), (8000, set()), (8001, {"plausible"}), (7, {"plausible"})])
def test_links_join_a_node_to_the_whole_machine(joined: int, found: set[str]) -> None:
    assert rules(SYSTEM | {"linked_devices": sourced(joined)}) == found


def test_rmax_above_rpeak_is_found() -> None:
    assert rules(changed(SYSTEM, ("rmax.value", "210 PFLOP/s"))) == {"rpeak", "plausible"}
    assert not rules(changed(SYSTEM, ("rmax.value", "210 PFLOP/s"), ("rmax.waiver", "rpeak, plausible: turbo in HPL")))


def test_a_waiver_without_a_name_silences_the_first_fault_of_its_value() -> None:
    wrong = changed(DIE, ("power_limit.value", "280 kW"), ("power_limit.source", None))
    assert [fault.rule for fault in faults(wrong)][:1] == ["missing-source"]
    assert rules(changed(wrong, ("power_limit.waiver", "it runs hot"))) == {"plausible"}
    assert rules(changed(wrong, ("power_limit.waiver", "missing-source, plausible: it runs hot"))) == set()


def test_a_waiver_that_silences_nothing_or_names_no_lint_is_found() -> None:
    (stale,) = faults(changed(DIE, ("power_limit.waiver", "plausible: it runs hot")))
    assert (stale.rule, stale) == ("stale-waiver", "die.yaml:1: the waiver of power_limit silences nothing; delete it")
    (unknown,) = faults(changed(DIE, ("power_limit.waiver", "plausibel: it runs hot")))
    assert "names 'plausibel', which is no lint. Did you mean plausible?" in unknown
    (words,) = faults(changed(DIE, ("power_limit.waiver", "the page says so: p. 2")))
    assert "silences nothing" in words


def test_peak_arithmetic_uses_the_boost_clock_and_needs_units() -> None:
    unclocked = mutants.deleted(MODULE, ("peak", "fp32", "vector", "clock"))
    free = changed(unclocked, ("peak.fp32.vector.value", "100 TFLOP/s"))
    assert rules(free) == {"peak-arithmetic"}
    assert rules(changed(free, ("boost_clock", None))) == set()
    assert rules(changed(free, ("compute_units", None), ("boost_clock", None))) == set()


def test_peaks_without_clocks_are_checked_against_each_other() -> None:
    unclocked = copy.deepcopy(MODULE)
    for paths in unclocked["peak"].values():
        for rate in paths.values() if isinstance(paths, dict) else ():
            del rate["clock"]
    unclocked |= {"boost_clock": None}
    assert rules(unclocked) == set()
    assert rules(changed(unclocked, ("peak.fp32.vector.value", "187.2 TFLOP/s"))) == {"peak-arithmetic"}


@pytest.mark.parametrize(
    ("note", "sparse"),
    [
        ("with sparsity", True),
        ("including 2:4 structured sparsity", True),
        ("headline 1979 is with sparsity", False),
        ("989 dense; 1979 with sparsity", False),
        ("halved from the figure with sparsity", False),
        (None, False),
    ],
)
def test_notes_that_state_sparsity_are_recognised(note: str | None, sparse: bool) -> None:
    assert ("sparse-or-dense" in rules(changed(MODULE, ("peak.fp8.tensor.note", note)))) is sparse


def test_swapped_and_misread_numbers_are_found() -> None:
    fp64, fp32 = DIE["peak"]["fp64"]["vector"], DIE["peak"]["fp32"]["vector"]
    assert "plausible" in rules(changed(DIE, ("peak.fp64", {"vector": fp32}), ("peak.fp32", {"vector": fp64})))
    for precision, paths in PER_CLOCK.items():
        for path in paths:
            field = f"peak.{precision}.{path}.value"
            sparse = mutants.scaled(2)(DIE, tuple(field.split(".")), DIE["peak"][precision][path]["value"])
            assert sparse
            assert "peak-arithmetic" in rules(sparse)
    for field in ("memory_bandwidth", "memory_capacity", "compute_units", "last_level_cache"):
        assert "part-of-module" in rules(changed(DIE, (f"{field}.value", MODULE[field]["value"])))
    assert rules(changed(DIE, ("link.per_direction.value", "400 GB/s"))) == {"link-directions"}
    assert "unknown-key" in rules(changed(DIE, ("peak.fp23", DIE["peak"]["fp32"])))


SHIPPED_CATALOGUE = catalogue.catalogue_for_lints(DeviceSpec)


def bare(like: str, *fields: str, **more: object) -> Data:
    """A user's file with some of a shipped device's numbers, without clocks and FLOP per clock of the peaks."""
    shipped = yaml_files.read_yaml(library.names("devices", catalogue.DEVICE_FILES)[like]).data
    return {"name": "mine", **{field: shipped[field] for field in ("architecture", *fields)}, **more}


def peaks(**values: float) -> Data:
    return {precision: sourced(f"{value} TFLOP/s") for precision, value in values.items()}


H100 = bare("h100-sxm5-80gb", "memory_bandwidth", "memory_type", "compute_units", "boost_clock")
H100_SPARSE = peaks(fp32=67, tf32=989, bf16=1979, fp16=1979, fp8=3958)
H100_DENSE = peaks(fp64=33.5, fp32=67, tf32=495, bf16=989, fp16=989, fp8=1979)
A100 = bare("a100-sxm4-80gb", "memory_bandwidth", "compute_units", "boost_clock", "architecture")
GCD = bare("mi250x-gcd", "memory_bandwidth", "memory_capacity")
ONE_WAY = {"per_direction": sourced("450 GB/s")}
NEIGHBOURS = [  # file, changes, the fields with findings
    (H100 | {"peak": H100_DENSE, "link": ONE_WAY}, {}),
    (H100 | {"peak": H100_DENSE, "link": {"per_direction": sourced("900 GB/s")}}, {"sibling": {"link.per_direction"}}),
    (H100 | {"peak": H100_SPARSE}, {rule: {f"peak.{precision}.tensor" for precision in ("tf32", "bf16", "fp16", "fp8")}
                                    for rule in ("sibling", "peak-arithmetic")}),
    (H100 | {"peak": H100_SPARSE, "compute_units": None}, {"sibling": {
        f"peak.{precision}.tensor" for precision in ("tf32", "bf16", "fp16", "fp8")}}),
    (H100 | {"peak": H100_SPARSE, "architecture": None}, {}),
    (H100 | {"peak": peaks(fp32=28.6, bf16=423), "compute_units": sourced(66), "boost_clock": sourced("1.7 GHz")}, {}),
    (A100 | {"peak": peaks(fp32=19.5, tf32=312, bf16=624), "memory_bandwidth": None, "architecture": "Ampere",
             "specifications": "incomplete"}, {
        "peak-arithmetic": {"peak.tf32.tensor", "peak.bf16.tensor"},
        "sibling": {"peak.tf32.tensor", "peak.bf16.tensor"}}),
    (GCD | {"peak": peaks(fp32=47.9, fp16=383)}, {"sibling": {"memory_bandwidth"}}),
    (GCD | {"peak": peaks(fp32=23.9, fp16=383)}, {"sibling": {"peak.fp16.tensor"}}),
    (GCD | {"peak": peaks(fp16=383)}, {"sibling": {"peak.fp16.tensor"}}),
]  # fmt: skip


@pytest.mark.parametrize(("data", "expected"), NEIGHBOURS)
def test_numbers_are_compared_with_siblings(data: Data, expected: dict[str, set[str]]) -> None:
    fields_by_lint: dict[str, set[str]] = {}
    for lint, finding in lints.findings(DeviceSpec.model_validate(data), SHIPPED_CATALOGUE):
        fields_by_lint.setdefault(lint, set()).add(finding.fields[0])
    assert {lint: fields_by_lint[lint] for lint in fields_by_lint if lint in ("sibling", "peak-arithmetic")} == expected


def test_parts_of_one_module_are_no_siblings() -> None:
    device = catalogue.load_device("mi250x")
    assert [sibling.name for sibling in SHIPPED_CATALOGUE.siblings(device)] == ["mi210"]
    assert SHIPPED_CATALOGUE.siblings(DeviceSpec.model_validate(DIE)) == []


def test_given_flop_per_clock_is_not_compared_with_siblings() -> None:
    cut = H100 | {"peak": {"bf16": sourced("148 TFLOP/s")}}
    assert "peak-arithmetic" in {fault.rule for fault in faults(cut, DeviceSpec, SHIPPED_CATALOGUE)}
    with_flop_per_clock = cut | {"peak": {"bf16": sourced("148 TFLOP/s", flop_per_clock=566)}}
    assert "peak-arithmetic" not in {fault.rule for fault in faults(with_flop_per_clock, DeviceSpec, SHIPPED_CATALOGUE)}


HONEST = [  # changes of the module that no lint may refuse
    [("peak.int8.tensor", sourced("42.6 TOP/s"))],  # 1/18 of bf16, as Blackwell Ultra
    [("peak.fp8.tensor", sourced("3064 TFLOP/s")), ("peak.int8", "unsupported"), ("peak.fp4", "unsupported")],  # 8 x
    [("memory_type", "HBM5"), ("memory_bandwidth.value", "30 TB/s"), ("memory_capacity.value", "1 TB"),
     ("last_level_cache", None), ("power_limit.value", "3.6 kW"), ("peak", {"bf16": sourced("5 PFLOP/s")}),
     ("compute_units", None), ("link", None)],
    [("memory_type", "MRDIMM-12800 16ch"), ("memory_bandwidth.value", "1638 GB/s"), ("memory_capacity.value", "4 TB"),
     ("last_level_cache", None)],
    [("memory_bandwidth.status", "measured"), ("memory_bandwidth.uncertainty", "0.05 %")],
    [("source", None)],
    [("power_limit.status", None)],
]  # fmt: skip


@pytest.mark.parametrize("changes", HONEST)
def test_new_memories_and_cut_chips_are_accepted(changes: list[tuple[str, object]]) -> None:
    assert faults(changed(MODULE, *changes)) == []


@pytest.mark.parametrize("name", ["HBM5", "GDDR8", "LPDDR6", "DDR6", "MRDIMM", "LPDDR5T"])
def test_limits_of_a_new_memory_come_from_its_family(name: str) -> None:
    assert not any("memory_type is" in fault for fault in faults(changed(MODULE, ("memory_type", name))))


def test_faults_of_form_neither_hide_nor_cause_lint_findings() -> None:
    slip = ("base_clock.value", "1750 MHz")
    for field, wrong, rule in [
        ("memory_bandwidth.value", "4 TB", "wrong-unit"), ("peak.bf16.tensor.status", "rumour", "wrong-value"),
        ("peak.bf16", "900 GB/s", "wrong-unit"), ("part_of", "module", "wrong-value"), ("pek", {}, "unknown-key"),
        ("peak", {"fp32": "1 GB/s"}, "wrong-unit"), ("name", [1], "wrong-value"), ("link.total", "x", "wrong-value"),
        ("compute_units", "12.5", "wrong-value"), ("name", "dye", "file-name"),
    ]:  # fmt: skip
        found_faults = faults(changed(DIE, slip, (field, wrong)), stem="die")
        assert [fault.rule for fault in found_faults] == [rule, "clock-order"], (field, found_faults)
    for at, written in [("nodes.value", "1000.5"), ("devices_per_node", "8 GB"), ("device", 8), ("nodes", None)]:
        found_faults = faults(changed(SYSTEM, ("rmax.value", "210 PFLOP/s"), (at, written)))
        assert [fault.rule for fault in found_faults[1:]] == ["plausible", "rpeak"], (at, found_faults)


def test_a_taper_that_no_network_has_is_found() -> None:
    """A share in per cent is no taper."""
    assert faults(changed(SYSTEM, ("taper", 4))) == []
    (fault,) = faults(changed(SYSTEM, ("taper", 100)))
    assert "taper is 100; expected 1.00 to 50.0 (the core carries a fiftieth" in fault


def test_frontier_with_modules_counted_as_dies_is_found() -> None:
    catalogue_view = catalogue.catalogue_for_lints(SystemSpec)
    frontier = yaml_files.read_yaml(library.names("devices", catalogue.SYSTEM_FILES)["frontier"]).data
    assert faults(frontier, SystemSpec, catalogue_view) == []
    eight = changed(frontier, ("device", "mi250x"), ("devices_per_node", sourced(8)))
    assert "rpeak" in {fault.rule for fault in faults(eight, SystemSpec, catalogue_view)}


def missed_mutations(
    mutation: str, data: Data, at: mutants.Path, value: object, catalogue_view: lints.Catalogue
) -> Iterator[str]:
    """Describe a mutation that neither its rules find nor the free list allows."""
    change, expected = MUTATIONS[mutation]
    wrong = change(data, at, value)
    spec = model(data)
    if wrong is None or wrong == data or mutants.free(mutation, at, spec.model_validate(data)):
        return
    found_faults = faults(wrong, spec, catalogue_view, data["name"])
    if not expected & {fault.rule for fault in found_faults}:
        yield f"{data['name']}: {mutation} {at}: {value!r} → {found_faults}"


@pytest.mark.slow
@pytest.mark.parametrize("data", [DIE, MODULE, SYSTEM], ids=lambda data: str(data["name"]))
@pytest.mark.parametrize("mutation", MUTATIONS)
def test_every_mutation_of_a_complete_file_is_found(mutation: str, data: Data) -> None:
    missed = [
        line for at, value in mutants.places(data) for line in missed_mutations(mutation, data, at, value, CATALOGUE)
    ]
    assert not missed, "\n".join(missed)


def test_every_duplicate_key_is_found(tmp_path: Path) -> None:
    path = tmp_path / "die.yaml"
    for at, _ in mutants.places(DIE):
        if isinstance(at[-1], str):
            path.write_text(mutants.with_key_twice(DIE, at))
            found_faults = list(catalogue.faults(DeviceSpec, yaml_files.read_yaml(path), CATALOGUE))
            assert [fault.rule for fault in found_faults] == ["duplicate-key"], at


SHIPPED = [
    (yaml_files.read_yaml(path).data, catalogue_view)
    for catalogue_view, pattern in (
        (catalogue.catalogue_for_lints(DeviceSpec), catalogue.DEVICE_FILES),
        (catalogue.catalogue_for_lints(SystemSpec), catalogue.SYSTEM_FILES),
    )
    for path in library.names("devices", pattern).values()
]


@pytest.mark.slow
@settings(max_examples=400)
@given(data=st.data())
def test_mutations_of_shipped_files_are_found(data: st.DataObject) -> None:
    shipped, catalogue_view = data.draw(st.sampled_from(SHIPPED), label="file")
    at, value = data.draw(st.sampled_from(list(mutants.places(shipped))), label="place")
    mutation = data.draw(st.sampled_from(list(MUTATIONS)), label="mutation")
    missed = list(missed_mutations(mutation, shipped, at, value, catalogue_view))
    assert not missed, missed[0]


@pytest.mark.slow
@settings(max_examples=400)
@given(data=st.data(), exponent=st.integers(3, 9), sign=st.sampled_from([1, -1]))
def test_a_factor_of_a_thousand_in_any_shipped_number_is_found(data: st.DataObject, exponent: int, sign: int) -> None:
    shipped, catalogue_view = data.draw(st.sampled_from(SHIPPED), label="file")
    numbers = [(at, value) for at, value in mutants.places(shipped) if mutants.number(at, value)]
    if not numbers:
        return
    at, value = data.draw(st.sampled_from(numbers), label="number")
    slipped = mutants.scaled(10.0 ** (sign * exponent))(shipped, at, value)
    assert slipped
    assert faults(slipped, model(shipped), catalogue_view), (at, value)


def test_measured_bandwidth_may_be_below_the_data_sheet() -> None:
    slow = {"value": "16 GB/s", "source": "sweep"}
    for status, expected in (("measured", set()), ("read", {"plausible"})):
        device = make_device(
            memory_bandwidth={**slow, "status": status}, peak={"fp32": "1 TFLOP/s"}, last_level_cache="128 MB"
        )
        found_faults = {lint for lint, _ in lints.findings(device, CATALOGUE) if lint == "plausible"}
        assert found_faults == expected
