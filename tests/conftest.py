"""What many tests share, also where several workers run them."""

import gc
import os
import pickle
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, TypeVar

os.environ["OMP_NUM_THREADS"] = "1"  # before numpy: threads that wait for another worker's core take 100 times as long

import pandas as pd
import pytest
from filelock import FileLock
from hypothesis import settings

from estimator.core import library
from estimator.core.notes import sentences
from estimator.core.operators import with_operators
from estimator.core.schema import MEASUREMENTS
from estimator.core.types import DeviceSpec, Fusion, Profile, StudyResult
from estimator.model.coefficients import Coefficients
from estimator.profiles import read_profile
from estimator.studies.run import run_study
from estimator.work import Transformed
from estimator.work.fusion import Fused

settings.register_profile("steady", deadline=None)  # a busy machine is no defect
settings.load_profile("steady")

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
LONG = ("slow", "tensorflow", "browser")  # markers of what lasts longest
LARGE_STUDIES = ("exascale-day", "keras-networks", "lecture-table")  # of many estimates
STUDIES = [
    pytest.param(name, marks=[pytest.mark.slow] if name in LARGE_STUDIES else [])
    for name in library.names("reports", "*")
]
MadeOnce = Callable[[str, Callable[[Path], object]], Path]
Kind = TypeVar("Kind")


class ComputedOnce(Protocol):
    """A fixture: see :func:`computed_once`."""

    def __call__(self, name: str, kind: type[Kind], compute: Callable[[], Kind]) -> Kind: ...


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with long tests come first, so that no worker is left with one at the end: those of most kinds first."""
    kinds: dict[Path, set[str]] = defaultdict(set)
    for item in items:
        kinds[item.path].update(filter(item.get_closest_marker, LONG))
        kinds[item.path].update({"fitted_without"}.intersection(getattr(item, "fixturenames", ())))  # a fit: minutes
    items.sort(key=lambda item: -len(kinds[item.path]))
    if find_spec("tensorflow") is None:
        for item in items:
            if item.get_closest_marker("tensorflow"):
                item.add_marker(pytest.mark.skip(reason="TensorFlow is not installed"))


def pytest_collection_finish() -> None:
    """Modules and tests live to the end: garbage is not looked for among them, nor often in what tests make."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="session")
def p1b3() -> Profile:
    return read_profile("p1b3")


@pytest.fixture(scope="session")
def public_data() -> Callable[[str], Path]:
    """Path of a public table or dump, where it is at hand."""

    def path(name: str) -> Path:
        actual = SHARED / name
        if not actual.exists():
            pytest.skip(f"public data {name} is not at hand")
        return actual

    return path


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> MadeOnce:
    """``made_once(name, make)`` is a folder of this name that ``make`` filled, once for all workers of a run."""
    own = tmp_path_factory.getbasetemp()
    of_all = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own

    def folder(name: str, make: Callable[[Path], object]) -> Path:
        place, made = of_all / name, of_all / f"{name}.made"
        with FileLock(of_all / f"{name}.lock"):
            if not made.exists():
                place.mkdir()
                make(place)
                made.touch()
        return place

    return folder


@pytest.fixture(scope="session")
def computed_once(made_once: MadeOnce) -> ComputedOnce:
    """``computed_once(name, kind, compute)`` is the result of this kind, once for all workers of a run."""
    known: dict[str, Any] = {}

    def result(name: str, kind: type[Any], compute: Callable[[], object]) -> Any:
        if name not in known:
            place = made_once(name, lambda folder: (folder / "result").write_bytes(pickle.dumps(compute())))
            known[name] = pickle.loads((place / "result").read_bytes())
        assert isinstance(known[name], kind)
        return known[name]

    return result


@pytest.fixture(scope="session")
def fitted_without(computed_once: ComputedOnce, public_data: Callable[[str], Path]) -> Callable[[str], Coefficients]:
    """The coefficients fitted to the public data without a family of devices."""
    from estimator.fitting import fitted_model  # needs scipy
    from estimator.validation.data import read_truth

    def fit(family: str) -> Coefficients:
        truth = read_truth(public_data("data"))[0]
        return fitted_model.fit(truth[truth["family"] != family])

    return lambda family: computed_once(f"fit-{family}", Coefficients, lambda: fit(family))


@pytest.fixture(scope="session")
def shipped_study(computed_once: ComputedOnce) -> Callable[[str], StudyResult]:
    """The result of a shipped study."""
    return lambda name: computed_once(f"study-{name}", StudyResult, lambda: run_study(name))


@pytest.fixture(scope="session")
def shipped_report(made_once: MadeOnce, shipped_study: Callable[[str], StudyResult]) -> Callable[[str], Path]:
    """The folder with the report of a shipped study."""
    from estimator.reports.html import write_report  # draws, for which few tests have a use

    return lambda name: made_once(f"report-{name}", lambda folder: write_report(shipped_study(name), folder))


def make_device(**fields: object) -> DeviceSpec:
    """A device in the file format, with plausible numbers where none are given."""
    given = {"name": "toy", "peak": {"fp32": "10 TFLOP/s"}, "memory_bandwidth": "500 GB/s", **fields}
    return DeviceSpec.model_validate(given)


def without_clocks(device: DeviceSpec) -> DeviceSpec:
    """A device whose file gives neither its clock nor what its units do in one."""
    nothing = {"clock": None, "flop_per_clock": None}
    peaks = {
        precision: peak.model_copy(
            update={
                path: rate.model_copy(update=nothing)
                for path in ("vector", "tensor")
                if (rate := getattr(peak, path)) is not None
            }
        )
        for precision, peak in device.peak.items()
    }
    return device.model_copy(update={"boost_clock": None, "peak": peaks})


def make_ops(*rows: Mapping[str, object]) -> pd.DataFrame:
    """An op table; a missing time is 1 ms."""
    return pd.DataFrame([{"op": f"op{i}", "time_s": 1e-3, **row} for i, row in enumerate(rows)])


def make_measurements(rows: pd.DataFrame | Sequence[Mapping[str, object]]) -> pd.DataFrame:
    """MEASUREMENTS as they are read from a file, with the operator of each row."""
    actual = pd.DataFrame(rows)
    return with_operators(
        MEASUREMENTS.conform(actual if len(actual) else actual.reindex(columns=MEASUREMENTS.names()), "")
    )


def unpacked(transformed: Transformed) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """WORK after a transform, and the sentences of its notes."""
    return transformed.work, sentences(transformed.notes)


def unpacked_fusion(fused: Fused) -> tuple[pd.DataFrame, Fusion, tuple[str, ...]]:
    """WORK with its chains fused, what that saves, and the sentences of its warnings."""
    return fused.work, fused.saved, sentences(fused.notes, "warning")


def unpacked_by_kind(transformed: Transformed) -> tuple[pd.DataFrame, tuple[str, ...], tuple[str, ...]]:
    """WORK after a transform, the sentences of its assumptions, and of its warnings."""
    notes = transformed.notes
    return transformed.work, sentences(notes, "assumption"), sentences(notes, "warning")
