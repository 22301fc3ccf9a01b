"""Simple methods that a model must beat; they predict efficiency = roofline time / measured time.

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
MIN_OCTAVES = 1e-3  # keeps the weight of an equal shape finite
ROWS_PER_GROUP = 4000  # at most, for the training of boosting
BOOSTING = {"max_iter": 300, "learning_rate": 0.06, "min_samples_leaf": 40, "random_state": SEED}
NEIGHBOUR_KEYS = ["kind", "path", "data_set"]  # that neighbours share, the most important first
HARDWARE = ("memory_bandwidth", "compute_units", "boost_clock", "last_level_cache", "power_limit")
CODED_COLUMNS = ["stack", "data_set", "op_class", "pass", "op", "precision", "path"]  # category columns for boosting


def roofline(train: pd.DataFrame) -> Predictor:
    """Roofline time of the shape: max(W/P, Q/B)."""
    return lambda rows, own: _time(rows, 1.0)


def constant_efficiency(train: pd.DataFrame) -> Predictor:
    """Roofline time over one efficiency per op class and path: the median of the groups' medians.

    Own rows of the data set replace it by their median.
    """
    keys = ["op_class", "path"]
    usable = train[worth_judging(train)]
    group_medians = efficiency(usable).groupby([usable[key] for key in (*keys, *GROUP)]).median()
    constants = group_medians.groupby(level=keys).median()

    def predict(rows: pd.DataFrame, own: pd.DataFrame) -> Floats:
        efficiencies = rows[keys].join(constants.rename("constant"), on=keys)["constant"].fillna(constants.median())
        for in_data_set, data_set_rows in _own_by_data_set(rows, own):
            efficiencies[in_data_set] = efficiency(data_set_rows).median()
        return _time(rows, efficiencies.to_numpy())

    return predict


def nearest(train: pd.DataFrame) -> Predictor:
    """Roofline time over the median efficiency of the 8 nearest rows of other devices.

    They are of the same kind, and of the same path and data set where such rows exist. Own rows of the kind, where they
    exist, are used alone: their mean, weighted by inverse distance.
    """
    usable = train[worth_judging(train)]
    usable = usable.assign(kind=shapes.kind(usable))

    def predict(rows: pd.DataFrame, own: pd.DataFrame) -> Floats:
        rows, own = (each.assign(kind=shapes.kind(each)) for each in (rows, own))
        efficiencies = np.ones(len(rows))
        for key, positions in rows.groupby(NEIGHBOUR_KEYS).indices.items():
            group, own_matches = rows.iloc[positions], _matching_rows(own, NEIGHBOUR_KEYS, key)
            efficiencies[positions] = (
                _by_distance(own_matches, group) if len(own_matches) else _efficiency_of_others(usable, group, key)
            )
        return _time(rows, efficiencies)

    return predict


def boosting(train: pd.DataFrame) -> Predictor:
    """Gradient boosting of log efficiency on sizes, kind and hardware; own rows shift it by their median residual.

    Raises EstimatorError where scikit-learn is not installed.
    """
    try:
        from sklearn.ensemble import HistGradientBoostingRegressor
    except ImportError:
        raise EstimatorError("gradient boosting needs scikit-learn: pip install 'fom-estimator[fit]'") from None
    usable = train[worth_judging(train)]
    usable = usable[shapes.lowest(shapes.lots(usable, SEED), arguments.groups(usable), ROWS_PER_GROUP)]
    categories = {name: sorted(usable[name].dropna().unique()) for name in CODED_COLUMNS}
    weight = 1.0 / usable.groupby(GROUP)["time_s"].transform("size")
    features = _features(usable, categories)
    varies = [len(np.unique(column[np.isfinite(column)])) > 1 for column in features.T]
    model = HistGradientBoostingRegressor(**BOOSTING)
    model.fit(features[:, varies], np.log(efficiency(usable)), sample_weight=weight / weight.mean())

    def log_efficiency(rows: pd.DataFrame) -> Floats:
        return np.asarray(model.predict(_features(rows, categories)[:, varies]))

    def predict(rows: pd.DataFrame, own: pd.DataFrame) -> Floats:
        log_efficiencies = log_efficiency(rows)
        for in_data_set, data_set_rows in _own_by_data_set(rows, own):
            log_efficiencies[in_data_set] += np.median(
                np.log(efficiency(data_set_rows)) - log_efficiency(data_set_rows)
            )
        return _time(rows, np.exp(log_efficiencies))

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


def _own_by_data_set(rows: pd.DataFrame, own: pd.DataFrame) -> Iterator[tuple[pd.Series, pd.DataFrame]]:
    """For each data set of the own rows: which rows belong to it, and its own rows, without launch-bound ones."""
    own = own[worth_judging(own)]
    for data_set, data_set_rows in own.groupby("data_set"):
        yield rows["data_set"] == data_set, data_set_rows


def _matching_rows(rows: pd.DataFrame, keys: list[str], values: tuple[str, ...]) -> pd.DataFrame:
    """The rows with these values of the keys."""
    return rows[np.logical_and.reduce([rows[key] == value for key, value in zip(keys, values, strict=True)])]


def _efficiency_of_others(usable: pd.DataFrame, rows: pd.DataFrame, key: tuple[str, ...]) -> Floats:
    """Median efficiency of the nearest rows of other devices that agree in the most keys; 1 where there are none."""
    for key_count in range(len(NEIGHBOUR_KEYS), 0, -1):
        matches = _matching_rows(usable, NEIGHBOUR_KEYS[:key_count], key[:key_count])
        if len(matches):
            return np.asarray(np.median(efficiency(matches).to_numpy()[_neighbours(matches, rows)[1]], axis=1))
    return np.ones(len(rows))


def _by_distance(own: pd.DataFrame, rows: pd.DataFrame) -> Floats:
    """Efficiency from own rows: mean of the nearest, weighted by distance^-POWER."""
    distance, positions = _neighbours(own, rows)
    weights = np.maximum(distance, MIN_OCTAVES) ** -POWER
    return np.asarray((weights * efficiency(own).to_numpy()[positions]).sum(axis=1) / weights.sum(axis=1))


def _neighbours(candidates: pd.DataFrame, rows: pd.DataFrame) -> tuple[Floats, np.ndarray]:
    """Distances in octaves (rows × up to NEAREST), and positions among the candidates."""
    from scipy.spatial import cKDTree

    ranks = np.arange(1, min(NEAREST, len(candidates)) + 1)
    distance, positions = cKDTree(shapes.octaves(candidates)).query(shapes.octaves(rows), k=ranks)
    return distance, positions


def _features(rows: pd.DataFrame, categories: dict[str, list[str]]) -> Floats:
    """Features of each row: sizes, codes of its kind, roofline time, peak, the device's numbers."""
    codes = [
        rows[name].map({category: i for i, category in enumerate(categories[name])}).to_numpy(float, na_value=np.nan)
        for name in CODED_COLUMNS
    ]
    hardware_by_device = {name: _hardware(str(name)) for name in rows["device"].unique()}
    hardware = np.array([hardware_by_device[name] for name in rows["device"]]).reshape(len(rows), len(HARDWARE))
    rates = np.log2(rows[["ideal_s", "peak"]].to_numpy(dtype=float))
    return np.asarray(np.column_stack([shapes.octaves(rows), *codes, rates, hardware]))


def _hardware(device: str) -> list[float]:
    """The logarithms of a device's numbers; NaN where its file lacks one."""
    spec = load_device(device)
    return [np.log2(number.value) if (number := getattr(spec, name)) else np.nan for name in HARDWARE]
