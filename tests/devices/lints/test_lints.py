"""Waivers, files without a fault, and mutations of valid files."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimator.core import library, yaml_files
from estimator.core.types import DeviceSpec, SystemSpec
from estimator.devices import lints
from estimator.devices.specs import catalogue
from tests.devices.lints import mutants, test_memory, test_names, test_peaks, test_plausible, test_systems
from tests.devices.lints.files import CATALOGUE, DIE, MODULE, PER_CLOCK, SYSTEM, changed, faults, model, rules, sourced
from tests.devices.lints.mutants import MUTATIONS, Data


@pytest.mark.parametrize("data", [DIE, MODULE, SYSTEM], ids=lambda data: str(data["name"]))
def test_a_complete_valid_file_has_no_fault(data: Data) -> None:
    assert faults(data) == []


FAULTY = [*test_memory.FAULTY, *test_names.FAULTY, *test_peaks.FAULTY, *test_plausible.FAULTY, *test_systems.FAULTY]


def test_every_lint_has_a_test_and_a_line_of_help() -> None:
    assert lints.help_by_lint().keys() - {"stale-waiver", "sibling"} == {faulty[0] for faulty in FAULTY}
    assert all(line.endswith(".") for line in lints.help_by_lint().values())


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


@pytest.mark.slow
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
