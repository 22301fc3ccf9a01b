"""StudyResult → report.html, one offline file, and results.json beside it."""

from __future__ import annotations

import hashlib
import io
import json
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from estimator import __version__
from estimator.core import units
from estimator.core.errors import EstimatorError
from estimator.core.files import write_text
from estimator.core.interval import summarise
from estimator.core.schema import METHODS
from estimator.core.types import Estimate, Floats, Number, StudyResult, pair_id
from estimator.reports import documents, figures
from estimator.reports.places import EVERYWHERE, headline_places, sentence_places, shortened
from estimator.reports.study_documents import results
from estimator.reports.text import is_known, split_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OP_COLUMNS = (
    "op", "op_class", "phase", "calls", "m", "n", "k", "flop", "bytes", "time_s", "target_time_s", "bound", "method",
)  # fmt: skip
OP_HEADINGS = {"op_class": "class", "time_s": "on source", "target_time_s": "on target"}
EXPENSES = {"energy_kwh": "energy per unit [kWh]", "usd": "price per unit [USD]"}  # shown where any is known
TERMS = {  # of a unit on a machine, as the study declares them; likewise
    "capability": "capability factor", "algorithmic_factor": "algorithmic factor, kept apart",
    "committed": "committed time", "projected_over_committed": "projected / committed rate",
}  # fmt: skip
SVG_SETTINGS = {"svg.hashsalt": "fom-estimator", "svg.fonttype": "path", "font.family": "DejaVu Sans"}


def write_report(result: StudyResult, folder: str | Path) -> list[Path]:
    """Write ``report.html`` and ``results.json`` into a folder; equal results give equal bytes.

    Raises EstimatorError where they cannot be written, and where those there are of another study in that folder.
    """
    folder = Path(folder)
    for path in (folder / "report.html", folder / "results.json"):
        if path.is_dir():
            raise EstimatorError(f"{path}: this is a folder; choose another place for the report")
    for other in sorted(_studies_of(folder / "results.json") - _studies(result.inputs)):
        if (folder / other).is_file():
            raise EstimatorError(
                f"{folder / 'report.html'}: this is the report of {other}; choose another folder by -o"
            )
    contents = {
        folder / "report.html": render(result),
        folder / "results.json": documents.to_json(results(result)),
    }
    for path, text in contents.items():
        write_text(path, text)
    return list(contents)


