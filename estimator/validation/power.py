"""Mean board power and energy per epoch of trainings on cards never seen, by the public rows of Zeus.

Zeus (You, Chung & Chowdhury, NSDI 2023) lists mean power and time per epoch of six trainings by card, batch and set
power limit. Each card is predicted by coefficients that were fitted without any row of its family, from its device
file and the rows of the same training on the other cards; no power of it is used. That is the tool's situation: a
profile of another device, and a device file. As no profile of these trainings is shipped, their utilisation is read
from the rows of the other cards: how power and time fall with a lowered limit tells which share of the step asks for
much power, which for little, and in which share the card waits. A share goes to the card as an op of unknown class
does, by the mean of the ratios of peaks and of bandwidths, with the interval of that rung (model/proportional.py);
waiting stays as it is. A batch between two of a source's is interpolated in the logarithm; beyond them the nearest is
taken. Several sources are averaged in the logarithm.

- ``power``: the mean power, where nothing measured on the card is known, its time neither.
- ``energy``: power × time per epoch, where nothing measured on the card is known. Most of its error is that of the
  time, which differs with the machines' hosts: the worst rows are embeddings that wait for the processor.
- ``energy-timed``: the same, where the time per epoch at the card's default limit is known, as the step's time has its
  own prediction and its own table. The power, and how much a lowered limit slows the step, are predicted.

All rows are one group, as is said of the reference errors; slices by family show each card.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from estimator.core.interval import bounds, draw, standard
from estimator.core.types import DeviceSpec, Floats, Integers, PowerCoefficients
from estimator.devices import load_device
from estimator.model.proportional import WIDENING
from estimator.rollup import power
from estimator.rollup.host import PACE
from estimator.validation.tables import EVERY_DEVICE, read_columns

if TYPE_CHECKING:
    import pandas as pd

(FILE,) = FILES = ("power/zeus.csv",)
PROBLEMS = {
    "power": "mean board power of trainings",
    "energy": "energy per epoch, specs only",
    "energy-timed": "energy per epoch, with the card's time",
}
POWER_LIMIT = "power limit"  # the method that takes a card to draw its set limit
OP_CLASSES = ()  # no kernel's fit is needed
DATA_SET = "zeus"
DEVICES = {  # the table's name → device file
    "V100 32GB PCIe class": "v100-pcie-32gb", "A40": "a40", "Quadro RTX 6000": "quadro-rtx-6000",
    "P100 PCIe": "p100-pcie-16gb",
}  # fmt: skip
TRAINING = ["dataset", "model", "optimizer"]
NUMBERS = {"batch": "batch", "power_limit_w": "power_limit_w", "epoch_s": "epoch_s", "mean_power_w": "power_w"}
# Of the peak while a training's products run, and of the bandwidth while its streams run: the means that estimates of
# the shipped ResNet-50 at batch 128 give on these four cards (0.54 to 0.81, and 0.72 to 0.86).
PRODUCTS_ATTAIN, STREAMS_ATTAIN = 0.7, 0.8
ROW_STD = 0.05  # of the logarithm of a row's power and time
GRID = 26  # shares of the step between 0 and 1 that are tried
DRAWS, SEED = 300, 0
Fit = Callable[["pd.DataFrame"], PowerCoefficients]  # rows of other families → coefficients


def read_rows(folder: str | Path) -> pd.DataFrame:
    """Read the rows of cards that are shipped: ``device`` and ``family``, TRAINING, and NUMBERS in SI units.

    Raises EstimatorError where the table lacks a column.
    """
    import pandas as pd

    table = read_columns(Path(folder) / FILE, ("device", *TRAINING, *NUMBERS))
    rows = table[table["device"].isin(DEVICES)]
    numbers = {ours: pd.to_numeric(rows[theirs]) for theirs, ours in NUMBERS.items()}
    device = rows["device"].map(DEVICES)
    return rows[TRAINING].assign(**numbers, device=device, family=device.map(_family)).reset_index(drop=True)


def _family(device: str) -> str:
    return load_device(device).family


@dataclass(frozen=True)
class Card:
    """What a prediction needs of a card: limit and idle power [W], peak in fp32 [FLOP/s] and bandwidth [B/s]."""

    limit_w: float
    idle_w: float
    peak: float
    bandwidth: float


def card(device: DeviceSpec, coefficients: PowerCoefficients, idle_w: float | None = None) -> Card:
    """The numbers of a device file, with the idle power that was measured, else that of the coefficients."""
    peak = device.peak_of("fp32").matrix
    if device.power_limit is None or device.memory_bandwidth is None or peak is None:
        raise ValueError(f"{device.name} lacks its power limit, bandwidth or peak")
    limit_w = device.power_limit.value
    modelled = float(power.idle_power(limit_w, power.gddr_bytes(device), coefficients))
    return Card(limit_w, idle_w or modelled, peak.value, device.memory_bandwidth.value)


def least_power(rows: pd.DataFrame) -> float:
    """The idle power of a card at running clocks [W]: the least mean power of any of its rows."""
    return float(rows["power_w"].min())


def phase_intensities(coefficients: PowerCoefficients) -> Floats:
    """The intensities of phases of products, and of phases of streams."""
    return power.intensity(np.array([PRODUCTS_ATTAIN, 0.0]), np.array([0.0, STREAMS_ATTAIN]), coefficients)


@dataclass(frozen=True)
class Mixtures:
    """Each training and batch of one card: shares (rows × phases) of the uncapped step, its time, and the misfit."""

    keys: pd.DataFrame
    shares: Floats
    epoch_s: Floats
    misfit: float  # mean over rows, summed over trainings and batches


def read_mixtures(rows: pd.DataFrame, device: Card, coefficients: PowerCoefficients) -> Mixtures:
    """How long each training and batch of one card asks for much power, for little, and for none.

    All shares of a grid are weighted by how well they explain the rows' power and time.
    """
    import pandas as pd

    keys, mixtures = [], []
    for key, group in rows.groupby([*TRAINING, "batch"]):
        keys.append(key)
        mixtures.append(_mixture(group, device, coefficients))
    shares, log_epoch, misfit = (np.array(each) for each in zip(*mixtures, strict=True))
    return Mixtures(pd.DataFrame(keys, columns=[*TRAINING, "batch"]), shares, np.exp(log_epoch), float(np.sum(misfit)))


def _mixture(rows: pd.DataFrame, device: Card, coefficients: PowerCoefficients) -> tuple[Floats, float, float]:
    shares, caps_w = _grid(), rows["power_limit_w"].to_numpy(dtype=float)[:, None]
    power_w, factor = power.mean_power(
        shares, phase_intensities(coefficients), device.idle_w, device.limit_w, caps_w, coefficients.clock_exponent
    )
    log_epoch = np.log(rows["epoch_s"].to_numpy(dtype=float)[:, None] / factor)
    mean_log = log_epoch.mean(axis=0)
    misses = np.log(power_w / rows["power_w"].to_numpy(dtype=float)[:, None]), log_epoch - mean_log
    cost = sum(2.0 * (np.sqrt(1.0 + (each / ROW_STD) ** 2) - 1.0).sum(axis=0) for each in misses)
    weight = np.exp(-0.5 * (cost - cost.min()))
    weight /= weight.sum()
    return weight @ shares, float(weight @ mean_log), float(cost.min()) / len(rows)


def _grid() -> Floats:
    """Shares of the two phases (points × 2), together at most 1."""
    each = np.linspace(0.0, 1.0, GRID)
    pairs = np.stack(np.meshgrid(each, each, indexing="ij"), axis=-1).reshape(-1, 2)
    return np.asarray(pairs[pairs.sum(axis=1) <= 1.0 + 1e-9])


@dataclass(frozen=True)
class Predicted:
    """Samples (1 + draws × rows) of the power [W], the time per epoch [s], and what a cap makes that longer by."""

    power_w: Floats
    epoch_s: Floats
    factor: Floats


Source = tuple[Card, Mixtures]


def read_sources(rows: pd.DataFrame, coefficients: PowerCoefficients) -> dict[str, Source]:
    """Each device of some rows with its trainings, by name."""
    sources = {}
    for name, of_card in rows.groupby("device"):
        numbers = card(load_device(str(name)), coefficients, least_power(of_card))
        sources[str(name)] = numbers, read_mixtures(of_card, numbers, coefficients)
    return sources


def predict(
    rows: pd.DataFrame,
    sources: Mapping[str, Source],
    coefficients: PowerCoefficients,
    draws: int = DRAWS,
    factor: float = 1.0,
) -> tuple[pd.DataFrame, Predicted]:
    """The rows of one device that a source trained too, and what is predicted of them.

    Args:
        rows: of the target; neither power nor time is read.
        sources: of :func:`read_sources`.
        coefficients: coefficients that have not seen the target.
        draws: of the uncertain inputs.
        factor: on the target's intensities.
    """
    import pandas as pd

    target = load_device(str(rows["device"].iloc[0]))
    kept, predicted = [], []
    for key, group in rows.groupby([*TRAINING, "batch"]):
        at_batch = [(at, numbers) for numbers, mixtures in sources.values() if (at := _at_batch(mixtures, key))]
        if at_batch:
            kept.append(group)
            taken = [_take(*at, numbers, target, group, coefficients, draws, factor) for at, numbers in at_batch]
            predicted.append([_log_mean(each) for each in zip(*taken, strict=True)])
    if not kept:
        return rows.iloc[:0], Predicted(*(np.empty((1 + draws, 0)) for _ in range(3)))
    return pd.concat(kept), Predicted(*(np.concatenate(each, axis=1) for each in zip(*predicted, strict=True)))


def _log_mean(values: tuple[Floats, ...]) -> Floats:
    return np.asarray(np.exp(np.mean(np.log(values), axis=0)))


def _at_batch(mixtures: Mixtures, key: tuple[object, ...]) -> tuple[Floats, float] | None:
    """Shares and time per epoch of a training at a batch; None where the card did not train it."""
    same = (mixtures.keys[TRAINING] == list(key[:-1])).all(axis=1).to_numpy(dtype=bool)
    if not same.any():
        return None
    batches = np.log(mixtures.keys["batch"].to_numpy(dtype=float)[same])  # sorted, as groups are
    columns = [*mixtures.shares[same].T, np.log(mixtures.epoch_s[same])]
    *shares, log_epoch = (float(np.interp(np.log(float(str(key[-1]))), batches, column)) for column in columns)
    return np.array(shares), float(np.exp(log_epoch))


def _take(
    shares: Floats, epoch_s: float, source: Card, device: DeviceSpec, rows: pd.DataFrame,
    coefficients: PowerCoefficients, draws: int, intensity_factor: float,
) -> tuple[Floats, Floats, Floats]:  # fmt: skip
    """Take the shares of a source's step to a device: power, time per epoch, and its factor (1 + draws × rows)."""
    target = card(device, coefficients)
    times = shares * _time_ratios(source, target, draws)
    waits = (1.0 - shares.sum()) * draw("waits", *PACE, draws, SEED)
    step = times.sum(axis=1) + waits
    idle, factor, reading = power.uncertain_factors(device, coefficients, draws, SEED)
    idle_w = np.minimum(idle * target.idle_w, target.limit_w)[:, None]
    intensities = np.minimum(phase_intensities(coefficients) * intensity_factor * factor[:, None], 1.0)[:, None, :]
    caps_w = rows["power_limit_w"].to_numpy(dtype=float)
    exponent = coefficients.clock_exponent * np.exp(
        coefficients.clock_exponent_std * standard("clock exponent", draws, SEED)
    )
    power_w, longer = power.mean_power(
        (times / step[:, None])[:, None, :], intensities, idle_w, target.limit_w, caps_w, exponent[:, None]
    )
    return power_w * reading[:, None], epoch_s * step[:, None] * longer, longer


