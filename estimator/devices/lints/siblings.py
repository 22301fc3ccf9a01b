"""The lint that compares a device with the most similar one of its architecture."""

from __future__ import annotations

from estimator.core.types import DeviceSpec, Sourced
from estimator.devices.lints.finding import Catalogue, Finding, Findings, near
from estimator.devices.specs.values import sourced_values

SAME_TOLERANCE, FACTOR_TOLERANCE = 0.01, 0.02
SIMILARITY_FIELDS = ("peak.", "memory_bandwidth", "compute_units")  # the more are equal, the more similar are devices
# not capacity, cache and units: these do double
CHECKED_FIELDS = ("peak.", "memory_bandwidth", "link.per_direction", "link.total")
FACTORS = {2.0: "twice", 0.5: "half"}


def sibling(spec: DeviceSpec, catalogue: Catalogue) -> Findings:
    """No number is twice or half that of the most similar device of the architecture while others are the same."""
    values = dict(sourced_values(spec))
    compared = [(*_compare(values, dict(sourced_values(other))), other.name) for other in catalogue.siblings(spec)]
    same_fields, suspicious, name = max(compared, key=lambda row: (len(row[0]), len(row[1])), default=([], {}, ""))
    for field, factor_text in suspicious.items() if same_fields else ():
        yield Finding(
            f"{field} is {values[field]}, {factor_text} that of {name}, whose {' and '.join(same_fields[:2])} it "
            "shares; is it sparse, both directions, or a module's? mend it",
            (field,),
        )


def _compare(values: dict[str, Sourced], sibling_values: dict[str, Sourced]) -> tuple[list[str], dict[str, str]]:
    """The fields in which two devices are equal, and those that are twice or half for no known reason."""
    ratios = {
        field: value.value / sibling_values[field].value for field, value in values.items() if field in sibling_values
    }
    same_fields = [
        field
        for field, ratio in ratios.items()
        if field.startswith(SIMILARITY_FIELDS) and near(ratio, 1, SAME_TOLERANCE)
    ]
    unit_ratio = ratios.get("compute_units", 1.0)  # half a chip has half its peaks
    suspicious = {
        field: text
        for field, ratio in ratios.items()
        for factor, text in FACTORS.items()
        if field.startswith(CHECKED_FIELDS) and near(ratio, factor, FACTOR_TOLERANCE)
        if not (field.startswith("peak.") and near(ratio, unit_ratio, FACTOR_TOLERANCE))
    }
    return same_fields, suspicious
