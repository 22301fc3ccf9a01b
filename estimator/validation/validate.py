"""The judgement as a whole: every problem, by every method; or the one that the shipped fit carries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

from estimator.core import csv_files
from estimator.core.errors import EstimatorError, suggestion
from estimator.validation import protocol, scores, whole_models
from estimator.validation.baselines import BASELINES
from estimator.validation.data import read_truth
from estimator.validation.protocol import Method, Progress
from estimator.validation.tables import KEYS

if TYPE_CHECKING:
    import pandas as pd

METHODS = ("ours", *BASELINES)  # the first is told in full
WHOLE_METHODS = ("ours", "roofline", "constant efficiency")  # those that predict ops no other device ran
QUICK_ROWS = 3000  # of each data set and device that are judged by --quick
KERNELS = {problem.name: problem for problem in protocol.PROBLEMS}
SHIPPED = ("estimator.model.coefficients", "held_out.csv")


@dataclass(frozen=True)
class Request:
    """What is to be judged, on what."""

    truth: pd.DataFrame = field(repr=False)
    runs: whole_models.Runs | None  # of whole models, where such a problem is asked for
    problems: Sequence[str]
    methods: Mapping[str, Method]
    most: int | None
    progress: Progress


@dataclass(frozen=True)
class Validation:
    """HELD_OUT errors; judged rows by problem, where the data are at hand; sentences on what was left out."""

    held_out: pd.DataFrame = field(repr=False)
    judged: Mapping[str, pd.DataFrame] = field(default_factory=dict, repr=False)
    notes: tuple[str, ...] = ()


Model = Callable[["pd.DataFrame", Iterable[str]], AbstractContextManager[Method]]  # TRUTH, op classes → "ours"
Judge = Callable[[Request], dict[str, "pd.DataFrame"]]  # problem → judged rows: KEYS, time_s, a column per method


def kernels(asked: Request) -> dict[str, pd.DataFrame]:
    """The problems of single kernels."""
    problems = [problem for name, problem in KERNELS.items() if name in asked.problems]
    return protocol.judge(asked.truth, asked.methods, problems, asked.most, asked.progress) if problems else {}


def whole(asked: Request) -> dict[str, pd.DataFrame]:
    """Whole models; each ordered pair of devices is a row, all of them one group."""
    problems = {name: title for name, title in whole_models.PROBLEMS.items() if name in asked.problems}
    if asked.runs is None:
        return {}
    methods = {name: asked.methods[name] for name in WHOLE_METHODS if name in asked.methods}
    return whole_models.judge(asked.truth, asked.runs, methods, problems)


JUDGES: dict[Judge, dict[str, str]] = {  # judge → its problems and their titles, in the order of the table
    kernels: {name: problem.title for name, problem in KERNELS.items()},
    whole: whole_models.PROBLEMS,
}
TITLES = {name: title for titles in JUDGES.values() for name, title in titles.items()}


def validate(
    folder: str | Path,
    model: Model,
    problems: Sequence[str] = (),
    *,
    quick: bool = False,
    progress: Progress = lambda done, total: None,
) -> Validation:
    """Held-out errors on the public data in a folder: of some problems, or of all that can be judged on it.

    ``model`` opens the method that is judged as "ours", such as ``fitting.fitted_model.fitted_side_by_side``.

    Raises EstimatorError for an unknown problem, and where the data cannot be read, or a problem not be judged on them.
    """
    _refuse_unknown(problems)
    folder, of_whole = Path(folder), [name for name in problems if name not in KERNELS]
    if lacking := _sentences(folder, dict.fromkeys(of_whole, whole_models.obstacle(folder))):
        raise EstimatorError(*lacking)  # before anything is read
    truth, notes = read_truth(folder)
    obstacles = {name: _obstacle(name, folder, truth) for name in problems or TITLES}
    possible = [name for name, obstacle in obstacles.items() if not obstacle]
    unjudged = _sentences(folder, obstacles)
    if unjudged and (problems or not possible):
        raise EstimatorError(*unjudged, *notes)
    runs = whole_models.read_runs(folder) if set(possible) - set(KERNELS) else None
    op_classes = {op_class for name in possible for op_class in _op_classes(name)}
    with model(truth, op_classes) as ours:
        methods = {name: protocol.remembered(method) for name, method in {"ours": ours, **BASELINES}.items()}
        asked = Request(truth, runs, possible, methods, QUICK_ROWS if quick else None, progress)
        judged = {name: rows for judge in JUDGES for name, rows in judge(asked).items()}
    if not judged:
        raise EstimatorError(f"{folder}: all rows of {', '.join(possible)} calibrate, and none is left", *notes)
    left_out = (*notes, *(runs.notes if runs else ()), *unjudged)
    return Validation(scores.held_out(judged, list(METHODS)), judged, left_out)


def _obstacle(name: str, folder: Path, truth: pd.DataFrame) -> str:
    """Why a problem cannot be judged on a folder, in words; nothing where it can."""
    return protocol.obstacle(truth, KERNELS[name]) if name in KERNELS else whole_models.obstacle(folder)


def _op_classes(name: str) -> tuple[str, ...]:
    return KERNELS[name].op_classes if name in KERNELS else whole_models.OP_CLASSES


def _sentences(folder: Path, obstacles: Mapping[str, str]) -> tuple[str, ...]:
    """One sentence on each obstacle and the problems that meet it."""
    met = {why: [name for name in obstacles if obstacles[name] == why] for why in filter(None, obstacles.values())}
    return tuple(f"{folder}: holds {why}; so {', '.join(names)} cannot be judged" for why, names in met.items())


def shipped(problems: Sequence[str] = ()) -> Validation:
    """The held-out errors that the shipped fit carries. Raises EstimatorError where there are none."""
    with as_file(files(SHIPPED[0]) / SHIPPED[1]) as path:
        if not path.exists():
            raise EstimatorError("no fit with held-out errors is shipped; give --data, a folder of public data sets")
        return read_held_out(path, problems)


def read_held_out(path: Path, problems: Sequence[str] = ()) -> Validation:
    """A written HELD_OUT table, of some problems or all. Raises EstimatorError for an unknown problem."""
    import pandas as pd

    _refuse_unknown(problems)
    cells = csv_files.read_csv(path)
    numbers = cells[["groups", "n", *scores.FIGURES]].apply(pd.to_numeric)
    table = cells.assign(**numbers)[scores.COLUMNS].fillna(dict.fromkeys(KEYS, ""))
    return Validation(table[table["problem"].isin(problems or TITLES)])


def _refuse_unknown(problems: Sequence[str]) -> None:
    for name in problems:
        if name not in TITLES:
            known = ", ".join(TITLES)
            raise EstimatorError(f"Unknown problem '{name}'.{suggestion(name, TITLES)} There are {known}.")
