"""What callers give, and the one sentence where it is at fault."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from estimator.api import arguments
from estimator.api.compare import compare
from estimator.api.estimate import estimate
from estimator.api.merit import figure_of_merit, write_report
from estimator.api.scale import scale
from estimator.core.errors import EstimatorError
from estimator.core.types import Profile, RunPlan
from estimator.devices import load_device, load_system
from estimator.profiles import read_profile
from tests.conftest import make_device


def call(verb: Any, *args: Any, **kwargs: Any) -> str:
    """The sentence of a refused call."""
    with pytest.raises(EstimatorError) as error:
        verb(*args, **kwargs)
    assert len(error.value.faults) == 1
    return str(error.value)


@pytest.mark.parametrize("verb", [estimate, compare, scale])
def test_an_unknown_keyword_has_a_hint(verb: Any) -> None:
    sentence = call(verb, "p1b3", "v100", precison="bf16")
    assert sentence.startswith(f"{verb.__name__}: 'precison' is no keyword that it has; expected ")
    assert sentence.endswith("Did you mean precision?")


@pytest.mark.parametrize(
    ("verb", "args", "kwargs", "sentence"),
    [
        (estimate, ("p1b3",), {}, "estimate: missing a required argument: 'device'; expected profile, device"),
        (estimate, ("p1b3", "v100", "bf16"), {}, "estimate: too many positional arguments; expected profile, device"),
        (estimate, ("p1b33", "v100"), {}, "Unknown profile 'p1b33'. Did you mean p1b3?"),
        (estimate, ("p1b3", "v1000"), {}, "Unknown device 'v1000'. Did you mean v100"),
        (estimate, (5, "v100"), {}, "profile is 5; expected a name or a path, or a Profile"),
        (estimate, ("p1b3", None), {}, "device is None; expected a name or a path, or a DeviceSpec"),
        (estimate, ("p1b3", "v100"), {"source": 1.5}, "source is 1.5; expected a name or a path, or a DeviceSpec"),
        (estimate, ("p1b3", "v100"), {"measurements": 3}, "measurements is 3; expected a name or a path"),
        (estimate, ("p1b3", "v100"), {"batch": 1.5}, "batch 1.5 is out of range; expected a whole number from 1"),
        (estimate, ("p1b3", "v100"), {"batch": True}, "batch True is out of range; expected a whole number from 1"),
        (estimate, ("p1b3", "v100"), {"seed": -1}, "seed -1 is out of range; expected a whole number from 0"),
        (estimate, ("p1b3", "v100"), {"draws": None}, "draws None is out of range; expected a whole number from 0"),
        (estimate, ("p1b3", "v100"), {"draws": 1}, "draws is 1, too few for a 90 % interval; write 20 or more, or 0"),
        (estimate, ("p1b3", "v100"), {"host": "fast"}, "host is 'fast'; write profile, none, or a factor from 1e-06"),
        (estimate, ("p1b3", "v100"), {"precision": "fp12"}, "precision 'fp12' is not known; expected one of auto"),
        (estimate, ("p1b3", RunPlan("v100")), {"batch": 8}, "'batch' is given beside a RunPlan, which says how to run"),
        (compare, ([], "v100"), {}, "profiles is empty; expected at least one"),
        (compare, ("p1b3", []), {}, "devices is empty; expected at least one"),
        (scale, ("p1b3", 7), {}, "system is 7; expected a name or a path, or a SystemSpec"),
        (scale, ("p1b3", "dgx-a100", "8"), {}, "devices is '8'; expected whole numbers such as [1, 8, 64]"),
        (scale, ("p1b3", "dgx-a100"), {"parallel": None}, "parallel is None; expected one of data, zero1"),
        (scale, ("p1b3", "dgx-a100"), {"parallel": 8}, "parallel is 8; expected one of data, zero1"),
        (scale, ("p1b3", "dgx-a100", np.array(1.5)), {}, "devices is array(1.5); expected whole numbers"),
        (scale, ("p1b3", "dgx-a100", b"8"), {}, "devices is b'8'; expected whole numbers"),
        (compare, ("p1b3", b"v100"), {}, "device is b'v100'; expected a name or a path, or a DeviceSpec"),
        (compare, ("", "v100"), {}, "profile is ''; expected a name or a path, or a Profile"),
        (read_profile, ("",), {}, "profile is ''; expected a name or a path"),
        (read_profile, (None,), {}, "profile is None; expected a name or a path"),
        (load_device, (None,), {}, "device is None; expected a name or a path"),
        (load_device, (make_device(),), {}, "device is DeviceSpec("),
        (load_system, (5,), {}, "system is 5; expected a name or a path"),
        (figure_of_merit, ("",), {}, "study is ''; expected a name or a path"),
        (scale, ("p1b3", "dgx-a100", [1, 2.5]), {}, "devices is [1, 2.5]; expected whole numbers"),
        (scale, ("p1b3", "dgx-a100", 9), {}, "devices 9: dgx-a100 has 1 node of 8; expected a number from 1 to 8, or "),
        (scale, ("p1b3", "dgx-a100", 9), {"nodes": 1.5}, "nodes is 1.5; expected a whole number of at least 1"),
        (scale, ("p1b3", "dgx-a100", 9), {"nodes": 0}, "nodes is 0; expected a whole number of at least 1"),
        (scale, ("p1b3", "dgx-a100"), {"scaling": "medium"}, "scaling 'medium' is not known; expected weak or strong"),
        (figure_of_merit, (5,), {}, "study is 5; expected a name or a path, or a mapping such as its file holds"),
        (write_report, ("lecture-example", "out"), {}, "result is 'lecture-example'; expected what figure_of_merit"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_in_one_sentence(verb: Any, args: Any, kwargs: Any, sentence: str) -> None:
    assert call(verb, *args, **kwargs).startswith(sentence)


def test_names_paths_and_things_that_are_loaded_are_the_same(p1b3: Profile, tmp_path: Path) -> None:
    assert arguments.profile_of(p1b3) is p1b3
    assert [each.workload.name for each in arguments.profiles_of(["p1b3", p1b3])] == ["p1b3", "p1b3"]
    titan = load_system("titan")
    assert arguments.system_of("titan") == arguments.system_of(titan) == titan
    with pytest.raises(EstimatorError, match=r"^system titan: Unknown device 'k20z'\. Did you mean k20x"):
        arguments.system_of(titan.model_copy(update={"device": "k20z"}))
    larger = arguments.system_of("titan", 37376)
    assert larger.nodes.value == 2 * titan.nodes.value
    assert larger.power is not None
    assert titan.power is not None
    assert larger.power.value == 2 * titan.power.value
    assert larger.rmax is None
    v100 = load_device("v100")
    assert arguments.plan_of(v100) == arguments.plan_of("v100-sxm2-16gb") == RunPlan("v100-sxm2-16gb")
    path = tmp_path / "mine.yaml"
    assert arguments.plan_of(path, measurements=path) == RunPlan(str(path), measurements=str(path))
    assert [plan.target for plan in arguments.plans_of(v100)] == ["v100-sxm2-16gb"]


def test_a_device_of_the_users_own_travels_in_the_plan() -> None:
    own = make_device(name="mine")
    plan = arguments.plan_of(own, source=own, batch=np.int64(8))
    assert (plan.target, plan.source, plan.batch, plan.given) == ("mine", "mine", 8, {"mine": own})
    assert type(plan.batch) is int


def test_a_changed_device_needs_a_name_of_its_own() -> None:
    """What was measured on the catalogue's device of that name would be taken for it."""
    v100 = load_device("v100")
    other = v100.model_copy(update={"memory_bandwidth": v100.memory_capacity})
    sentence = call(arguments.plan_of, other)
    assert sentence.startswith("device v100-sxm2-16gb: its memory_bandwidth differs from that of the catalogue's")
    assert arguments.plan_of(other.model_copy(update={"name": "mine"})).given.keys() == {"mine"}


@pytest.mark.parametrize(
    ("given", "counts"), [(8, [8]), (np.array(8), [8]), ([1, np.int64(4)], [1, 4]), (range(1, 3), [1, 2]), ((), [])]
)
def test_numbers_of_devices(given: Any, counts: list[int]) -> None:
    assert arguments.counts_of(given) == counts
