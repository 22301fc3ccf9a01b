"""The plots of docs/accuracy.md as SVG, from the same numbers as its tables."""

from __future__ import annotations

from io import StringIO

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from estimator.validation.validate import TITLES
from from_code import accuracy

SIZE = (9.0, 6.5)  # inches
MARKS = {"ours": "o", "best simple method": "D", "roofline": "x"}


def errors() -> str:
    """Median errors of every problem: ours, the best simple method, and a bare roofline."""
    found = accuracy.errors()
    names = [name for name in TITLES if name in set(found["problem"])][::-1]
    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.subplots()
    points: dict[str, list[tuple[float, int]]] = {method: [] for method in MARKS}
    for place, name in enumerate(names):
        rows = accuracy.of_problem(found, name)
        of = {"ours": accuracy.OURS, "best simple method": accuracy.best_simple(rows), "roofline": accuracy.ROOFLINE}
        for method, column in of.items():
            if column in rows.index:
                points[method].append((float(rows.loc[column, "median"]), place))
    for method, mark in MARKS.items():
        medians, rows_of = zip(*points[method], strict=True) if points[method] else ((), ())
        axes.scatter(medians, rows_of, marker=mark, label=method)
    axes.set_yticks(range(len(names)), [TITLES[name] for name in names])
    axes.set(xlabel="median absolute error [%]", xlim=(0, None))
    return _finished(figure, axes)


def selftest() -> str:
    """Signed errors of every pair of the kept self-test runs."""
    figure = Figure(figsize=(9.0, 4.0), layout="constrained")
    axes = figure.subplots()
    runs = dict(reversed(accuracy.read_runs().items()))
    for place, run in enumerate(runs.values()):
        axes.scatter([100 * row["error"] for row in run["rows"]], [place] * len(run["rows"]), marker="|", alpha=0.6)
    for reach in (-25, 25):
        axes.axvline(reach, color="grey", linestyle=":")
    axes.set_yticks(range(len(runs)), list(runs))
    axes.set(xlabel="predicted over measured step, minus 1 [%]; dotted: the worst that is asked for")
    return _finished(figure, axes, legend=False)


def _finished(figure: Figure, axes: Axes, *, legend: bool = True) -> str:
    """The figure as SVG that is the same in every build."""
    axes.grid(axis="x", alpha=0.3)
    if legend:
        axes.legend(loc="lower right")
    out = StringIO()
    with mpl.rc_context({"svg.hashsalt": "fom-estimator"}):
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()