def _time_ratios(source: Card, target: Card, draws: int) -> Floats:
    """Time on the target over the source's (1 + draws × phases), each phase between the ratios of both rates."""
    ratios = source.peak / target.peak, source.bandwidth / target.bandwidth
    ends = min(ratios) / WIDENING, float(np.sqrt(ratios[0] * ratios[1])), max(ratios) * WIDENING
    return np.stack([draw(f"time ratio/{phase}", *ends, draws, SEED) for phase in ("products", "streams")], axis=1)


def judge(rows: pd.DataFrame, fit: Fit) -> dict[str, pd.DataFrame]:
    """Judge every row of cards of each family by coefficients fitted without it; see the module for the problems.

    Columns: KEYS, with the model as op class and one group of all rows; ``target``, ``measured`` [W] or [J], a column
    for each method, ``low`` and ``high`` of ours.
    """
    import pandas as pd

    frames: dict[str, list[pd.DataFrame]] = {name: [] for name in PROBLEMS}
    for family in sorted(rows["family"].unique()):
        others = rows[rows["family"] != family]
        fitted = fit(others)
        sources = read_sources(others, fitted)
        for _, of_device in rows[rows["family"] == family].groupby("device"):
            for name, judged in _judged(of_device, sources, fitted):
                frames[name].append(judged)
    return {name: pd.concat(several, ignore_index=True) for name, several in frames.items() if several}


