"""Figures of the report: each function returns a matplotlib Figure and saves nothing."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from itertools import cycle, groupby
from operator import itemgetter
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from estimator.core import physics
from estimator.core.interval import summarise
from estimator.core.types import DeviceSpec, Estimate, Floats, Sourced

PART_COLOURS = {  # part of a step -> colour (Okabe & Ito, safe for colour-blind readers)
    "compute": "#0072B2",
    "memory": "#E69F00",
    "latency": "#CC79A7",
    "communication_exposed": "#56B4E9",
    "input": "#009E73",
    "host": "#999999",
    "unmodelled": "#D55E00",
}
MARKERS = {"gemm": "o", "convolution": "D"}
SWAPPED = {"low": "high", "mid": "mid", "high": "low"}  # ends of an interval and of its reciprocal
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MOST_TICKS = 5
LONGEST_OPS = 200  # of each estimate in a page; results.json has all


class Picture(Figure):
    """A figure that notebooks show, although pyplot does not manage it."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=110)
        return buffer.getvalue()


def breakdown(estimates: Mapping[str, Estimate]) -> Figure:
    """Stacked bars: the parts of one step's time on each target, and the interval of the whole [ms]."""
    figure = Picture(figsize=(7.2, 0.9 + 0.42 * len(estimates)), layout="constrained")
    axes = figure.add_subplot()
    left = np.zeros(len(estimates))
    for part, colour in PART_COLOURS.items():
        width = np.array([1e3 * estimate.step.parts()[part][0] for estimate in estimates.values()])
        if width.any():
            axes.barh(list(estimates), width, left=left, color=colour, label=part.replace("_", " "), height=0.62)
            left += width
    _whiskers(axes, list(estimates), [vars(summarise(1e3 * each.step.total)) for each in estimates.values()])
    _list_bars(axes)
    axes.set_xlabel("one step per device [ms]")
    figure.legend(loc="outside upper left", ncols=len(PART_COLOURS), frameon=False, fontsize="small")
    return figure


def roofline(estimate: Estimate) -> Figure:
    """The LONGEST_OPS of one estimate under its target's roofs: predicted rate [FLOP/s] over intensity [FLOP/B]."""
    figure = Picture(figsize=(7.2, 3.9), layout="constrained")
    axes = figure.add_subplot()
    ops = estimate.prediction.ops
    shown = ops[(ops["flop"] > 0) & (ops["bytes"] > 0) & (ops["target_time_s"] > 0)]
    shown = shown.loc[shown["target_time_s"].nlargest(LONGEST_OPS).index.sort_values()]
    intensity = shown["intensity"].to_numpy(dtype=float)
    low, high = (intensity.min() / 4, intensity.max() * 4) if len(shown) else (0.1, 1000.0)
    _roofs(axes, estimate.target, estimate.precision, min(low, 0.05), max(high, 1000.0))
    for matrix, label in ((True, "matrix products"), (False, "other ops")):
        group = shown[shown["op_class"].isin(MARKERS) == matrix]
        time = group["target_time_s"].to_numpy(dtype=float)
        size = 12 + 220 * time / max(float(estimate.prediction.samples[0].sum()), 1e-30)
        rate = group["flop"].to_numpy(dtype=float) / np.where(time > 0, time, 1)
        colour = PART_COLOURS["compute"] if matrix else PART_COLOURS["memory"]
        _points(axes, group["intensity"].to_numpy(dtype=float), rate, size, colour, label)
    axes.set(xscale="log", yscale="log", xlabel="intensity [FLOP/B]", ylabel="rate [FLOP/s]")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(_power_of_ten)  # matplotlib's own labels are formulas, which take as long as the rest
    axes.minorticks_off()
    axes.set_title(
        f"{estimate.target.name}: size of a point is its share of the step",
        fontsize="medium",
        loc="left",
        parse_math=False,
    )
    axes.legend(frameon=False, fontsize="small", loc="lower right")
    axes.grid(which="major", alpha=0.25)
    return figure


def _points(axes: Axes, x: Floats, y: Floats, area: Floats, colour: str, label: str) -> None:
    """Points of these areas [pt²], the smallest on top; those of one diameter share their outline in a file."""
    style: dict[str, Any] = {"marker": "o", "linestyle": "", "color": colour, "alpha": 0.75, "markeredgewidth": 0}
    axes.plot([], [], label=label, markersize=5, **style)
    diameters = np.sqrt(area).round()
    for diameter in np.unique(diameters)[::-1]:
        of_size = diameters == diameter
        axes.plot(x[of_size], y[of_size], markersize=diameter, **style)


def _power_of_ten(value: float, _: object = None) -> str:
    """A tick of a logarithmic axis, such as 10⁹."""
    return f"10{f'{np.log10(value):.0f}'.translate(SUPERSCRIPTS)}"


