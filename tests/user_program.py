"""A program of a user's own, which the type checker reads as strictly as the package."""

from pathlib import Path
from typing import assert_type

from estimator import (
    CompareResult,
    DeviceSpec,
    EstimateResult,
    EstimatorError,
    FigureOfMeritResult,
    Interval,
    Profile,
    RunPlan,
    ScaleResult,
    SystemSpec,
    compare,
    estimate,
    figure_of_merit,
    load_device,
    load_system,
    read_profile,
    scale,
    write_report,
)


def run(folder: Path) -> None:
    """Call every verb, with names and with loaded things."""
    profile = assert_type(read_profile("p1b3"), Profile)
    v100, titan = assert_type(load_device("v100"), DeviceSpec), assert_type(load_system("titan"), SystemSpec)
    result = assert_type(estimate(profile, v100, precision="fp16", host=0.5, draws=20), EstimateResult)
    assert_type(result.step_s, Interval)
    assert_type(result.step_s.low, float | None)
    assert_type(result.speedup, Interval | None)
    result.plot_parts().savefig(folder / "parts.png")
    many = assert_type(compare(["p1b3", profile], ["k20x", v100, RunPlan("h100", draws=5)]), CompareResult)
    assert len(many.estimates) == 6
    assert_type(scale(profile, titan, [1, 8], parallel="zero1", draws=20), ScaleResult)
    study = assert_type(figure_of_merit("lecture-example"), FigureOfMeritResult)
    assert_type(write_report(study, folder), list[Path])
    try:
        estimate("p1b3", "no such device")
    except EstimatorError as error:
        assert_type(error.faults, tuple[str, ...])
