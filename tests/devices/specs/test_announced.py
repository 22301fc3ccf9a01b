"""Announced devices and systems: their numbers are wide by default, and a warning says so."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from estimator.core.types import File, Profile, RunPlan
from estimator.devices import announcements, load_device
from estimator.devices.sides import load_target
from estimator.devices.specs import announced, catalogue
from estimator.devices.specs.values import sourced_values
from estimator.pipeline.memory import memory
from estimator.pipeline.step import estimate
from tests.conftest import make_device

DEVICE = """
name: {name}
announced: {announced}
peak: {{fp32: 10 TFLOP/s, bf16: {{value: 90 TFLOP/s, uncertainty: 3 %}}}}
memory_bandwidth: 500 GB/s
memory_capacity: 32 GB
compute_units: 80
launch_latency: 1 us
link: {{per_direction: 100 GB/s}}
"""


def write(folder: Path, name: str, *, is_announced: bool) -> str:
    path = folder / f"{name}.yaml"
    path.write_text(DEVICE.format(name=name, announced=str(is_announced).lower()))
    return str(path)


def uncertainties(spec: File) -> dict[str, float | None]:
    return {field: value.relative_uncertainty for field, value in sourced_values(spec)}


def test_each_number_of_an_announcement_is_uncertain(tmp_path: Path) -> None:
    actual = uncertainties(load_device(write(tmp_path, "soon", is_announced=True)))
    wide = {"peak.fp32.vector", "memory_bandwidth", "memory_capacity", "launch_latency", "link.per_direction"}
    assert {field: actual[field] for field in wide} == dict.fromkeys(wide, announced.UNCERTAINTY)
    assert actual["peak.bf16.tensor"] == 0.03  # what the file states comes first
    assert actual["compute_units"] is None  # a count


def test_a_delivered_device_is_as_its_file_says(tmp_path: Path) -> None:
    actual = uncertainties(load_device(write(tmp_path, "here", is_announced=False)))
    assert {field for field, value in actual.items() if value} == {"peak.bf16.tensor"}


def test_the_width_is_that_of_past_announcements() -> None:
    moves = np.log([2.746 / 1.5, 22 / 13, 23.3 / 19.6, 37 / 40, 40 / 45, 1677 / 1835])
    width = np.exp(1.645 * np.sqrt(np.mean(moves**2))) - 1
    assert width == pytest.approx(announced.UNCERTAINTY, abs=0.02)


def test_its_steps_have_a_wider_interval(tmp_path: Path, p1b3: Profile) -> None:
    widths = []
    for name, is_announced in (("here", False), ("soon", True)):
        total = estimate(p1b3, RunPlan(write(tmp_path, name, is_announced=is_announced), host="none")).step.total
        low, high = np.quantile(total[1:], (0.05, 0.95))
        widths.append(np.log(high / low))
    assert widths[1] > 1.3 * widths[0]


def test_a_warning_names_each(tmp_path: Path, p1b3: Profile) -> None:
    plan = RunPlan(write(tmp_path, "soon", is_announced=True), draws=5)
    [text] = [text for text in estimate(p1b3, plan).warnings if "announced" in text]
    assert text.startswith("soon is announced: ")
    assert "soon is announced" in str(memory(p1b3, plan).notes)
    on_system = replace(plan, target="rubin", system="vera-rubin-nvl72")
    notes = [note for note in load_target(on_system).notes if note.code == "announced"]
    assert [(note.subject, note.kind) for note in notes] == [("rubin", "warning"), ("vera-rubin-nvl72", "warning")]
    assert announcements(make_device(), None) == ()


def test_what_is_shipped_as_announced() -> None:
    devices = {device.name for device in catalogue.all_devices() if device.announced}
    systems = {system.name: system for system in catalogue.all_systems() if system.announced}
    assert devices == {"rubin", "mi430x", "mi455x", "tpu-8t", "tpu-8i"}
    assert systems.keys() == {
        "vera-rubin-nvl72", "equinox", "solstice", "alice-recoque", "tpu-8t-superpod",
    }  # fmt: skip
    for spec in (*map(load_device, devices), *systems.values()):
        assert all(value.relative_uncertainty for _, value in sourced_values(spec) if value.unit != announced.COUNT)


@pytest.mark.parametrize("name", ["trainium3", "h20"])
def test_delivered_parts_say_that_they_are(name: str) -> None:
    device = load_device(name)
    assert not device.announced
    assert any("delivered" in note for note in device.notes)
