"""``figure_of_merit``: the machines of a study over its baseline; ``write_report`` writes what it found."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from estimator.api.arguments import Place, in_one_sentence, study_given
from estimator.api.estimate import EstimateResult
from estimator.api.frames import frame
from estimator.api.html import to_html
from estimator.core.errors import EstimatorError
from estimator.core.files import place
from estimator.core.types import StudyResult
from estimator.reports import summaries
from estimator.reports.documents import plain
from estimator.reports.study_documents import figures_of_merit
from estimator.reports.text import format_interval
from estimator.studies.run import run_study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOM_COLUMNS = ("target", "fom", "p_threshold", "meets_threshold", "dominant_unit", "level", "refused")
UNIT_INTERVALS = (
    "time_per_unit_s", "units_per_day", "ratio", "ratio_per_node", "ratio_per_worker", "energy_j", "usd",
)  # fmt: skip
UNIT_COLUMNS = ("machine", "unit", *UNIT_INTERVALS, "time_level", "devices", "trainings_per_device", "fits", "refused")


@dataclass(frozen=True, repr=False, eq=False)
class FigureOfMeritResult:
    """What a study's machines are worth over its baseline.

    Attributes:
        study: what was computed, every number with its derivation; ``write_report`` takes it too.
    """

    study: StudyResult

    @property
    def fom(self) -> pd.DataFrame:
        """A row for each machine that is compared, by its name.

        ``fom`` has the interval's ends ``fom_low`` and ``fom_high`` beside it; ``p_threshold`` is the share of draws
        that meet the threshold; ``dominant_unit`` weighs most; ``refused`` says why there is none.

        Raises EstimatorError for a study without machines.
        """
        rows = ({"target": name, **target} for name, target in self._document["targets"].items())
        return frame(rows, FOM_COLUMNS, ("fom",)).set_index("target")

    @property
    def units(self) -> pd.DataFrame:
        """A row for each unit of work on each machine, the baseline first.

        ``time_per_unit_s`` [s] is that of ``time_level``; ``units_per_day`` and ``ratio`` are of the whole machine;
        ``energy_j`` [J] and ``usd`` are of one unit. The ends of an interval stand beside it, as in ``ratio_low``;
        absence is NaN.

        Raises EstimatorError for a study without machines.
        """
        return frame(self._cells(), UNIT_COLUMNS, UNIT_INTERVALS)

    def _cells(self) -> Iterator[Mapping[str, Any]]:
        for machine, unit, cell in summaries.unit_cells(self._document):
            yield {"machine": machine, "unit": unit, **cell}

    @property
    def estimates(self) -> dict[tuple[str, str], EstimateResult]:
        """The predicted step of each (machine, unit) whose time was not given."""
        return {pair: EstimateResult(estimate) for pair, estimate in self.study.estimates.items()}

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences on what may make it wrong, and on what cannot run."""
        return (*summaries.refusals(self._document), *self._document["warnings"])

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Sentences on what it assumes."""
        return tuple(self._document["assumptions"])

    @property
    def left_open(self) -> tuple[str, ...]:
        """Sentences on those of its assumptions that end where the study gives a number or a setting."""
        return tuple(self._document["left_open"])

    def document(self) -> dict[str, Any]:
        """The document that ``estimator fom --json`` prints. Raises EstimatorError for a study without machines."""
        document: dict[str, Any] = plain(figures_of_merit(self.study))
        return document

    def plot(self) -> Figure:
        """The figure of merit of each machine with its interval, and the threshold.

        Raises EstimatorError for a study without machines.
        """
        from estimator.reports import figures

        return figures.merit(self._document)

    @cached_property
    def _document(self) -> Mapping[str, Any]:
        return self.document()

    def __repr__(self) -> str:
        if not self.study.machines:
            return f"{self.study.title}: no figure of merit"
        targets = self._document["targets"].items()
        figures = ((name, target["fom"]) for name, target in targets)
        lines = (f"{name}: {format_interval(fom, '1') if fom else 'none'}" for name, fom in figures)
        return "\n  ".join((f"{self.study.title}: {self.study.definition}, over {self.study.baseline}", *lines))

    def _repr_html_(self) -> str:
        if not self.study.machines:
            return to_html(self.study.title, "no figure of merit", [], {})
        document = self._document
        tables = [summaries.merit_table(document), summaries.units_table(document)]
        if expenses := summaries.expenses_table(document):
            tables.append(expenses)
        if document["campaigns"]:
            tables.append(summaries.campaigns_table(document["campaigns"]))
        notes = {"warnings": self.warnings, "assumptions": self.assumptions}
        after = f"{document['definition']}, over {document['baseline']}, {document['level']} level"
        return to_html(self.study.title, after, tables, notes)


@in_one_sentence
def figure_of_merit(study: Place | Mapping[str, Any]) -> FigureOfMeritResult:
    """Roll a study up: every unit of work on every machine, divided by the baseline.

    Args:
        study: the path of a ``study.yaml``, a shipped name such as ``"lecture-example"``, or the content of such a
            file as a mapping, whose files are named from the working folder.

    Raises:
        EstimatorError: with every fault of the study, a sentence each.

    Example:
        >>> from estimator import figure_of_merit
        >>> result = figure_of_merit({
        ...     "title": "Two machines", "baseline": "old",
        ...     "machines": {"old": {"nodes": 100}, "new": {"nodes": 400}},
        ...     "units_of_work": {"a run": {"time_per_unit": {"old": "60 h", "new": "4 h"}}},
        ... })
        >>> float(result.fom.loc["new", "fom"])  # (400 / 4 h) / (100 / 60 h)
        60.0
    """
    return FigureOfMeritResult(run_study(study_given(study)))


@in_one_sentence
def write_report(result: FigureOfMeritResult | StudyResult, folder: Place) -> list[Path]:
    """Write a study's ``report.html``, one file that needs no network, and ``results.json`` into a folder.

    Args:
        result: what ``figure_of_merit`` returned.
        folder: where to; it is made where there is none.

    Returns:
        The paths of both files; equal results give equal bytes.

    Raises:
        EstimatorError: where a file cannot be written.

    Example:
        >>> from estimator import figure_of_merit, write_report
        >>> page, data = write_report(figure_of_merit("lecture-example"), "out")
    """
    from estimator.reports import html

    study: object = result.study if isinstance(result, FigureOfMeritResult) else result
    if not isinstance(study, StudyResult):
        raise EstimatorError(f"result is {reprlib.repr(study)}; expected what figure_of_merit returns")
    return html.write_report(study, place("folder", folder))
