"""The numbers of a unit of work whose time the study gives: of a node, of many, of a device, or as a rate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from estimator.core.errors import EstimatorError
from estimator.studies.given import STUDY_FILE, Given
from estimator.studies.size import Size
from estimator.studies.study import Machine, UnitOfWork
from estimator.studies.terms import RanOn


class Worker(NamedTuple):
    """What takes a given time."""

    level: str  # in words
    nodes: int
    devices: int
    share: Given  # workers of a node, or nodes of a worker


def worker_of_time(unit: UnitOfWork, machine: str, size: Size) -> Worker:
    """What takes the time of a unit on a machine: a device, a node, or several nodes.

    Raises EstimatorError where it ran on more nodes than the machine has.
    """
    ran = unit.ran_on.get(machine, RanOn())
    nodes = ran.nodes or 1
    if nodes > size.in_use:
        raise EstimatorError(f"ran_on: it ran on {nodes} nodes; the machine has {size.in_use}: give at most that")
    if unit.time_of == "device":
        return Worker("device", 1, 1, _per_node("devices per node", size.devices, size.devices_source))
    if nodes > 1:
        source = f"one unit runs on {nodes} nodes ({ran.source or STUDY_FILE})"
        per_unit = Given("nodes_per_unit", "nodes of one unit", nodes, "1", f"{nodes} nodes", source)
        return Worker(f"{nodes} nodes", nodes, size.devices * nodes, per_unit)
    return Worker("node", 1, size.devices, _per_node("workers per node", 1, "the time given is that of a whole node"))


def _per_node(label: str, workers: float, source: str) -> Given:
    return Given("workers_per_node", label, workers, "1", "node", source)


def given_time(unit: UnitOfWork, name: str, machine: Machine, worker: Worker) -> Iterator[Given]:
    """How many workers a node has, or nodes a worker; the time or rate of one, without failures where these count."""
    fails = machine.mtbf_node is not None
    yield worker.share
    if unit.amount_per_s is not None:
        yield Given("amount", "amount of one unit", unit.amount, "1", worker.level, STUDY_FILE)
        yield Given("amount_per_s", "amount per second", unit.amount_per_s[name], "1/s", worker.level, STUDY_FILE)
    else:
        time_s = (unit.time_per_unit or {})[name]
        key, label = ("training_s", "time per unit without failures") if fails else ("time_per_unit_s", "time per unit")
        yield Given(key, label, time_s, "s", worker.level, STUDY_FILE)
    if fails:
        yield Given("load_s", "load time", 0.0, "s", worker.level, "part of the time given")


def given_efficiency(unit: UnitOfWork, machine: str) -> Iterator[Given]:
    """The share of its rate that a unit keeps when the whole machine works; nothing where the study says none."""
    ran = unit.ran_on.get(machine, RanOn())
    if ran.efficiency is not None:
        label, source = "efficiency of the extrapolation to the whole machine", ran.source or STUDY_FILE
        yield Given("extrapolation_efficiency", label, ran.efficiency, "1", "system", source)
