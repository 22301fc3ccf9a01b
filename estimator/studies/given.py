"""The numbers of a unit of work whose time the study gives."""

from __future__ import annotations

from functools import partial

from estimator.core.errors import EstimatorError
from estimator.core.types import Number
from estimator.rollup import chain
from estimator.studies.study import UnitOfWork
from estimator.studies.terms import RanOn

STUDY_FILE = "study file"


def given_efficiency(unit: UnitOfWork, machine: str, id_prefix: str) -> dict[str, Number]:
    """The share of its rate that a unit keeps when the whole machine works; nothing where the study says none."""
    ran = unit.ran_on.get(machine, RanOn())
    if ran.efficiency is None:
        return {}
    label, source = "efficiency of the extrapolation to the whole machine", ran.source or STUDY_FILE
    number = chain.given(f"{id_prefix}/extrapolation_efficiency", label, ran.efficiency, "1", "system", source)
    return {"extrapolation_efficiency": number}


def given_time(
    unit: UnitOfWork, machine: str, nodes: int, devices: tuple[int, str], id_prefix: str
) -> tuple[str, dict[str, Number]]:
    """What one worker is, and its time per unit, with how many of them a node has.

    Args:
        unit: its time or rate is given.
        machine: its name.
        nodes: of the machine.
        devices: of one node, with their source.
        id_prefix: of the numbers.

    Raises EstimatorError where it ran on more nodes than the machine has.
    """
    ran = unit.ran_on.get(machine, RanOn())
    if ran.nodes and ran.nodes > nodes:
        raise EstimatorError(f"ran_on: it ran on {ran.nodes} nodes; the machine has {nodes}: give at most that")
    if unit.time_of == "device":
        level, workers, label, source = "device", float(devices[0]), "devices per node", devices[1]
    elif ran.nodes and ran.nodes > 1:
        level, workers, label = f"{ran.nodes} nodes", 1 / ran.nodes, "units at a time, per node"
        source = f"one unit runs on {ran.nodes} nodes ({ran.source or STUDY_FILE})"
    else:
        level, workers, label, source = "node", 1.0, "workers per node", "the time given is that of a whole node"
    given = partial(_given, id_prefix)
    numbers = [given("workers_per_node", label, workers, "1", "node", source)]
    if unit.amount_per_s is None:
        time_s = (unit.time_per_unit or {})[machine]
        numbers.append(given("time_per_unit_s", "time per unit", time_s, "s", level, STUDY_FILE))
    else:
        rate = unit.amount_per_s[machine]
        numbers.append(given("amount", "amount of one unit", unit.amount, "1", level, STUDY_FILE))
        numbers.append(given("amount_per_s", "amount per second", rate, "1/s", level, STUDY_FILE))
    return level, dict(numbers)


def devices_of_worker(unit: UnitOfWork, machine: str, devices: int) -> int:
    """Devices that run one unit whose time is given: one, or those of all its nodes."""
    if unit.time_of == "device":
        return 1
    return devices * (unit.ran_on.get(machine, RanOn()).nodes or 1)


def _given(
    id_prefix: str, name: str, label: str, value: float, unit: str, level: str, source: str
) -> tuple[str, Number]:
    return name, chain.given(f"{id_prefix}/{name}", label, value, unit, level, source)
