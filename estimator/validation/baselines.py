"""Simple methods, on the same rows: what a model must beat. They predict efficiency = roofline time / measured time.

Each is a :data:`estimator.validation.protocol.Method`: fitted on TRUTH of other families, it predicts rows of an unseen
device. Own rows of the target are used for its rows of the same data set.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from estimator.core.errors import EstimatorError
from estimator.core.types import Floats
from estimator.devices import load_device
from estimator.validation import arguments, shapes
from estimator.validation.protocol import SEED, Method, Predictor, worth_judging
from estimator.validation.tables import GROUP

if TYPE_CHECKING:
    import pandas as pd

NEAREST, POWER = 8, 3.0
LEAST_OCTAVES = 1e-3  # so that an equal shape has a finite weight
ROWS_OF_A_GROUP = 4000  # at most, that boosting learns from
BOOSTING = {"max_iter": 300, "learning_rate": 0.06, "min_samples_leaf": 40, "random_state": SEED}
ALIKE = ["kind", "path", "data_set"]  # what neighbours share, the most important first
HARDWARE = ("memory_bandwidth", "compute_units", "boost_clock", "last_level_cache", "power_limit")
CODES = ["stack", "data_set", "op_class", "pass", "op", "precision", "path"]  # what boosting is told beside sizes


def roofline(train: pd.DataFrame) -> Predictor:
    """The listed shape's max(W/P, Q/B) itself."""
    return lambda rows, own: _time(rows, 1.0)


def constant_efficiency(train: pd.DataFrame) -> Predictor:
    """Roofline over one efficiency per op class and path, the median of other groups' medians; over the median of the
    own rows where there are any.
    """
    keys = ["op_class", "path"]
    seen = train[worth_judging(train)]
    of_groups = efficiency(seen).groupby([seen[key] for key in (*keys, *GROUP)]).median()
    constants = of_groups.groupby(level=keys).median()

    def predict(rows: pd.DataFrame, own: pd.DataFrame) -> Floats:
        found = rows[keys].join(constants.rename("constant"), on=keys)["constant"].fillna(constants.median())
        for here, mine in _with_own(rows, own):
            found[here] = efficiency(mine).median()
        return _time(rows, found.to_numpy())

    return predict


def nearest(train: pd.DataFrame) -> Predictor:
    """Roofline over the median efficiency of the 8 most alike rows of other devices, on the same path and of the same
    data set where it has such; over that of the own rows of the kind by inverse distance where there are any.
    """
    seen = train[worth_judging(train)]
    seen = seen.assign(kind=shapes.kind(seen))

    def predict(rows: pd.DataFrame, own: pd.DataFrame) -> Floats:
        rows, own, found = rows.assign(kind=shapes.kind(rows)), own.assign(kind=shapes.kind(own)), np.ones(len(rows))
        for key, places in rows.groupby(ALIKE).indices.items():
            here, mine = rows.iloc[places], _alike(own, ALIKE, key)
            found[places] = _by_distance(mine, here) if len(mine) else _of_others(seen, here, key)
        return _time(rows, found)

    return predict


def boosting(train: pd.DataFrame) -> Predictor:
    """Gradient boosting of the logarithm of efficiency on sizes, kind and hardware; shifted by the median residual of
    the own rows where there are any.

    Raises EstimatorError where scikit-learn is not installed.
    """
    try:
        from sklearn.ensemble import HistGradientBoostingRegressor
    except ImportError:
        raise EstimatorError("gradient boosting needs scikit-learn: pip install 'fom-estimator[fit]'") from None
    seen = train[worth_judging(train)]
    seen = seen[shapes.lowest(shapes.lots(seen, SEED), arguments.groups(seen), ROWS_OF_A_GROUP)]
    words = {name: sorted(seen[name].dropna().unique()) for name in CODES}
    weight = 1.0 / seen.groupby(GROUP)["time_s"].transform("size")
    features = _features(seen, words)
    varies = [len(np.unique(column[np.isfinite(column)])) > 1 for column in features.T]
    model = HistGradientBoostingRegressor(**BOOSTING)
    model.fit(features[:, varies], np.log(efficiency(seen)), sample_weight=weight / weight.mean())

    def log_efficiency(rows: pd.DataFrame) -> Floats:
        return np.asarray(model.predict(_features(rows, words)[:, varies]))

    def predict(rows: pd.DataFrame, own: pd.DataFrame) -> Floats:
        found = log_efficiency(rows)
        for here, mine in _with_own(rows, own):
            found[here] += np.median(np.log(efficiency(mine)) - log_efficiency(mine))
        return _time(rows, np.exp(found))

    return predict