def _studies_of(results: Path) -> set[str]:
    """The names of the study files of a results.json; none where it is not there or not one."""
    try:
        return _studies(json.loads(results.read_text("utf-8"))["inputs_sha256"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return set()


def _studies(inputs: Mapping[str, str]) -> set[str]:
    """The names of the study files among the inputs of a result."""
    return {name for kind, _, name in (key.partition(" ") for key in inputs) if kind == "study"}


def render(result: StudyResult) -> str:
    """The report as one HTML text without external references; all texts of the study are escaped."""
    environment = Environment(
        loader=PackageLoader("estimator.reports"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {
        "number": show_number, "samples": show_samples, "quantity": show_quantity, "size": show_size, "anchor": anchor,
    }  # fmt: skip
    return environment.get_template("report.html").render(
        result=result,
        version=__version__,
        machines=result.machines,
        units=result.units,
        estimates={pair_id(pair): estimate for pair, estimate in result.estimates.items()},
        sizes={name: _size(result, name) for name in result.machines},
        hosts=_scenarios(result, "host"),
        inputs=_scenarios(result, "input"),
        specifications=documents.unverified(result.specifications),
        figures=_figures(result),
        op_columns=[OP_HEADINGS.get(name, name.replace("_", " ")) for name in OP_COLUMNS],
        op_rows=_op_rows,
        longest_ops=figures.LONGEST_OPS,
        methods=METHODS,
        left_open=headline_places(result),
        assumptions=sentence_places(result, "left-open", "assumption"),
        warnings=sentence_places(result, "warning"),
        numbers=result.numbers(),
        own_means={name: mean for merit in result.foms.values() for name, mean in merit.means.items()},
        own_means_unit=next((merit.means_unit for merit in result.foms.values()), "1"),
        counts=_counts(result),
        expenses={name: head for name, head in EXPENSES.items() if any(name in n for n in result.chains.values())},
        terms=_terms(result),
        predicted=bool(result.predictions()),
    )


def _terms(result: StudyResult) -> dict[str, dict[tuple[str, str], Number]]:
    """By heading, what the study declares of units on machines."""
    declared = {
        heading: {
            pair: result.fom_numbers[id]
            for pair in result.chains
            if (id := f"{pair_id(pair)}/{name}") in result.fom_numbers
        }
        for name, heading in TERMS.items()
    }
    return {heading: numbers for heading, numbers in declared.items() if numbers}


def show_number(number: Number) -> Markup:
    """A number with its unit, and the ends of its interval in their own span."""
    return show_samples(number.samples, number.unit)


def show_samples(samples: Floats, unit: str = "s") -> Markup:
    """Samples as ``7.588 ms`` and, if uncertain, ``7.11 – 8.26`` in the same unit."""
    interval = summarise(samples)
    shown = units.show_interval(interval.low, interval.mid, interval.high, "s" if unit == "s" else "1")
    mid, ends = split_interval(shown)
    return Markup('{} <span class="ends">{}</span>' if ends else "{}").format(mid, ends)


def show_quantity(value: float | None, unit: str) -> str:
    """One value with its unit; a dash where it is not known."""
    return units.show(value, unit, 4) if is_known(value) else "–"


def show_size(value: float | None) -> str:
    """A size in binary units; a dash for None."""
    return "–" if value is None else units.show(value, "B", 3, binary=True)


def anchor(id: str) -> str:
    """A number's id as an HTML id of letters, digits and dashes."""
    return "n-" + "".join(c if c.isascii() and c.isalnum() else f"-{ord(c):x}-" for c in id)


def to_svg(figure: Figure, name: str) -> Markup:
    """A figure as inline SVG with reproducible bytes; its ids are unique by the figure's name."""
    import matplotlib

    buffer = io.StringIO()
    settings: Any = SVG_SETTINGS
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # a name in a script that the font lacks
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    prefix = "f" + hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:8]  # short: each letter uses it
    svg = re.sub(r'\bid="', f'id="{prefix}-', svg)
    svg = re.sub(r'(url\(#|href="#)', rf"\g<1>{prefix}-", svg)
    return Markup(svg)


def _figures(result: StudyResult) -> Mapping[str, Markup]:
    """Every figure by name: one breakdown per unit, one roofline per estimate."""
    drawn = {}
    for unit in dict.fromkeys(unit for _, unit in result.estimates):
        by_machine = {machine: estimate for (machine, name), estimate in result.estimates.items() if name == unit}
        drawn[f"breakdown/{unit}"] = to_svg(figures.breakdown(by_machine), f"breakdown/{unit}")
    for pair, estimate in result.estimates.items():
        name = f"roofline/{pair_id(pair)}"
        drawn[name] = to_svg(figures.roofline(estimate), name)
    return drawn


def _scenarios(result: StudyResult, kind: Literal["host", "input"]) -> dict[str, list[str]]:
    """Where each scenario of the host, or of input, holds."""
    scenarios: dict[str, list[str]] = {}
    for pair, estimate in result.estimates.items():
        scenarios.setdefault(getattr(estimate, kind), []).append(pair_id(pair))
    if len(scenarios) == 1:
        return {scenario: [EVERYWHERE] for scenario in scenarios}
    return {scenario: shortened(places, list(result.estimates)) for scenario, places in scenarios.items()}


def _size(result: StudyResult, machine: str) -> str:
    """``9,408 nodes of 8 mi250x-gcd``; without devices where the times were given; empty where nothing ran."""
    pair = next((pair for pair in result.chains if pair[0] == machine), None)
    if pair is None:
        return ""
    numbers, estimated = result.chains[pair], result.estimates.get(pair)
    count = numbers["nodes"].samples[0]
    nodes = f"{count:,.0f} {units.plural(numbers['nodes'].label.removesuffix('s'), count)}"
    devices = numbers.get("devices_per_node") or numbers["workers_per_node"]
    return f"{nodes} of {devices.samples[0]:g} {estimated.target.name}" if estimated else nodes


def _counts(result: StudyResult) -> dict[str, Number]:
    """How many of each unit a campaign has, in the order of its phases."""
    counts = {unit: numbers["count"] for (_, unit), numbers in result.chains.items() if "count" in numbers}
    return {unit: counts[unit] for unit in result.units if unit in counts}


def _op_rows(estimate: Estimate) -> list[list[str]]:
    """The longest ops of one estimate, longest on the target first, as texts."""
    ops = estimate.prediction.ops.sort_values("target_time_s", ascending=False, kind="stable").head(figures.LONGEST_OPS)
    shown = {"flop": "FLOP", "bytes": "B", "time_s": "s", "target_time_s": "s"}

    def text(name: str, value: object) -> str:
        if value is None:
            return ""
        if name in shown:
            return units.show(float(str(value)), shown[name], 4)
        return f"{value:g}" if isinstance(value, float) else str(value)

    return [[text(name, row[name]) for name in OP_COLUMNS] for row in documents.rows(ops, OP_COLUMNS)]
