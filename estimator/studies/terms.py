"""What a study says of a unit of work for its figure of merit: who ran it, how much more it does, what is promised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from estimator.core import quantities, units
from estimator.core.errors import suggestion
from estimator.core.types import File, Positive, Seconds, Share, Whole
from estimator.core.yaml_files import Faults


def _flop(written: object) -> float:
    flop = units.parse(written, "FLOP")
    if flop <= 0:
        raise ValueError(f"is {written!r}; write an amount of arithmetic above zero, such as '1065 TFLOP'")
    return flop


def _mapped(written: object) -> object:
    return written if isinstance(written, dict) else {"value": written}


class _Factor(File):
    value: Positive  #: the number
    source: str | None = None  #: where it is from


Factor = Annotated[_Factor, BeforeValidator(_mapped)]  # a number, or {value: 8, source: …}
Amount = Annotated[float, BeforeValidator(quantities.amount)]


class RanOn(File):
    """The nodes that ran one unit, and what share of their rate is left when the whole machine runs such units."""

    nodes: Whole | None = None  #: that ran one unit
    efficiency: Share | None = None  #: share of their rate that is left when the whole machine runs such units
    source: str | None = None  #: where these are from


class Terms(File):
    """Keys of a unit of work; those with one entry a machine say nothing of machines that they leave out."""

    amount: Amount = 1.0  #: of what `amount_per_s` counts, in one unit
    amount_per_s: dict[str, Amount] | None = None  #: rate by machine, in place of a time
    time_of: Literal["node", "device"] = "node"  #: what takes the given time
    ran_on: dict[str, RanOn] = Field(default={})  #: by machine: the nodes that ran one unit
    capability: dict[str, Factor] = Field(default={})  #: by machine: its unit's work over that of the baseline's unit
    #: by machine: gain of a better algorithm; kept apart from the hardware's, and printed beside it
    algorithmic_factor: dict[str, Factor] = Field(default={})
    committed: dict[str, Seconds] = Field(default={})  #: by machine: time per unit that is promised
    reference_flop: Annotated[float, BeforeValidator(_flop)] | None = None  #: of one unit, on whatever machine it runs
    group: str | None = None  #: class of benchmarks, whose mean is printed by itself


BY_MACHINE = ("amount_per_s", "ran_on", "capability", "algorithmic_factor", "committed")
OF_GIVEN_TIMES = ("amount", "time_of")  # mean nothing beside a profile


def term_faults(
    terms: Mapping[str, Terms], machines: Mapping[str, Any], baseline: str, weights: Mapping[str, float]
) -> Faults:
    """Faults of the terms of all units, and of the weights that a definition gives them, by their place."""
    for name in (name for name in weights if name not in terms):
        known = f"none of the units {', '.join(terms)}.{suggestion(name, terms)}"
        yield ("figure_of_merit", "weights", name), f"weights names '{name}', which is {known}"
    for name, unit in terms.items():
        of_machines = (*_unknown(unit, machines), *_worker_faults(unit, machines))
        faults = (*of_machines, *_baseline_faults(unit, baseline), *_endless(unit))
        yield from ((("units_of_work", name, *at), f"{name}: {sentence}") for at, sentence in faults)


def _unknown(unit: Terms, machines: Mapping[str, Any]) -> Faults:
    for key in BY_MACHINE:
        for machine in (name for name in getattr(unit, key) or {} if name not in machines):
            known = f"none of the machines {', '.join(machines)}.{suggestion(machine, machines)}"
            yield (key, machine), f"{key} names '{machine}', which is {known}"


def _baseline_faults(unit: Terms, baseline: str) -> Faults:
    for key in ("capability", "algorithmic_factor"):
        if baseline in getattr(unit, key):
            yield (key, baseline), f"{key} counts from the baseline, {baseline}, which has none; delete it"
    for machine, factor in unit.algorithmic_factor.items():
        if factor.source is None:
            written = f"{machine}: {{value: {factor.value:g}, source: …}}"
            yield ("algorithmic_factor", machine), f"the algorithmic factor has no source; write '{written}'"


def _worker_faults(unit: Terms, machines: Mapping[str, Any]) -> Faults:
    runner = "a device" if unit.time_of == "device" else "a profile" if predicted(unit) else None
    for machine in (machine for machine, ran in unit.ran_on.items() if ran.nodes and runner):
        yield ("ran_on", machine), f"names the nodes that ran it, but its time is that of {runner}; delete 'nodes'"
    for machine, sized in machines.items() if unit.time_of == "device" else ():
        if not (sized.system or sized.devices_per_node):
            yield ("time_of",), f"the time is that of a device, but {machine} has no 'devices_per_node'; add it"


def _endless(unit: Terms) -> Faults:
    """Rates at which the amount of a unit takes longer than any time that a study may give."""
    for machine, rate in (unit.amount_per_s or {}).items():
        if unit.amount / rate > quantities.LONGEST_S:
            time = f"an amount of {unit.amount:g} at {rate:g} a second takes {unit.amount / rate:g} s on {machine}"
            most = f"write an amount and a rate that make at most {quantities.LONGEST_S:g} s"
            yield ("amount_per_s", machine), f"{time}, which is longer than anything runs; {most}"


def predicted(unit: Any) -> bool:
    """Whether a unit's time is predicted from a profile."""
    return unit.profile is not None
