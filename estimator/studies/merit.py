"""Figures of merit, as a study defines them, from the chains of its units of work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from estimator.core.errors import EstimatorError
from estimator.core.interval import share_above
from estimator.core.notes import Note
from estimator.core.types import Chains, FigureOfMerit, Floats, Number, Refusal
from estimator.core.units import percent
from estimator.rollup import fom, presets
from estimator.rollup.fom import Definition
from estimator.studies.study import Study
from estimator.studies.terms import Factor

DOMINANT = 0.9  # share of a figure, from which a warning names the unit that makes it
RATE_OF = {"system": "units_per_day", "node": "runs_per_day_per_node", "worker": "runs_per_day"}
COUNTED_RATE, LINEAR_RATE = "counted_per_day", "linear_per_day"


def figure_of_merit(study: Study, machine: str, chains: Chains) -> FigureOfMerit:
    """The figure of merit of one machine over the baseline, as the study defines it.

    Raises EstimatorError where it compares workers of unlike kinds.
    """
    definition = study.figure_of_merit
    _refuse_unlike_workers(study, machine, chains, definition)
    weights = weights_of(study, definition)
    rates, baseline = _both(study, machine, chains, definition)
    samples = fom.figure_of_merit(rates, baseline, weights, definition)
    means, means_unit = _own_means(study, {study.baseline: baseline, machine: rates}, definition)
    return FigureOfMerit(
        target=machine,
        samples=samples,
        p_threshold=share_above(samples, definition.threshold),
        dominant_unit=list(study.units_of_work)[fom.dominant_unit(rates, baseline, weights, definition)],
        other_definitions=fom.all_definitions(rates, baseline, weights),
        level=definition.level,
        means=means,
        means_unit=means_unit,
        groups=dict(_groups(study, rates, baseline)),
        presets=dict(_presets(study, machine, chains)),
        with_algorithm=_with_algorithm(study, machine, rates, baseline),
        committed=_committed(study, machine, chains, rates, baseline),
        notes=(
            *_one_unit(study, machine, fom.unit_shares(rates, baseline, weights, definition)),
            *_below_one(study, machine, chains),
        ),
    )


def machines_without_figure(study: Study, refusals: Mapping[tuple[str, str], Refusal]) -> dict[str, str]:
    """The machines without a figure of merit, and why: it is never that of the units that are left."""
    reasons: dict[str, str] = {}
    for machine in study.machines:
        sides = [(side, unit) for side in (machine, study.baseline) for unit in study.units_of_work]
        refused = [f"{unit} on {side}: {refusals[side, unit].why}" for side, unit in sides if (side, unit) in refusals]
        if machine != study.baseline and refused:
            reasons[machine] = "; ".join(refused)
    return reasons


def _rates(study: Study, machine: str, chains: Chains, definition: Definition) -> Floats:
    """Units per day of one machine, or of one of its nodes or workers, times the units' capability factors."""
    rates = [rate_of(chains[machine, unit], definition).samples for unit in study.units_of_work]
    factors = [_factor(unit.capability, machine) for unit in study.units_of_work.values()]
    return np.asarray(np.stack(np.broadcast_arrays(*rates)) * np.array(factors)[:, None])


def rate_of(numbers: Mapping[str, Number], definition: Definition) -> Number:
    """The rate that a definition averages, from the chain of one unit on one machine."""
    return numbers[rate_name(numbers, definition)]


def rate_name(numbers: Mapping[str, Number], definition: Definition) -> str:
    """The name of that rate: a preset may have its own of whole machines, where a unit's chain holds it."""
    preset = definition.published
    if preset and definition.level == "system":
        own = COUNTED_RATE if preset.to_last_stop else LINEAR_RATE if preset.linear else ""
        if own in numbers:
            return own
    return RATE_OF[definition.level]


def _both(study: Study, machine: str, chains: Chains, definition: Definition) -> tuple[Floats, Floats]:
    """The rates of a machine and of the baseline, with as many samples."""
    both = (_rates(study, name, chains, definition) for name in (machine, study.baseline))
    rates, baseline = np.broadcast_arrays(*both)
    return rates, baseline


def _factor(factors: Mapping[str, Factor], machine: str) -> float:
    return factors[machine].value if machine in factors else 1.0


def weights_of(study: Study, definition: Definition) -> Floats:
    """The weights of the units under a definition."""
    return fom.effective_weights({name: unit.weight for name, unit in study.units_of_work.items()}, definition)


def _own_means(study: Study, rates: Mapping[str, Floats], definition: Definition) -> tuple[dict[str, Floats], str]:
    """Each machine's own mean where the figure is a ratio of means, with its unit."""
    if definition.of != "rates":
        return {}, "1/day"
    given = [unit.reference_flop for unit in study.units_of_work.values()]
    flop = None if None in given else np.array(given, dtype=float)
    weights = weights_of(study, definition)
    means = {name: fom.own_mean(of_units, flop, weights, definition) for name, of_units in rates.items()}
    return {name: mean for name, (mean, _) in means.items()}, next(unit for _, unit in means.values())


