"""The arithmetic of a published table, from its own printed numbers: counts, peaks, ratios and means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from estimator.core import units
from estimator.core.errors import EstimatorError, within
from estimator.core.types import Comparison, DeviceSpec, Mark, Number, Profile, Sourced, pair_id
from estimator.rollup import chain, fom
from estimator.studies.audit.marks import agreement
from estimator.studies.audit.table import Printed, Table

Times = Mapping[tuple[str, str], Comparison]  # of the table's cells, by row and column


def printed_number(at: str, label: str, printed: Printed, table: Table, unit: str = "s") -> Number:
    """What a cell of the table says, as an input of what follows from it."""
    return chain.given(f"{at}/printed", label, printed.value, unit, "device", table.source)


def seconds(value: float) -> str:
    """A time as the table writes them: seconds, and below one the smaller units."""
    return units.show(value, "s", 3) if value < 1 else f"{units.significant(value, 3)} s"


def counts(name: str, table: Table, profiles: Mapping[str, Profile]) -> Iterator[Comparison]:
    """Printed batch sizes and parameters beside those of the profiled models.

    Raises EstimatorError where a part is stated that has not the printed count.
    """
    for row_name, row in table.rows.items():
        workload = profiles[row_name].workload
        found = {
            "batch size": (row.batch_size, workload.batch_size, 0, ()),
            "parameters": (row.parameters, workload.parameters, row.untrained or 0, row.parameters_of),
        }
        for label, (printed, count, beside, widths) in found.items():
            if printed is None or count is None:
                continue  # nothing of the profile to hold it against
            at, origin = pair_id((name, row_name, label)), "counted where the profile was taken"
            ours = chain.given(
                at,
                label,
                count + beside,
                "1",
                "model",
                f"{origin}, and {beside:,} of the study file" if beside else origin,
            )
            with within(f"{name}: {row_name}"):
                mark, reason = _count(printed, count, beside, widths)
            yield _compared(table, label, row_name, None, printed, ours, mark, reason)


def _count(printed: Printed, count: int, beside: int, widths: tuple[int, ...]) -> tuple[Mark, str]:
    """The mark of a printed count, of a model of ``count`` and ``beside``, or of its dense layers of some widths."""
    whole, part = count + beside, sum((inputs + 1) * outputs for inputs, outputs in pairwise(widths))
    layers = "-".join(map(str, widths))
    if widths and not part == printed.value != whole:
        raise EstimatorError(
            f"'parameters_of' says that {printed.text} counts the dense layers {layers} alone, which have {part:,} of "
            f"the model's {whole:,}; mend or delete it"
        )
    if widths:
        return "wrong part", f"the dense layers {layers} alone have {part:,}; the whole model has {whole:,}"
    if printed.value == whole:
        return "reproduced", f"{count:,} are trained, {beside:,} are not" if beside else ""
    return "cannot be told", f"the profile has {whole:,}, and nothing here says what else was counted"


def peaks(name: str, table: Table, devices: Mapping[str, tuple[DeviceSpec, ...]]) -> Iterator[Comparison]:
    """Printed peaks over the baseline's: is it the devices' in the runs' precision, or of two unlike precisions?"""
    wanted = (table.precision, table.precision)
    for column, shown in table.columns.items():
        found = _peak_ratios(devices[column], devices[table.baseline])
        right = [pair for pair in found if pair.precisions == wanted]
        if shown.peak is None or not right:
            continue
        fitting = [pair for pair in (*right, *found) if agreement(shown.peak, pair.value) != "cannot be told"]
        ours = fitting[0] if fitting and fitting[0] in right else right[0]
        mark = agreement(shown.peak, ours.value)
        if fitting and ours is not fitting[0]:
            mark = "wrong precision"
        label, at = f"peak over {table.baseline}'s", pair_id((name, column, "peak"))
        given = tuple(
            chain.given(f"{at}/{device}", f"{table.precision} peak of {device}", rate.value, "FLOP/s", "device",
                        rate.source or "catalogue")
            for device, rate in ((ours.over, ours.high), (ours.under, ours.low))
        )  # fmt: skip
        told = (fitting or right)[0].told()
        others = " or ".join(f"{pair.value:.3g} on {pair.over}" for pair in right)
        reason = f"{told}; the runs' own {table.precision} over {table.precision} is {others}"
        yield _compared(table, label, None, column, shown.peak, _quotient(at, label, *given),
                        mark, told if mark != "wrong precision" else reason, given)  # fmt: skip


