"""The messages of an XPlane dump: its planes, and the programs in them."""

import pytest

from estimator.profiles.xplane import hlo, space
from estimator.profiles.xplane.space import Line, Plane


@pytest.mark.parametrize(
    ("name", "device"),
    [
        ("/device:TPU:0", True),
        ("/device:TPU:0 SparseCore 1", False),
        ("/device:CUSTOM:Megascale Trace", False),
        ("/host:CPU", False),
    ],
)
def test_planes_of_accelerators(name: str, device: bool) -> None:
    assert Plane(name).device is device


def test_a_plugins_plane_is_an_accelerator_only_where_there_is_no_other() -> None:
    filled = [Line("Stream #1", 0, (0, 9))]
    plugin, gpu, empty = (
        Plane("/device:CUSTOM:links", filled),
        Plane("/device:GPU:0", filled),
        Plane("/device:GPU:1"),
    )
    space.set_aside([plugin, empty])
    assert plugin.device
    space.set_aside([plugin, gpu])
    assert (plugin.device, gpu.device) == (False, True)


def test_programs_are_recognised_by_the_number_that_the_plane_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """JAX 0.10 counts the entries of the plane from 1; a function compiled for two shapes makes two of one name."""
    stated = {1: {"program_id": "18"}, 2: {"program_id": "1"}, 3: {}}
    names = {1: "jit_step", 2: "jit_step", 3: "jit_other"}
    programs = {place: hlo.Program({f"dot.{place}": ()}) for place in names}
    plane = Plane(space.PROGRAMS, events={place: (place, place) for place in names})
    monkeypatch.setattr(space, "read_metadata", lambda _, __, place: space.EventMetadata("", "", stated[place]))
    monkeypatch.setattr(space, "_stat_bodies", lambda _, entry: [entry[0]])
    monkeypatch.setattr(hlo, "read_program", lambda place, _: (names[place], programs[place]))
    actual = space.programs(b"", [plane])
    assert actual == {
        "18": programs[1],
        "1": programs[2],
        "3": programs[3],
        "jit_step": hlo.NO_PROGRAM,
        "jit_other": programs[3],
    }


def test_the_lines_of_a_gpu_that_hold_each_kernel_once() -> None:
    lines = {name: Line(name, 0, (0, 9)) for name in ("Stream #1", "XLA Ops", "Steps", "thread")}
    gpu, host = Plane("/device:GPU:0", [lines[name] for name in ("Stream #1", "XLA Ops", "Steps")]), lines["thread"]
    assert space.op_lines([gpu, Plane("/host:CPU", [host])]) == [lines["Stream #1"]]
    assert space.op_lines([Plane("/device:TPU:0", gpu.lines[1:])]) == [lines["XLA Ops"]]
    empty = Plane("/device:GPU:0", [Line("Stream #1", 0, (0, 0))])
    assert space.op_lines([empty, Plane("/host:CPU", [host])]) == [host]
