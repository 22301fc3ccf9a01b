"""What ``estimator presets`` prints."""

from functools import partial

from estimator.cli.render.presets import describe, render_presets
from tests.cli.command_line import printed, read, run


def test_people_read_what_programs_get() -> None:
    shown = run("presets", "ssp", "ssi")
    assert printed(partial(render_presets, read("presets", "ssp", "ssi"))) == shown


def test_a_preset_is_described_with_its_sources() -> None:
    (preset,) = read("presets", "ssp")["presets"]
    lines = describe(preset).splitlines()
    assert lines[0] == (
        "ssp: Sustained System Performance (NERSC); ratio of geometric means of the rates, unweighted, level system"
    )
    assert lines[1].strip() == preset["equation"]
    assert lines[2].strip() == f"a unit is {preset['counts']}"
    assert lines[3].strip().startswith("read: nersc.gov/")