class PeakRatio(NamedTuple):
    """One device's peak in one precision over another's in another."""

    over: str
    under: str
    precisions: tuple[str, str]
    high: Sourced
    low: Sourced

    @property
    def value(self) -> float:
        """The ratio."""
        return self.high.value / self.low.value

    def told(self) -> str:
        """The ratio in words."""
        high, low = (f"{precision} of" for precision in self.precisions)
        return f"{high} {self.over} over {low} {self.under} is {self.high} / {self.low} = {self.value:.4g}"


def _peak_ratios(devices: tuple[DeviceSpec, ...], baselines: tuple[DeviceSpec, ...]) -> list[PeakRatio]:
    """The ratios that a printed one may be: every precision of a device over every one of the likeliest baseline."""
    return [
        PeakRatio(device.name, base.name, (over, under), high, low)
        for device in devices
        for base in baselines[:1]
        for over, high in _rates(device).items()
        for under, low in _rates(base).items()
    ]


def _rates(device: DeviceSpec) -> dict[str, Sourced]:
    return {precision: peak.matrix for precision, peak in device.peak.items() if peak.matrix}


def ratios(name: str, table: Table, times: Times, steps: Mapping[tuple[str, str], Number]) -> Iterator[Comparison]:
    """Every printed ratio beside the quotient of its printed times, and beside that of the predicted steps."""
    for row_name, row in table.rows.items():
        for column, printed in row.ratios.items():
            base, own = times[row_name, table.baseline], times[row_name, column]
            at = pair_id((name, row_name, column, "ratio"))
            label = f"ratio to {table.baseline}"
            ours = _quotient(at, f"{label} of the printed times", base.numbers[0], own.numbers[0])
            alike = _like_with_like(at, base, steps.get((row_name, table.baseline)), own, steps.get((row_name, column)))
            mark = agreement(printed, float(ours.samples[0]))
            if mark != "cannot be told" and "data-bound" in (base.mark, own.mark):
                mark = "data-bound"
            given = printed_number(at, label, printed, table, "1")
            numbers = (given, *((alike,) if alike else ()))
            reason = "; ".join(_of_times(base, own, alike, table.rules.data_bound))
            yield _compared(table, label, row_name, column, printed, ours, mark, reason, numbers, like_with_like=alike)


def _of_times(base: Comparison, own: Comparison, alike: Number | None, factor: float) -> Iterator[str]:
    """The quotient of two printed times in words, what is unlike in it, and what it would be of like with like."""
    yield f"{base.as_printed} / {own.as_printed} = {base.printed / own.printed:.4g}"
    over, under = (cell.printed / cell.ours.samples[0] if cell.ours else None for cell in (base, own))
    shown = [f"{c.as_printed} is {x:.3g} times its predicted kernels" for c, x in ((base, over), (own, under)) if x]
    if over and under and max(over / under, under / over) >= factor:
        yield f"unlike is divided by unlike: {' and '.join(shown)}"
    elif over and not own.estimate and over >= factor:
        yield f"{shown[0]}, and nothing is known of {own.on}'s"
    if alike and own.estimate:
        yield f"like with like, of predicted kernels alone, it would be {alike.samples[0]:.3g}"
    if over and base.ours and over >= factor * (under or 1.0) and own.mark != "data-bound":
        kernels = float(base.ours.samples[0])
        quotient = f"{seconds(kernels)} over the printed {own.as_printed} is {kernels / own.printed:.3g}"
        yield f"{base.on}'s predicted {quotient}"


