"""The lint that compares a device with the most similar one of its architecture."""

import pytest

from estimator.core.types import DeviceSpec
from estimator.devices import lints
from tests.devices.lints.files import H100, SHIPPED_CATALOGUE, bare, peaks, sourced
from tests.devices.lints.mutants import Data

H100_SPARSE = peaks(fp32=67, tf32=989, bf16=1979, fp16=1979, fp8=3958)
H100_DENSE = peaks(fp64=33.5, fp32=67, tf32=495, bf16=989, fp16=989, fp8=1979)
A100 = bare("a100-sxm4-80gb", "memory_bandwidth", "compute_units", "boost_clock", "architecture")
GCD = bare("mi250x-gcd", "memory_bandwidth", "memory_capacity")
ONE_WAY = {"per_direction": sourced("450 GB/s")}
NEIGHBOURS = [  # file, changes, the fields with findings
    (H100 | {"peak": H100_DENSE, "link": ONE_WAY}, {}),
    (H100 | {"peak": H100_DENSE, "link": {"per_direction": sourced("900 GB/s")}}, {"sibling": {"link.per_direction"}}),
    (H100 | {"peak": H100_SPARSE}, {rule: {f"peak.{precision}.tensor" for precision in ("tf32", "bf16", "fp16", "fp8")}
                                    for rule in ("sibling", "peak-arithmetic")}),
    (H100 | {"peak": H100_SPARSE, "compute_units": None}, {"sibling": {
        f"peak.{precision}.tensor" for precision in ("tf32", "bf16", "fp16", "fp8")}}),
    (H100 | {"peak": H100_SPARSE, "architecture": None}, {}),
    (H100 | {"peak": peaks(fp32=28.6, bf16=423), "compute_units": sourced(66), "boost_clock": sourced("1.7 GHz")}, {}),
    (A100 | {"peak": peaks(fp32=19.5, tf32=312, bf16=624), "memory_bandwidth": None, "architecture": "Ampere",
             "specifications": "incomplete"}, {
        "peak-arithmetic": {"peak.tf32.tensor", "peak.bf16.tensor"},
        "sibling": {"peak.tf32.tensor", "peak.bf16.tensor"}}),
    (GCD | {"peak": peaks(fp32=47.9, fp16=383)}, {"sibling": {"memory_bandwidth"}}),
    (GCD | {"peak": peaks(fp32=23.9, fp16=383)}, {"sibling": {"peak.fp16.tensor"}}),
    (GCD | {"peak": peaks(fp16=383)}, {"sibling": {"peak.fp16.tensor"}}),
]  # fmt: skip


@pytest.mark.parametrize(("data", "expected"), NEIGHBOURS)
def test_numbers_are_compared_with_siblings(data: Data, expected: dict[str, set[str]]) -> None:
    fields_by_lint: dict[str, set[str]] = {}
    for lint, finding in lints.findings(DeviceSpec.model_validate(data), SHIPPED_CATALOGUE):
        fields_by_lint.setdefault(lint, set()).add(finding.fields[0])
    assert {lint: fields_by_lint[lint] for lint in fields_by_lint if lint in ("sibling", "peak-arithmetic")} == expected
