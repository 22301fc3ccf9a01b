"""Validate every problem by every method, or read the errors shipped with the fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from importlib.resources import as_file, files
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from estimator.core import csv_files
from estimator.core.errors import EstimatorError, suggestion
from estimator.validation import (
    cards,
    clusters,
    collectives,
    language_models,
    layers,
    networks,
    peak_memory,
    power,
    protocol,
    scaling,
    scores,
    step_intervals,
    whole_models,
)
from estimator.validation.baselines import BASELINES
from estimator.validation.data import read_truth
from estimator.validation.protocol import Method, Progress
from estimator.validation.tables import KEYS, PublishedRows, lacking

if TYPE_CHECKING:
    import pandas as pd

METHODS = (  # the first is reported in full
    "ours", *BASELINES, networks.RATIO_OF_PEAKS, peak_memory.PARAMETERS_ONLY, collectives.ALPHA_BETA, scaling.LINEAR,
    language_models.PLAIN, power.POWER_LIMIT,
)  # fmt: skip
WHOLE_MODEL_METHODS = ("ours", "roofline", "constant efficiency")  # that predict ops without measured neighbours
QUICK_ROWS = 3000  # per data set and device with --quick
KERNEL_PROBLEMS = {problem.name: problem for problem in protocol.PROBLEMS}
SHIPPED = ("estimator.model.coefficients", "held_out.csv")


@dataclass(frozen=True)
class Request:
    """The problems to judge, and what all of them share."""

    truth: pd.DataFrame = field(repr=False)
    problems: Sequence[str]
    methods: Mapping[str, Method]
    max_rows: int | None
    progress: Progress
    fit_power: power.Fit | None = None


@dataclass(frozen=True)
class Validation:
    """HELD_OUT errors; judged rows by problem, where the data are available; notes on what was left out."""

    held_out: pd.DataFrame = field(repr=False)
    judged: Mapping[str, pd.DataFrame] = field(default_factory=dict, repr=False)
    notes: tuple[str, ...] = ()


Model = Callable[["pd.DataFrame", Iterable[str]], AbstractContextManager[Method]]  # TRUTH, op classes → "ours"
Judged = dict[str, "pd.DataFrame"]  # problem → judged rows: KEYS, time_s, a column per method


@dataclass(frozen=True)
class DataSet:
    """The problems of one module that has tables of its own: how they are read, and judged."""

    module: ModuleType
    read: Callable[[Path], Any]  # what it finds in a folder; a field ``notes`` tells of rows left out
    judge: Callable[[Request, Any], Judged]
    one_suffices: bool = False  # of the module's FILES

    def obstacle(self, folder: Path) -> str:
        """Which tables a folder lacks, in words; empty where the problems can be judged."""
        return lacking(folder, self.module.FILES, one_suffices=self.one_suffices)

    def rows(self, folder: Path) -> Any:
        """What is read. Raises EstimatorError where no row of published rows can be judged."""
        own = self.read(folder)
        if isinstance(own, PublishedRows) and own.rows.empty:
            files = " or ".join(self.module.FILES)
            raise EstimatorError(f"{folder}: no row of {files} can be judged; check that this is the public table")
        return own


def judge_kernels(request: Request) -> Judged:
    """Judge the problems of single kernels."""
    problems = [problem for name, problem in KERNEL_PROBLEMS.items() if name in request.problems]
    return (
        protocol.judge(request.truth, request.methods, problems, request.max_rows, request.progress) if problems else {}
    )


def judge_whole_models(request: Request, runs: whole_models.Runs) -> Judged:
    """Judge whole models; each ordered pair of devices is a row, all in one group."""
    problems = {name: title for name, title in whole_models.PROBLEMS.items() if name in request.problems}
    methods = {name: request.methods[name] for name in WHOLE_MODEL_METHODS if name in request.methods}
    return whole_models.judge(request.truth, runs, methods, problems)


def by_ours(
    judge: Callable[[pd.DataFrame, PublishedRows, Method], Judged],
) -> Callable[[Request, PublishedRows], Judged]:
    """A data set's judge, from the function of its module, which takes our method and has simple ones of its own."""
    return lambda request, rows: judge(request.truth, rows, request.methods["ours"])


DATA_SETS = (  # in the order of the table
    DataSet(whole_models, whole_models.read_runs, judge_whole_models),
    DataSet(networks, networks.read_rates, by_ours(networks.judge), one_suffices=True),
    DataSet(layers, layers.read_rates, by_ours(layers.judge)),
    DataSet(cards, cards.read_rates, by_ours(cards.judge)),
    DataSet(collectives, collectives.read_rows, by_ours(collectives.judge)),
    DataSet(scaling, scaling.read_rates, lambda r, rates: scaling.judge(rates)),
    DataSet(clusters, clusters.read_runs, by_ours(clusters.judge)),
    DataSet(language_models, language_models.read_steps, by_ours(language_models.judge)),
    DataSet(peak_memory, peak_memory.read_networks, lambda r, peaks: peak_memory.judge(peaks)),
    DataSet(power, power.read_rows, lambda r, rows: power.judge(rows, r.fit_power) if r.fit_power else {}),
)
STEP_PROBLEMS = {name: data_set for data_set in DATA_SETS for name in data_set.module.PROBLEMS}
IN_BYTES = tuple(peak_memory.PROBLEMS)  # problems whose judged rows hold bytes in place of seconds
TITLES: dict[str, str] = {
    **{name: problem.title for name, problem in KERNEL_PROBLEMS.items()},
    **{name: title for data_set in DATA_SETS for name, title in data_set.module.PROBLEMS.items()},
}


