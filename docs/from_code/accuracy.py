"""The tables and plots of docs/accuracy.md, from what is shipped: held-out errors, interval counts, self-test runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd

from estimator.validation.tables import KEYS
from estimator.validation.validate import METHODS, TITLES, shipped
from from_code.markdown import cell, code, table

KEPT = Path(__file__).resolve().parent.parent / "results" / "validation.json"
RUNS = "estimator.validation.selftest.results"
OURS = METHODS[0]
ROOFLINE = "roofline"
THIN = "\N{NARROW NO-BREAK SPACE}"


def errors() -> pd.DataFrame:
    """The held-out errors that the shipped fit carries: what ``estimator validate`` prints."""
    return shipped().held_out


def of_problem(table_: pd.DataFrame, problem: str, **keys: str) -> pd.DataFrame:
    """The rows of a problem's slice, by method; without keys those of all its rows."""
    wanted = {**dict.fromkeys(KEYS, ""), **keys}
    chosen = (table_["problem"] == problem) & (table_[list(wanted)] == pd.Series(wanted)).all(axis=1)
    return table_[chosen].set_index("method")


def best_simple(rows: pd.DataFrame) -> str | None:
    """The simple method with the least median error; a bare roofline has a column of its own."""
    others = rows.drop(index=[OURS, ROOFLINE], errors="ignore")
    return None if others.empty else str(others["median"].idxmin())


def percent(share: float, digits: int = 1) -> str:
    """A share in per cent, which no line break divides."""
    return f"{100 * share:.{digits}f}{THIN}%"


def overview() -> str:
    """One row for each problem."""
    found = errors()
    headings = ["problem", "groups", "rows", "ours", "best simple method", "its error", "roofline"]
    names = [name for name in TITLES if name in set(found["problem"])]
    numbers = [heading for heading in headings[1:] if heading != "best simple method"]
    return table(headings, (_overview_row(name, of_problem(found, name)) for name in names), numbers)


def _overview_row(name: str, rows: pd.DataFrame) -> list[str]:
    ours, best = rows.loc[OURS], best_simple(rows)
    sizes = [f"{int(ours['groups'])}", f"{int(ours['n']):,}"]
    simple = [cell(best), _error(rows.loc[best])] if best else ["", ""]
    return [_link(name), *sizes, _error(ours), *simple, _error(rows.loc[ROOFLINE]) if ROOFLINE in rows.index else ""]


def _link(name: str) -> str:
    return f"[{cell(TITLES[name])}](#{name})"


def _error(row: Any) -> str:
    return f"{row['median']:.1f}{THIN}/{THIN}{row['mean']:.1f}"


def problems() -> str:
    """A section for each problem: its errors by data set, by family of devices, and by group where there are some."""
    found = errors()
    names = [name for name in TITLES if name in set(found["problem"])]
    return "\n\n".join(_problem(name, found[found["problem"] == name]) for name in names)


def _problem(name: str, rows: pd.DataFrame) -> str:
    return f"({name})=\n### {TITLES[name][0].upper()}{TITLES[name][1:]}\n\n{_slices(name, rows)}{_worst(name)}"


def _slices(name: str, rows: pd.DataFrame) -> str:
    methods = [method for method in METHODS if method in set(rows["method"])]
    others = [method for method in methods if method != OURS]
    headings = ["slice", "rows", "median", "mean", "p90", "worst", "bias", *others]
    slices = rows[rows["method"] == OURS]
    lines = [_slice_row(rows, ours, others) for _, ours in slices.iterrows()]
    return table(headings, lines, headings[1:])


def _slice_row(rows: pd.DataFrame, ours: Any, others: Sequence[str]) -> list[str]:
    same = rows[(rows[KEYS] == ours[KEYS]).all(axis=1)].set_index("method")
    figures = [f"{ours[name]:.1f}" for name in ("median", "mean", "p90", "max", "bias")]
    simple = [_error(same.loc[method]) if method in same.index else "" for method in others]
    return [_slice_name(ours), f"{int(ours['n']):,}", *figures, *simple]


def _slice_name(row: Mapping[str, Any]) -> str:
    if row["device"]:
        return f"{cell(row['data_set'])} on {code(row['device'])}"
    return ", ".join(f"{key.replace('_', ' ')} {cell(row[key])}" for key in KEYS if row[key]) or "**all**"


def _worst(name: str) -> str:
    rows = kept()["worst"].get(name, [])
    lines = [[cell(row["data_set"]), code(row["device"]), cell(row["shape"]), f"{_ratio(row):.2g}"] for row in rows]
    return (
        "\n\nThe worst rows:\n\n" + table(["data set", "device", "row", "predicted / measured"], lines) if lines else ""
    )


def _ratio(row: Mapping[str, Any]) -> float:
    end = "s" if "measured_s" in row else "bytes"
    return float(row[f"predicted_{end}"] / row[f"measured_{end}"])


def kept() -> dict[str, Any]:
    """What ``docs/results.py`` kept of the last validation on the public data."""
    content = json.loads(KEPT.read_text(encoding="utf-8"))
    assert isinstance(content, dict)
    return content


def intervals() -> str:
    """How many of the 90 % intervals hold the truth."""
    rows = kept()["intervals"]
    of_all = [row for row in rows if not {"target", "data_set"} & row.keys()]
    headings = ["problem", "rows", "hold", "fewest: data set", "fewest: what is predicted"]
    body = table(headings, (_interval_row(row, rows) for row in of_all), headings[1:3])
    return f"Judged on {kept()['date']}:\n\n{body}"


def _interval_row(row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    fewest = (_fewest(row["problem"], key, rows) for key in ("data_set", "target"))
    return [_link(row["problem"]), f"{row['rows']:,}", _share(row), *fewest]


def _fewest(problem: str, key: str, rows: Sequence[Mapping[str, Any]]) -> str:
    own = [row for row in rows if row["problem"] == problem and key in row]
    least = min(own, key=lambda row: row["held"] / row["rows"], default=None)
    return f"{cell(least[key])}: {_share(least)} of {least['rows']}" if least else ""


def _share(row: Mapping[str, Any]) -> str:
    return percent(row["held"] / row["rows"], 0)


def notes() -> str:
    """Rows of the public tables that are not judged, and why."""
    return "\n".join(f"- {cell(note)}" for note in kept()["notes"] if "left out" in note)


def read_runs() -> dict[str, dict[str, Any]]:
    """The kept runs of ``estimator selftest`` by name, the latest first."""
    paths = sorted((path for path in files(RUNS).iterdir() if path.name.endswith(".json")), key=lambda path: path.name)
    return {path.name.removesuffix(".json"): json.loads(path.read_text(encoding="utf-8")) for path in reversed(paths)}


def runs() -> str:
    """One row for each kept run of the self-test."""
    headings = [
        "kept as", "pairs", "median", "worst", "above 25 %", "noise floor", "if nothing changes",
        "by the ratio of peaks", "intervals hold",
    ]  # fmt: skip
    return table(headings, (_run_row(name, run) for name, run in read_runs().items()), headings[1:])


def _run_row(name: str, run: Mapping[str, Any]) -> list[str]:
    of, rows = run["summary"], run["rows"]
    above = sum(abs(row["error"]) > of["worst_reach"] for row in rows)
    simple = ("median_error_if_unchanged", "median_error_by_peaks")
    figures = [percent(of[key]) for key in ("median_error", "worst_error", "noise_floor", *simple)]
    held = percent(of["interval_coverage"], 0)
    return [code(name), str(len(rows)), *figures[:2], str(above), *figures[2:], held]
