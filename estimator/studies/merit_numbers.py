"""The derivations of figures of merit: every number beside the chains', with its formula and inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from estimator.core.types import Chains, FigureOfMerit, Floats, Number, pair_id
from estimator.rollup import chain
from estimator.studies.given import STUDY_FILE
from estimator.studies.merit import rate_of, weights_of
from estimator.studies.study import Study

VARIANTS = (  # of a figure of merit: its name, what it is, what the units declare for it, the field that holds it
    ("fom_with_algorithm", "figure of merit with the algorithmic factors", "algorithmic_factor", "with_algorithm"),
    ("fom_committed", "figure of merit by committed times", "committed", "committed"),
)


def fom_number(study: Study, merit: FigureOfMerit, chains: Chains) -> Number:
    """The figure of merit with its derivation."""
    return _number(study, merit, chains, ("fom", "figure of merit"), merit.samples)


def _number(
    study: Study, merit: FigureOfMerit, chains: Chains, names: tuple[str, str], samples: Floats, declared: str = ""
) -> Number:
    name, label = names
    machines, units = (merit.target, study.baseline), study.units_of_work
    definition = study.figure_of_merit
    rates = [rate_of(chains[machine, unit], definition).id for machine in machines for unit in units]
    weights = [f"weights/{unit}" for unit in units]
    factors = [id for key in ("capability", declared) for id in _declared(study, merit.target, key)]
    formula = " × ".join((str(definition), *_also(study, merit.target, declared)))
    return Number(f"{merit.target}/{name}", label, samples, "1", merit.level, formula, (*rates, *weights, *factors))


def _also(study: Study, machine: str, declared: str) -> Iterator[str]:
    """In words, what the rates of a machine are multiplied by."""
    if _declared(study, machine, "capability"):
        yield "capability factors of the units"
    if declared:
        yield {"algorithmic_factor": "their algorithmic factors", "committed": "projected / committed times"}[declared]


def _declared(study: Study, machine: str, key: str) -> list[str]:
    """The ids of what the units declare of a machine under a key; none for an empty key."""
    units = study.units_of_work.items() if key else ()
    return [f"{pair_id((machine, name))}/{key}" for name, unit in units if machine in getattr(unit, key)]


def merit_numbers(study: Study, foms: Mapping[str, FigureOfMerit], chains: Chains) -> dict[str, Number]:
    """All numbers of the figures of merit beside the chains', by id."""
    numbers = [*weight_numbers(study).values(), *_terms(study, chains)]
    for merit in foms.values():
        numbers.append(fom_number(study, merit, chains))
        for name, label, declared, field in VARIANTS:
            if (samples := getattr(merit, field)) is not None:
                numbers.append(_number(study, merit, chains, (name, label), samples, declared))
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


def weight_numbers(study: Study) -> dict[str, Number]:
    """The weight of each unit of work, by id."""
    definition, origins = study.figure_of_merit, dict.fromkeys(study.units_of_work, "study file, else 1")
    if definition.published and not definition.published.weighted:
        origins = dict.fromkeys(origins, f"{definition.preset} has no weights")
    weights = zip(origins.items(), weights_of(study, definition), strict=True)
    numbers = (
        chain.given(f"weights/{name}", f"weight of {name}", weight, "1", "study", origin)
        for (name, origin), weight in weights
    )
    return {number.id: number for number in numbers}
