"""Figures of results: what they draw, and that notebooks show them."""

import io
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.transforms import Bbox

from estimator.core.types import Profile, RunPlan
from estimator.pipeline.step import estimate
from estimator.profiles import read_profile
from estimator.reports import figures


def interval(mid: float, low: float | None = None, high: float | None = None) -> dict[str, Any]:
    return {"low": low, "mid": mid, "high": high}


def boxes(axes: Axes) -> list[Bbox]:
    """The bars of a picture, in its own units."""
    return [bar.get_bbox() for bar in axes.patches if isinstance(bar, Rectangle)]


def rows(counts: tuple[int, ...], rate: float = 100.0, splits: tuple[str, ...] = ("data",)) -> dict[str, Any]:
    actual = [
        {
            "parallel": split, "devices": count, "step_s": interval(0.1), "efficiency": interval(0.9, 0.5, 1.2),
            "samples_per_s": interval(rate * count, rate * count / 2, rate * count * 2),
        }
        for split in splits
        for count in counts
    ]  # fmt: skip
    return {"workload": "net", "system": "$sys", "parallel": "data", "scaling": "weak", "rows": actual}


@pytest.mark.slow
def test_bars_end_at_the_step_and_whiskers_at_its_interval(p1b3: Profile) -> None:
    actual = {name: estimate(p1b3, RunPlan(name, draws=50)) for name in ("v100", "h100")}
    (axes,) = figures.breakdown(actual).axes
    ends = [max(box.x1 for box in boxes(axes) if round((box.y0 + box.y1) / 2) == row) for row in (0, 1)]
    steps_ms = [1e3 * each.step.total[0] for each in actual.values()]
    assert ends == pytest.approx(steps_ms)
    low, high = np.asarray(axes.lines[0].get_xdata(), dtype=float)
    assert low <= steps_ms[0] <= high
    assert high / low > 1.05


def test_points_lie_below_the_roofs(p1b3: Profile) -> None:
    actual = estimate(p1b3, RunPlan("h100", precision="bf16", draws=0))
    (axes,) = figures.roofline(actual).axes
    bandwidth, peak = actual.target.memory_bandwidth, actual.target.peak_of("bf16").matrix
    assert bandwidth is not None
    assert peak is not None
    points = np.vstack([line.get_xydata() for line in axes.lines if line.get_marker() == "o"])
    assert len(points) > 5
    assert (points[:, 1] <= 1.001 * np.minimum(peak.value, points[:, 0] * bandwidth.value)).all()


@pytest.mark.slow
def test_points_of_one_size_share_their_outline_in_a_file() -> None:
    actual = estimate(read_profile("resnet50"), RunPlan("h100", draws=0))
    with io.StringIO() as file:
        figures.roofline(actual).savefig(file, format="svg")
        svg = file.getvalue()
    assert svg.count("<use") > 3 * svg.count("<path") > 0


@pytest.mark.parametrize(
    ("counts", "shown"),
    [
        ((1, 2, 8), ["8", "2", "1"]),
        ((8,), ["8"]),
        ((*(2**power for power in range(14)), 27648), ["27648", "2048", "256", "32", "4"]),
    ],
)
def test_numbers_of_devices_have_room_on_the_axis(counts: tuple[int, ...], shown: list[str]) -> None:
    for axes in figures.scaling(rows(counts)).axes:
        assert [label.get_text() for label in axes.get_xticklabels()] == shown


def test_an_efficiency_above_one_is_in_the_picture() -> None:
    """Where copies share the update, more devices may do more than their part."""
    _, shares = figures.scaling(rows((1, 2))).axes
    assert shares.get_ylim()[1] >= 120


def test_each_split_has_a_line_of_its_own_colour() -> None:
    rates, shares = figures.scaling(rows((1, 8), splits=("data", "zero3"))).axes
    legend = rates.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["data", "zero3", "at an efficiency of 100 %"]
    assert len({line.get_color() for line in shares.lines}) == len(shares.lines) == 2


def test_many_decades_of_rates_have_a_label_each() -> None:
    figure = figures.scaling(rows((1, 10_000)))
    figure.canvas.draw()
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert {"1,000", "10,000", "100,000", "1,000,000"} <= set(labels)
    assert "2,000" not in labels


@pytest.mark.parametrize("threshold", [50, None])
def test_figures_of_merit_have_their_threshold(threshold: float | None) -> None:
    targets = {"a $1 machine": {"fom": interval(40.0, 30.0, 60.0)}, "b": {"fom": None}, "c": {"fom": interval(10.0)}}
    document = {"targets": targets, "threshold": threshold, "baseline": "old", "level": "system"}
    figure = figures.merit(document)
    (axes,) = figure.axes
    assert [box.width for box in boxes(axes)] == [40, 10]
    assert [len(line.get_xdata()) for line in axes.lines] == [2] * (1 + (threshold is not None))  # type: ignore[arg-type]
    assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]


def test_no_machine_has_a_figure() -> None:
    document = {"targets": {"b": {"fom": None}}, "threshold": None, "baseline": "old", "level": "system"}
    assert figures.merit(document).axes[0].patches[:] == []