def _judged(
    rows: pd.DataFrame, sources: Mapping[str, Source], coefficients: PowerCoefficients
) -> Iterator[tuple[str, pd.DataFrame]]:
    kept, predicted = predict(rows, sources, coefficients)
    default = _rows_at_default(kept)
    default_s = kept["epoch_s"].to_numpy(dtype=float)[default]
    timed = predicted.factor / predicted.factor[:, default] * default_s
    measured = kept["power_w"], kept["power_w"] * kept["epoch_s"], kept["power_w"] * kept["epoch_s"]
    samples = predicted.power_w, predicted.power_w * predicted.epoch_s, predicted.power_w * timed
    limit = kept["power_limit_w"], kept["power_limit_w"] * predicted.epoch_s[0], kept["power_limit_w"] * default_s
    for name, truth, ours, theirs in zip(PROBLEMS, measured, samples, limit, strict=True):
        yield name, _describe(kept, truth, ours, theirs)


def _rows_at_default(rows: pd.DataFrame) -> Integers:
    """For each row the place of the same training and batch at the highest limit, which is the card's default."""
    limits = rows["power_limit_w"].reset_index(drop=True)
    keys = [rows[name].to_numpy() for name in (*TRAINING, "batch")]
    return np.asarray(limits.groupby(keys).transform("idxmax"), dtype=np.int64)


def _describe(rows: pd.DataFrame, measured: pd.Series, samples: Floats, limit: pd.Series) -> pd.DataFrame:
    low, mid, high = bounds(samples)
    figures: Mapping[str, object] = {"measured": measured, "ours": mid, POWER_LIMIT: limit, "low": low, "high": high}
    named = rows.rename(columns={"device": "target", "model": "op_class", "batch": "samples"}).assign(**figures)
    return named.assign(data_set=DATA_SET, device=EVERY_DEVICE, precision="", path="")


def coverage_notes(judged: Mapping[str, pd.DataFrame]) -> Iterator[str]:
    """Yield for each problem how many 90 % intervals hold the measured figure, and on which card fewest do."""
    for name in (name for name in PROBLEMS if name in judged):
        rows = judged[name]
        held = rows["measured"].between(rows["low"], rows["high"])
        by_target = held.groupby(rows["target"]).mean()
        yield (
            f"{name}: {int(held.sum())} of {len(rows)} 90 % intervals hold the measured figure; "
            f"fewest on {by_target.idxmin()}, {100 * by_target.min():.0f} %"
        )