BASELINES: dict[str, Method] = {
    "roofline": roofline,
    "constant efficiency": constant_efficiency,
    "nearest neighbours": nearest,
    "gradient boosting": boosting,
}


def efficiency(rows: pd.DataFrame) -> pd.Series:
    """Roofline over measured time."""
    return rows["ideal_s"] / rows["time_s"]


def _time(rows: pd.DataFrame, efficiency: Floats | float) -> Floats:
    """Roofline time over efficiency [s]."""
    return np.asarray(rows["ideal_s"].to_numpy() / efficiency)


def _with_own(rows: pd.DataFrame, own: pd.DataFrame) -> Iterator[tuple[pd.Series, pd.DataFrame]]:
    """Which rows are of each data set that own rows are of, and those; launches tell nothing of an efficiency."""
    own = own[worth_judging(own)]
    for data_set, mine in own.groupby("data_set"):
        yield rows["data_set"] == data_set, mine


def _alike(rows: pd.DataFrame, keys: list[str], values: tuple[str, ...]) -> pd.DataFrame:
    """The rows that have these values of the keys."""
    return rows[np.logical_and.reduce([rows[key] == value for key, value in zip(keys, values, strict=True)])]


def _of_others(seen: pd.DataFrame, rows: pd.DataFrame, key: tuple[str, ...]) -> Floats:
    """Median efficiency among the nearest rows of other devices that agree in as many keys as any do; 1 where none."""
    for many in range(len(ALIKE), 0, -1):
        alike = _alike(seen, ALIKE[:many], key[:many])
        if len(alike):
            return np.asarray(np.median(efficiency(alike).to_numpy()[_neighbours(alike, rows)[1]], axis=1))
    return np.ones(len(rows))


def _by_distance(mine: pd.DataFrame, rows: pd.DataFrame) -> Floats:
    """Efficiency among own rows, the mean of the nearest weighted by inverse distance to the power POWER."""
    distance, places = _neighbours(mine, rows)
    weight = np.maximum(distance, LEAST_OCTAVES) ** -POWER
    return np.asarray((weight * efficiency(mine).to_numpy()[places]).sum(axis=1) / weight.sum(axis=1))


def _neighbours(known: pd.DataFrame, rows: pd.DataFrame) -> tuple[Floats, np.ndarray]:
    """Rows × up to NEAREST distances in octaves, and positions among the known rows."""
    from scipy.spatial import cKDTree

    many = np.arange(1, min(NEAREST, len(known)) + 1)
    distance, places = cKDTree(shapes.octaves(known)).query(shapes.octaves(rows), k=many)
    return distance, places


def _features(rows: pd.DataFrame, words: dict[str, list[str]]) -> Floats:
    """What boosting sees of each row: sizes, codes of its kind, roofline time, peak, the device's numbers."""
    codes = [
        rows[name].map({word: i for i, word in enumerate(words[name])}).to_numpy(float, na_value=np.nan)
        for name in CODES
    ]
    of_devices = {name: _hardware(str(name)) for name in rows["device"].unique()}
    hardware = np.array([of_devices[name] for name in rows["device"]]).reshape(len(rows), len(HARDWARE))
    rates = np.log2(rows[["ideal_s", "peak"]].to_numpy(dtype=float))
    return np.asarray(np.column_stack([shapes.octaves(rows), *codes, rates, hardware]))


def _hardware(device: str) -> list[float]:
    """The logarithms of a device's numbers; NaN where its file lacks one."""
    spec = load_device(device)
    return [np.log2(found.value) if (found := getattr(spec, name)) else np.nan for name in HARDWARE]