def validate(
    folder: str | Path,
    model: Model,
    problems: Sequence[str] = (),
    *,
    fit_power: power.Fit | None = None,
    quick: bool = False,
    progress: Progress = lambda done, total: None,
) -> Validation:
    """Compute held-out errors on the public data in a folder, of some problems or all possible ones.

    ``model`` opens the method that is judged as "ours", such as ``fitting.fitted_model.fitted_side_by_side``;
    ``fit_power`` fits the coefficients of power, such as ``fitting.power.fit``; without it power is not judged. Who
    asks for ``power`` gets the energies that follow from it too.

    Raises EstimatorError for an unknown problem, unreadable data, and a problem that cannot be judged on them.
    """
    _refuse_unknown(problems)
    folder, problems = Path(folder), _with_energies(problems)
    step_names = [name for name in problems if name in STEP_PROBLEMS]
    if unavailable := _sentences(folder, {name: STEP_PROBLEMS[name].obstacle(folder) for name in step_names}):
        raise EstimatorError(*unavailable)  # before anything is read
    truth, notes = read_truth(folder)
    obstacles = {name: _obstacle(name, folder, truth) for name in problems or TITLES}
    possible = [name for name, obstacle in obstacles.items() if not obstacle]
    unjudged_notes = _sentences(folder, obstacles)
    if unjudged_notes and (problems or not possible):
        raise EstimatorError(*unjudged_notes, *notes)
    data = {data_set: data_set.rows(folder) for data_set in DATA_SETS if set(possible) & set(data_set.module.PROBLEMS)}
    with model(truth, {op_class for name in possible for op_class in _op_classes(name)}) as ours:
        methods = {name: protocol.remembered(method) for name, method in {"ours": ours, **BASELINES}.items()}
        judged = _judge(Request(truth, possible, methods, QUICK_ROWS if quick else None, progress, fit_power), data)
    if not judged:
        raise EstimatorError(f"{folder}: all rows of {', '.join(possible)} calibrate, and none is left", *notes)
    left_out = [note for own in data.values() for note in getattr(own, "notes", ())]
    held = (*step_intervals.coverage_notes(judged), *power.coverage_notes(judged))
    all_notes = (*notes, *left_out, *unjudged_notes, *held)
    return Validation(scores.held_out(judged, list(METHODS)), judged, all_notes)


def _judge(request: Request, data: Mapping[DataSet, Any]) -> Judged:
    """The judged rows of each problem, of single kernels and of the data sets that were read."""
    judged = judge_kernels(request)
    for data_set, own in data.items():
        of_data_set = data_set.judge(request, own)
        judged |= {name: rows for name, rows in of_data_set.items() if name in request.problems and len(rows)}
    return judged


def _with_energies(problems: Sequence[str]) -> list[str]:
    """The problems, with those that follow from power behind it."""
    return [*dict.fromkeys(other for name in problems for other in (power.PROBLEMS if name == "power" else [name]))]


def _obstacle(name: str, folder: Path, truth: pd.DataFrame) -> str:
    """Why a problem cannot be judged on a folder, in words; empty where it can."""
    if name in STEP_PROBLEMS:
        return STEP_PROBLEMS[name].obstacle(folder)
    return protocol.obstacle(truth, KERNEL_PROBLEMS[name])


def _op_classes(name: str) -> tuple[str, ...]:
    if name in STEP_PROBLEMS:
        return tuple(STEP_PROBLEMS[name].module.OP_CLASSES)
    return KERNEL_PROBLEMS[name].op_classes


def _sentences(folder: Path, obstacles: Mapping[str, str]) -> tuple[str, ...]:
    """One sentence on each obstacle, with its problems."""
    names_by_obstacle = {
        obstacle: [name for name in obstacles if obstacles[name] == obstacle]
        for obstacle in filter(None, obstacles.values())
    }
    return tuple(
        f"{folder}: holds {obstacle}; so {', '.join(names)} cannot be judged"
        for obstacle, names in names_by_obstacle.items()
    )


def shipped(problems: Sequence[str] = ()) -> Validation:
    """The held-out errors shipped with the fit. Raises EstimatorError where there are none."""
    with as_file(files(SHIPPED[0]) / SHIPPED[1]) as path:
        if not path.exists():
            raise EstimatorError("no fit with held-out errors is shipped; give --data, a folder of public data sets")
        return read_held_out(path, _with_energies(problems))


def read_held_out(path: Path, problems: Sequence[str] = ()) -> Validation:
    """Read a HELD_OUT table, of some problems or all. Raises EstimatorError for an unknown problem."""
    import pandas as pd

    _refuse_unknown(problems)
    cells = csv_files.read_csv(path)
    numbers = cells[["groups", "n", *scores.FIGURES]].apply(pd.to_numeric)
    table = cells.assign(**numbers)[scores.COLUMNS].fillna(dict.fromkeys(KEYS, ""))
    held_out = table[table["problem"].isin(problems or TITLES)]
    if missing := [name for name in problems if name not in set(held_out["problem"])]:
        raise EstimatorError(f"{path}: holds no errors of {', '.join(missing)}; judge anew with --data")
    return Validation(held_out)


def _refuse_unknown(problems: Sequence[str]) -> None:
    for name in problems:
        if name not in TITLES:
            known = ", ".join(TITLES)
            raise EstimatorError(f"Unknown problem '{name}'.{suggestion(name, TITLES)} There are {known}.")
