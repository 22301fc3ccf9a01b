"""Advice to share the states of training within smaller groups of copies."""

from __future__ import annotations

import re
from functools import cache

import pytest

from estimator.core.notes import Note
from estimator.core.parallel import read_split
from estimator.core.types import RunPlan
from estimator.devices import load_system
from estimator.pipeline.alone import EachAlone
from estimator.pipeline.group import estimate_group
from estimator.pipeline.group_steps import step_of_group
from estimator.pipeline.smaller_groups import smaller_group_note
from estimator.profiles import read_profile
from estimator.rollup.scaling import Group, group_of

SYSTEM = load_system("selene")


@cache
def alone(batch: int = 8) -> EachAlone:
    plan = RunPlan(SYSTEM.device, network=SYSTEM.network, batch=batch, draws=0)
    return EachAlone(read_profile("gpt2"), plan)


def group(split: str, devices: int) -> Group:
    return group_of(devices, 8, "weak", 8, read_split(split))


def notes(split: str, devices: int) -> list[Note]:
    return list(smaller_group_note(alone(), group(split, devices), read_split(split)))


def step_s(split: str, devices: int) -> float:
    one, asked = alone().of(read_split(split), 8), group(split, devices)
    return float(step_of_group(one.predicted, one.device.step, asked, read_split(split)).step.total[0])


@pytest.mark.slow
def test_the_split_that_the_note_names_is_as_much_faster() -> None:
    (note,) = notes("zero3", 4096)
    named, ratio = re.findall(r"with '(.+)' a step would be (.+) times as fast", note.text)[0]
    assert (note.code, note.kind) == ("states-shared-by-many", "left-open")
    assert read_split(named).shard
    assert float(ratio) == pytest.approx(step_s("zero3", 4096) / step_s(named, 4096), rel=0.01)
    assert float(ratio) > 2
    assert note.share == pytest.approx(1 - 1 / float(ratio), rel=0.01)
    assert not notes(named, 4096), "it is the best of those tried"


@pytest.mark.slow
def test_a_group_that_is_large_itself_is_noted_too() -> None:
    (note,) = notes("zero3,shard=2048", 4096)
    assert "2048 copies share the states" in note.text


@pytest.mark.parametrize(("split", "devices"), [("zero3", 4092), ("zero3,tensor=12", 12 * 512)])
def test_groups_need_no_whole_nodes(split: str, devices: int) -> None:
    (note,) = notes(split, devices)
    named = re.findall(r"with '(.+)' a step", note.text)[0]
    assert devices % read_split(named).sharing(devices) == 0
    assert step_s(named, devices) < 0.95 * step_s(split, devices)


@pytest.mark.parametrize(
    ("split", "devices"),
    [
        ("data", 4096),  # shares nothing
        ("zero3", 1),
        ("zero3", 2),
        ("zero3", 8),  # of one node
        ("zero3", 64),  # gathers hide behind the computation
        ("zero3,context=2", 4096),  # which goes with no shard=N
        ("zero3", 4099),  # a prime number, which no smaller group divides
    ],
)
def test_there_is_no_note_where_no_smaller_group_helps(split: str, devices: int) -> None:
    assert notes(split, devices) == []


@pytest.mark.slow
def test_an_estimate_of_many_devices_has_the_note() -> None:
    actual = estimate_group(alone().profile, alone().plan, group("zero3", 4096), read_split("zero3"))
    assert [note.code for note in actual.notes].count("states-shared-by-many") == 1