def _like_with_like(
    at: str, base: Comparison, over: Number | None, own: Comparison, under: Number | None
) -> Number | None:
    """The ratio of predicted kernels; over the printed time where its device is not known."""
    label = "the same ratio of predicted kernels"
    if over and under:
        return _quotient(f"{at}/like_with_like", label, over, under)
    if base.ours:
        return _quotient(f"{at}/like_with_like", f"{label} over the printed time", base.ours, own.numbers[0])
    return None


class Mean(NamedTuple):
    """What a rule makes of a column's printed numbers, and the rule in words."""

    value: float
    told: str


def means(name: str, table: Table) -> Iterator[Comparison]:
    """Every printed mean beside the rule that gives most of those printed with it."""
    for i, printed in enumerate(table.means):
        rules = {column: _means(table, column) for column in printed}
        shared = sorted(set.intersection(*(set(by_rule) for by_rule in rules.values())))
        rule = max(shared, key=lambda rule: _fit(rule, printed, rules))
        fits, _ = _fit(rule, printed, rules)
        for column, mean in printed.items():
            found, at = rules[column][rule], pair_id((name, f"mean {i + 1}", column))
            inputs = tuple(
                pair_id((name, row, column, "ratio", "printed")) for row, r in table.rows.items() if column in r.ratios
            )
            ours = Number(at, f"mean of {column}'s ratios", np.array([found.value]), "1", "device", found.told, inputs)
            mark = agreement(mean, found.value)
            reason = f"the {found.told} is {found.value:.4g}"
            if mark == "cannot be told":
                alone = [other for other in rules[column].values() if agreement(mean, other.value) != mark]
                fitting = "; ".join(f"the {other.told}, {other.value:.4g}, would be" for other in alone)
                others = "the other means printed with it and not this one" if fits else "none of those printed"
                reason += f", which fits {others}; {fitting or 'nor is any other'}"
            yield _compared(table, f"mean {i + 1} of the ratios", None, column, mean, ours, mark, reason)


def _means(table: Table, column: str) -> dict[str, Mean]:
    """The means that a printed one may be, of a column's printed ratios, and ratios of its total times, by rule."""
    rows = [row for row in table.rows.values() if column in row.ratios]
    measured = [row for row in rows if not row.times[table.baseline].estimated]
    found = {}
    for which, some, said in (
        ("all", rows, f"of all {len(rows)}"),
        ("the measured", measured, f"of the {len(measured)} measured"),
    ):
        if not some:
            continue
        values = np.array([row.ratios[column].value for row in some])
        for kind in ("arithmetic", "harmonic", "geometric"):
            mean = float(fom.MEANS[kind](values, np.ones(len(values))))
            found[f"{kind} mean of {which}"] = Mean(mean, f"{kind} mean {said} ratios")
        base, own = (sum(row.times[c].value for row in some) for c in (table.baseline, column))
        found[f"ratio of the total times of {which}"] = Mean(base / own, f"ratio of the total times {said} rows")
    return found


def _fit(rule: str, printed: Mapping[str, Printed], rules: Mapping[str, Mapping[str, Mean]]) -> tuple[int, float]:
    """How many printed means a rule gives, and how nearly, so that the best rule is the greatest."""
    pairs = [(mean, rules[column][rule].value) for column, mean in printed.items()]
    fitting = [(mean, value) for mean, value in pairs if agreement(mean, value) != "cannot be told"]
    return len(fitting), -sum(abs(value / mean.value - 1) for mean, value in fitting or pairs)


def _quotient(id: str, label: str, over: Number, under: Number) -> Number:
    samples = np.asarray(over.samples / under.samples)
    return Number(id, label, samples, "1", "device", f"{over.label} / {under.label}", (over.id, under.id))


def _compared(
    table: Table, quantity: str, row: str | None, column: str | None, printed: Printed, ours: Number, mark: Mark,
    reason: str, numbers: tuple[Number, ...] = (), like_with_like: Number | None = None,
) -> Comparison:  # fmt: skip
    return Comparison(
        quantity=quantity, unit=row, on=column, printed=printed.value, ours=ours, source=table.source,
        reason=reason or None, as_printed=printed.text, mark=mark, like_with_like=like_with_like,
        numbers=(*numbers, ours),
    )  # fmt: skip