def scaling(document: Mapping[str, Any]) -> Figure:
    """Samples per second and efficiency over numbers of devices, of a document of ``studies.scale``, with intervals.

    Each split has its colour. Without a known batch, steps per second stand in place of samples per second.
    """
    figure = Picture(figsize=(7.2, 3.6), layout="constrained")
    rates, shares = figure.subplots(1, 2)
    rows = document["rows"]
    splits = {name: list(of_split) for name, of_split in groupby(rows, itemgetter("parallel"))}
    devices = np.unique([float(row["devices"]) for row in rows])
    known = rows[0]["samples_per_s"] is not None
    for (name, of_split), colour in zip(splits.items(), cycle(PART_COLOURS.values())):
        x = np.array([row["devices"] for row in of_split], dtype=float)
        _band(rates, x, [_rate(row) for row in of_split], 1.0, colour, name if len(splits) > 1 else None)
        _band(shares, x, [row["efficiency"] for row in of_split], 100.0, colour)
    ideal = _rate(rows[0])["mid"] / rows[0]["efficiency"]["mid"] * devices / rows[0]["devices"]
    rates.plot(devices, ideal, color="#222222", linewidth=0.8, linestyle="--", label="at an efficiency of 100 %")
    rates.legend(frameon=False, fontsize="small")
    rates.set(
        xscale="log", yscale="log", xlabel="devices", ylabel="samples per second" if known else "steps per second"
    )
    few_decades = np.ptp(np.log10(rates.get_ylim())) < 2
    rates.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few_decades else (1.0,)))
    rates.yaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    shares.set(xscale="log", ylim=(0, max(105, shares.get_ylim()[1])), xlabel="devices", ylabel="efficiency [%]")
    for axes in (rates, shares):
        _count_ticks(axes, devices)
    split = f"{document['parallel']}, " if len(splits) == 1 else ""
    title = f"{document['workload']} on {document['system']}, {split}{document['scaling']} scaling"
    figure.suptitle(title, fontsize="medium", parse_math=False)
    return figure


def _rate(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Samples per second of a row, or steps per second where the batch is not known."""
    if row["samples_per_s"] is not None:
        return dict(row["samples_per_s"])
    return {name: 1 / row["step_s"][end] for name, end in SWAPPED.items()}


def merit(document: Mapping[str, Any]) -> Figure:
    """The figures of merit of a document of a study with their intervals, and the threshold."""
    foms = {name: target["fom"] for name, target in document["targets"].items() if target["fom"] is not None}
    figure = Picture(figsize=(7.2, 0.9 + 0.42 * max(len(foms), 1)), layout="constrained")
    axes = figure.add_subplot()
    axes.barh(list(foms), [fom["mid"] for fom in foms.values()], color=PART_COLOURS["compute"], height=0.62)
    _whiskers(axes, list(foms), list(foms.values()))
    _list_bars(axes)
    if document["threshold"] is not None:
        axes.axvline(document["threshold"], color="#222222", linewidth=0.8, linestyle="--", label="threshold")
        figure.legend(loc="outside upper left", frameon=False, fontsize="small")
    axes.set_xlabel(f"figure of merit over {document['baseline']}, {document['level']} level", parse_math=False)
    return figure


def _list_bars(axes: Axes) -> None:
    """List the bars from the top down, with their names as plain text, in which dollars are no formula."""
    for label in axes.get_yticklabels():
        label.set_parse_math(False)
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)


def _ends(intervals: Sequence[Mapping[str, float | None]]) -> list[Floats]:
    """Low ends, middles and high ends of intervals; those without ends have their middles there."""
    return [
        np.array([each["mid"] if each[end] is None else each[end] for each in intervals], dtype=float)
        for end in ("low", "mid", "high")
    ]


def _whiskers(axes: Axes, names: Sequence[str], intervals: Sequence[Mapping[str, float | None]]) -> None:
    """The ends of intervals as thin lines over the bars of these names."""
    low, _, high = _ends(intervals)
    for name, *ends in zip(names, low, high, strict=True):
        if ends[0] < ends[1]:
            axes.plot(ends, [name, name], color="#222222", linewidth=0.9, marker="|", markersize=6)


def _count_ticks(axes: Axes, counts: Floats) -> None:
    """Ticks at some of these numbers, from the largest on, as many as have room on a logarithmic axis."""
    least_ratio, shown = (counts[-1] / counts[0]) ** (1 / MOST_TICKS), [counts[-1]]
    for count in counts[-2::-1]:
        if shown[-1] >= count * least_ratio:
            shown.append(count)
    axes.set_xticks(shown, labels=[f"{count:.0f}" for count in shown])
    axes.minorticks_off()


def _band(
    axes: Axes, x: Floats, intervals: Sequence[Mapping[str, float | None]], factor: float, colour: str,
    label: str | None = None,
) -> None:  # fmt: skip
    """The middle of intervals as a line, and their ends as a band."""
    low, mid, high = (factor * of for of in _ends(intervals))
    axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
    axes.plot(x, mid, color=colour, marker="o", markersize=3, label=label)
    axes.grid(which="major", alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)


def _roofs(axes: Axes, target: DeviceSpec, precision: str, low: float, high: float) -> None:
    if target.memory_bandwidth is None:
        return
    x = np.geomspace(low, high, 200)
    peak = target.peak_of(precision)
    for path, rate in (("vector", peak.vector), ("tensor", peak.tensor)):
        if rate:
            y = physics.attainable(x, rate.value, target.memory_bandwidth.value)
            axes.plot(x, y, color="#222222", linewidth=1.2)
            label = f"{precision} {path} {_with_status(rate)}"
            axes.annotate(label, (high, rate.value), ha="right", va="bottom", fontsize="small", parse_math=False)
    label = _with_status(target.memory_bandwidth)
    axes.annotate(label, (x[4], x[4] * target.memory_bandwidth.value), ha="left", va="top", fontsize="small")


def _with_status(sourced: Sourced) -> str:
    return f"{sourced} ({sourced.unverified_reason})" if sourced.unverified else str(sourced)