def _groups(study: Study, rates: Floats, baseline: Floats) -> Iterator[tuple[str, float]]:
    """The figure of each group of units alone, at nominal inputs."""
    names, definition = [unit.group for unit in study.units_of_work.values()], study.figure_of_merit
    weights = weights_of(study, definition)
    for group in dict.fromkeys(name for name in names if name is not None):
        of = np.array([name == group for name in names])
        figure = fom.figure_of_merit(rates[of, :1], baseline[of, :1], weights[of], definition)
        yield group, float(figure[0])


def _presets(study: Study, machine: str, chains: Chains) -> Iterator[tuple[str, tuple[float, str]]]:
    """What every preset says of the same times, each at its own level, and the unit that dominates it."""
    for name in presets.presets():
        definition = fom.Definition(preset=name)
        if _unlike_workers(study, machine, chains, definition):
            continue
        weights = weights_of(study, definition)
        rates, baseline = _both(study, machine, chains, definition)
        figure = fom.figure_of_merit(rates[:, :1], baseline[:, :1], weights, definition)
        dominant = fom.dominant_unit(rates, baseline, weights, definition)
        yield name, (float(figure[0]), list(study.units_of_work)[dominant])


def _with_algorithm(study: Study, machine: str, rates: Floats, baseline: Floats) -> Floats | None:
    """The figure with the algorithmic factors of the units multiplied in; None where none is declared."""
    definition, units = study.figure_of_merit, study.units_of_work.values()
    if not any(machine in unit.algorithmic_factor for unit in units):
        return None
    factors = np.array([_factor(unit.algorithmic_factor, machine) for unit in units])
    return fom.figure_of_merit(rates * factors[:, None], baseline, weights_of(study, definition), definition)


def _committed(study: Study, machine: str, chains: Chains, rates: Floats, baseline: Floats) -> Floats | None:
    """The figure by committed times, where there are any, in place of the projected; None where there are none."""
    definition, units = study.figure_of_merit, study.units_of_work
    if not any(machine in unit.committed for unit in units.values()):
        return None
    slower = [
        chains[machine, name]["time_per_unit_s"].samples / unit.committed[machine] if machine in unit.committed else 1.0
        for name, unit in units.items()
    ]
    promised = rates * np.stack(np.broadcast_arrays(*slower, rates[0])[:-1])
    return fom.figure_of_merit(promised, baseline, weights_of(study, definition), definition)


def _refuse_unlike_workers(study: Study, machine: str, chains: Chains, definition: Definition) -> None:
    if unlike := _unlike_workers(study, machine, chains, definition):
        raise EstimatorError(
            f"figure_of_merit: the level worker mixes units of unlike levels, {unlike}; compare whole machines "
            "('level: system'), or say with 'time_of' what takes the times"
        )


def _unlike_workers(study: Study, machine: str, chains: Chains, definition: Definition) -> str:
    """Units of which one is run by devices and another by nodes, in words, where the figure compares workers."""
    if definition.level != "worker":
        return ""
    levels = {
        f"{unit} on {name}": "device" in chains[name, unit]["runs_per_day"].level
        for name in (study.baseline, machine)
        for unit in study.units_of_work
    }
    kinds = {by_devices: pair for pair, by_devices in levels.items()}
    return f"{kinds[True]} of devices and {kinds[False]} of nodes" if len(kinds) > 1 else ""


def _speedup(study: Study, machine: str, unit: str, chains: Chains, level: str) -> float:
    """How many times as fast as on the baseline a unit is, at nominal inputs, alone on its nodes or per node."""
    ours, baseline = chains[machine, unit], chains[study.baseline, unit]
    if level == "node":
        return float(ours[RATE_OF[level]].samples[0] / baseline[RATE_OF[level]].samples[0])
    return float(baseline["time_per_unit_s"].samples[0] / ours["time_per_unit_s"].samples[0])


def _one_unit(study: Study, machine: str, shares: Floats) -> Iterator[Note]:
    """Where one of several units makes nearly all of the figure, other than by a definition that takes the least."""
    unit = int(shares.argmax())
    if len(shares) < 2 or study.figure_of_merit.mean == "minimum" or shares[unit] < DOMINANT:
        return
    text = (
        f"{list(study.units_of_work)[unit]} determines {percent(shares[unit], 3)} of the figure of {machine}, and the "
        "other units hardly count; weights or another definition would change that"
    )
    yield Note("one-unit", text, machine)


def _below_one(study: Study, machine: str, chains: Chains) -> Iterator[Note]:
    """Where a speed-up is below what the definition asks for."""
    published = study.figure_of_merit.published
    if published is None or published.speedup is None:
        return
    for unit in study.units_of_work:
        speedup = _speedup(study, machine, unit, chains, published.speedup)
        if speedup < 1:
            text = (
                f"{unit} on {machine} has a speed-up of {speedup:.3g} per {published.speedup}; "
                f"{study.figure_of_merit.preset} asks for at least 1, so its rules do not allow this figure"
            )
            yield Note("speedup-below-one", text, machine)
