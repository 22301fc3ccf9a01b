"""Fit the coefficients of device power to the public rows of Zeus.

Idle power is fitted to the least power of each card; the intensities of products and of streams, and the exponent of
the clock, to all rows of the cards, whose shares of phases are free. How the exponent differs between cards is the
deviation of fits to each alone. How intensities differ is taken from cards left out in turn: the factor on them that
would predict the card best.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from estimator.core.interval import LEVEL, Z
from estimator.core.types import Floats, PowerCoefficients
from estimator.devices import load_device
from estimator.rollup import power
from estimator.validation.power import (
    PRODUCTS_ATTAIN,
    STREAMS_ATTAIN,
    card,
    least_power,
    predict,
    read_mixtures,
    read_sources,
)

if TYPE_CHECKING:
    import pandas as pd

SOURCE = "Zeus (ml-energy/zeus, Apache-2.0), busy, idle_std and reading_std assumed; python -m estimator.fitting.ship"
BUSY = 0.1  # assumed: of the range above idle, while small kernels run
READING_STD = 0.03  # a board's own sensor is right within 5 %, nine times of ten (NVML's documentation, from memory)
IDLE_STD = 0.1  # assumed; the four cards lie within 5 % when left out
START = {"products": 0.9, "streams": 0.4, "clock_exponent": 0.55}  # intensities as they run, exponent
EVALUATIONS = 60
FACTORS = np.geomspace(0.4, 2.5, 33)  # on a card's intensities, that are tried
UNKNOWN_STD = 0.3  # of the intensities, where no two cards tell


def fit(rows: pd.DataFrame) -> PowerCoefficients:
    """Fit all coefficients to rows of several cards, as ``validation.power.read_rows`` gives them."""
    exponents = [fit_means(of_card).clock_exponent for _, of_card in rows.groupby("device")]
    stds = {"clock_exponent_std": float(np.std(np.log(exponents))), "intensity_std": fit_intensity_std(rows)}
    return fit_means(rows).model_copy(update=stds)


def fit_means(rows: pd.DataFrame) -> PowerCoefficients:
    """Fit all but the deviations between cards."""
    from scipy import optimize

    idle = fit_idle(rows)

    def misfit(log_values: Floats) -> float:
        c = _coefficients(idle, np.exp(log_values))
        cards = ((of_card, load_device(str(name))) for name, of_card in rows.groupby("device"))
        return sum(read_mixtures(of_card, card(device, c, least_power(of_card)), c).misfit for of_card, device in cards)

    start = np.log([*START.values()])
    options = {"maxfev": EVALUATIONS, "xatol": 0.01, "fatol": 0.1, "initial_simplex": _simplex(start)}
    best = optimize.minimize(misfit, start, method="Nelder-Mead", options=options)
    return _coefficients(idle, np.exp(best.x))


def _simplex(start: Floats) -> Floats:
    """Corners of the first simplex, each with one value up by a fifth."""
    return np.vstack([start, start + 0.2 * np.eye(len(start))])


def fit_idle(rows: pd.DataFrame) -> tuple[float, float]:
    """Share of the limit, and power of graphics memory [W/B], by least squares of relative errors over cards."""
    cards = [(load_device(str(name)), least_power(of_card)) for name, of_card in rows.groupby("device")]
    amounts = [[device.power_limit.value, power.gddr_bytes(device)] for device, _ in cards if device.power_limit]
    least_w = np.array([least for device, least in cards if device.power_limit])
    scale = np.maximum(np.max(amounts, axis=0), 1.0)
    relative = np.array(amounts) / scale / least_w[:, None]
    share, of_memory = np.linalg.lstsq(relative, np.ones(len(least_w)), rcond=None)[0] / scale
    return float(share), max(float(of_memory), 0.0)


def fit_intensity_std(rows: pd.DataFrame) -> float:
    """The root mean square of the logarithms of the factors by which cards left out in turn differ.

    It is widened as the 90 % interval of Student's t is, as the cards are few. Without two cards it is UNKNOWN_STD.
    """
    from scipy import stats

    left_out = [(rows[rows["device"] == name], rows[rows["device"] != name]) for name in rows["device"].unique()]
    logs = np.array([intensity_log_factor(target, others) for target, others in left_out if len(others)])
    logs = logs[np.isfinite(logs)]
    if len(logs) < 2:
        return UNKNOWN_STD
    return float(np.sqrt(np.mean(logs**2)) * stats.t.ppf((1.0 + LEVEL) / 2, len(logs) - 1) / Z)


def intensity_log_factor(target: pd.DataFrame, others: pd.DataFrame) -> float:
    """The logarithm of the factor on a card's intensities at which the rows of others predict it best; else NaN."""
    c = fit_means(others)
    sources, misfits = read_sources(others, c), []
    for factor in FACTORS:
        kept, predicted = predict(target, sources, c, draws=0, factor=float(factor))
        misfits.append(np.abs(np.log(predicted.power_w[0] / kept["power_w"].to_numpy(dtype=float))).sum())
    return float(np.log(FACTORS[np.argmin(misfits)])) if len(kept) else np.nan


def _coefficients(idle: tuple[float, float], values: Floats) -> PowerCoefficients:
    products, streams, clock_exponent = (float(value) for value in values)
    return PowerCoefficients(
        source=SOURCE,
        idle_share=idle[0],
        idle_gddr_w_per_byte=idle[1],
        idle_std=IDLE_STD,
        busy=BUSY,
        compute=(max(products, 2 * BUSY) - BUSY) / PRODUCTS_ATTAIN,
        memory=(max(streams, 1.1 * BUSY) - BUSY) / STREAMS_ATTAIN,
        intensity_std=0.0,
        clock_exponent=clock_exponent,
        clock_exponent_std=0.0,
        reading_std=READING_STD,
    )
