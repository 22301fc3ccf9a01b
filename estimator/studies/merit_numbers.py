"""The derivations of figures of merit: every number beside the chains', with its formula and inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from estimator.core.types import Chains, FigureOfMerit, Floats, Number, pair_id
from estimator.rollup import chain
from estimator.studies.given import STUDY_FILE
from estimator.studies.merit import rate_of, weights_of
from estimator.studies.study import Study

VARIANTS = (  # of a figure of merit: its name, what it is, what the units declare for it, the field that holds it
    ("fom_with_algorithm", "figure of merit with the algorithmic factors", "algorithmic_factor", "with_algorithm"),
    ("fom_committed", "figure of merit by committed times", "committed", "committed"),
)
MULTIPLIED = {  # into the rates of a machine, in words, by what the units declare of it
    "capability": "capability factors of the units",
    "algorithmic_factor": "their algorithmic factors",
    "committed": "projected / committed times",
}


def fom_number(study: Study, merit: FigureOfMerit, chains: Chains) -> Number:
    """The figure of merit with its derivation."""
    return _number(study, merit, chains, ("fom", "figure of merit"), merit.samples, ("capability",))


def _number(
    study: Study, merit: FigureOfMerit, chains: Chains, names: tuple[str, str], samples: Floats, keys: Sequence[str]
) -> Number:
    """``names``: its name, and what it is; ``keys``: of what the units may declare for it."""
    machines, units = (merit.target, study.baseline), study.units_of_work
    rates = [rate_of(chains[machine, unit], study.figure_of_merit).id for machine in machines for unit in units]
    weights = [f"weights/{unit}" for unit in units]
    declared = {key: _declared(study, merit.target, key) for key in keys}
    formula = " × ".join((str(study.figure_of_merit), *(MULTIPLIED[key] for key, ids in declared.items() if ids)))
    inputs = (*rates, *weights, *(id for ids in declared.values() for id in ids))
    return Number(f"{merit.target}/{names[0]}", names[1], samples, "1", merit.level, formula, inputs)


def _declared(study: Study, machine: str, key: str) -> list[str]:
    """The ids of what the units declare of a machine under a key."""
    units = study.units_of_work.items()
    return [f"{pair_id((machine, name))}/{key}" for name, unit in units if machine in getattr(unit, key)]


def merit_numbers(study: Study, foms: Mapping[str, FigureOfMerit], chains: Chains) -> dict[str, Number]:
    """All numbers of the figures of merit beside the chains', by id."""
    numbers = [*weight_numbers(study), *_terms(study, chains)]
    for merit in foms.values():
        numbers.append(fom_number(study, merit, chains))
        for name, label, declared, field in VARIANTS:
            if (samples := getattr(merit, field)) is not None:
                numbers.append(_number(study, merit, chains, (name, label), samples, ("capability", declared)))
    return {number.id: number for number in numbers}


def _terms(study: Study, chains: Chains) -> Iterator[Number]:
    """What the units declare of each machine, and projected over committed rates where it can run them."""
    for name, unit in study.units_of_work.items():
        for key, label in (("capability", "capability factor"), ("algorithmic_factor", "algorithmic factor")):
            for machine, factor in getattr(unit, key).items():
                source, id = factor.source or STUDY_FILE, f"{pair_id((machine, name))}/{key}"
                yield chain.given(id, f"{label} of {name}", factor.value, "1", "system", source)
        for machine, time_s in unit.committed.items():
            pair, projected = pair_id((machine, name)), chains.get((machine, name), {}).get("time_per_unit_s")
            level = projected.level if projected else "worker"
            given = chain.given(f"{pair}/committed", "committed time per unit", time_s, "s", level, STUDY_FILE)
            yield given
            if projected is None:
                continue
            ratio, inputs = time_s / projected.samples, (given.id, projected.id)
            formula = "committed time per unit / projected time per unit"
            id = f"{pair}/projected_over_committed"
            yield Number(id, "projected / committed rate", ratio, "1", projected.level, formula, inputs)


def weight_numbers(study: Study) -> Iterator[Number]:
    """The weight of each unit of work."""
    definition = study.figure_of_merit
    has_none = definition.published is not None and not definition.published.weighted
    origin = f"{definition.preset} has no weights" if has_none else "study file, else 1"
    for name, weight in zip(study.units_of_work, weights_of(study, definition), strict=True):
        yield chain.given(f"weights/{name}", f"weight of {name}", weight, "1", "study", origin)
