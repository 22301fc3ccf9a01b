"""The host of the target: the profile's, a factor on it, none, or the framework's launches."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from estimator.core.interval import bounds
from estimator.core.scenarios import Host, Input
from estimator.core.types import Prediction, Profile, RunPlan, Timeline, Workload
from estimator.profiles import canonical
from estimator.rollup.host import (
    DISPATCH_S,
    OTHER_STACK,
    PACE,
    UNPROFILED,
    HostScenario,
    framework_dispatch,
    host_scenario,
    in_scenario,
    ran_on_processor,
)
from tests.conftest import make_device, make_ops
from tests.profiles.layers.models import profile as layers_profile
from tests.rollup.toy_steps import predicted

GPU = make_device(compute_unit="SM")
CPU = make_device(compute_unit="core")


def profile(placement: str) -> Profile:
    rows = make_ops({"op_type": "Mystery", "time_s": 0.6, "placement": placement})
    workload = Workload(name="toy", framework="Keras on TensorFlow")
    return Profile(canonical.to_ops(rows, "toy"), workload, None, "toy")


def scenario(placement: str, host: Host = None, *, draws: int = 4000, same_device: bool = False) -> HostScenario:
    run = np.exp(0.01 * np.r_[0.0, np.random.default_rng(0).normal(size=draws)])
    return host_scenario(profile(placement), None, GPU, RunPlan("toy", host=host, draws=draws), run, same_device)


def test_a_processors_profile_gets_the_frameworks_launches_on_an_accelerator() -> None:
    actual = scenario("/host:CPU")
    low, mid, high = DISPATCH_S["tensorflow"]
    assert (actual.name, actual.dispatch_s) == ("dispatch", mid)
    assert bounds(actual.pace * mid) == pytest.approx([low, mid, high], rel=0.1)
    assert bounds(np.asarray(actual.kernels)) == pytest.approx(OTHER_STACK, rel=0.05)
    assert "the processor's idle time and its host ops are dropped" in actual.notes[0].text


def test_a_frameworks_launches_hold_what_its_host_does_around_them() -> None:
    """The host ops of a processor take no further time on an accelerator."""
    before, launches = predicted(), scenario("/host:CPU", draws=1)
    actual = in_scenario(before, launches)
    assert (actual.samples[:, 6].tolist(), actual.ops["method"][6]) == ([0.0, 0.0], "none")
    kept = in_scenario(before, scenario("/host:CPU", "profile", draws=1))
    assert kept.samples[:, 6].tolist() == before.samples[:, 6].tolist()


def test_kernels_of_a_processor_are_not_those_of_pytorch_on_an_accelerator() -> None:
    ran = profile("/host:CPU")
    ran = dataclasses.replace(ran, workload=ran.workload.model_copy(update={"framework": "PyTorch"}))
    actual = host_scenario(ran, None, GPU, RunPlan("toy", draws=4000), np.ones(4001), same_device=False)
    assert bounds(np.asarray(actual.kernels)) == pytest.approx(OTHER_STACK, rel=0.05)


@pytest.mark.parametrize(
    ("framework", "base"), [("PyTorch 2.3", "torch"), ("Megatron-LM", "torch"), ("DeepSpeed", "torch"), ("Flax", "jax")]
)
def test_what_is_built_on_a_framework_launches_as_that(framework: str, base: str) -> None:
    actual = framework_dispatch(Workload(name="toy", framework=framework))
    assert (actual.framework, actual.interval_s) == (framework, DISPATCH_S[base])


def test_a_framework_that_is_not_known_launches_as_any() -> None:
    assert framework_dispatch(Workload(name="toy", framework="our own")).interval_s == DISPATCH_S["other"]


def test_an_accelerators_profile_keeps_its_host_more_or_less() -> None:
    actual = scenario("gpu:0")
    assert (actual.name, actual.dispatch_s, actual.notes) == ("profile", None, ())
    assert bounds(actual.pace) == pytest.approx(PACE, rel=0.05)


def test_on_its_own_device_the_host_varies_as_the_run_does() -> None:
    low, _, high = bounds(scenario("gpu:0", same_device=True).pace)
    assert 0.97 < low < high < 1.03


def test_without_its_profiler_a_host_is_faster() -> None:
    """Its events were recorded one by one: then the profiler slowed it."""
    timeline = Timeline(pd.DataFrame(), host_step_s=1.0, step_s=1.0)
    traced = dataclasses.replace(profile("gpu:0"), timeline=timeline)
    actual = host_scenario(traced, None, GPU, RunPlan("toy", draws=4000), np.ones(4001), same_device=True)
    assert actual.pace[0] == 1.0
    assert bounds(actual.pace) == pytest.approx(UNPROFILED, rel=0.05)


def test_a_factor_is_another_host_also_on_the_same_device() -> None:
    actual = scenario("gpu:0", 0.5, same_device=True)
    assert bounds(actual.pace) == pytest.approx([0.5 * end for end in PACE], rel=0.05)
    assert actual.host_ops is not None
    assert bounds(actual.host_ops) == pytest.approx([0.5 * end for end in PACE], rel=0.05)
    assert actual.input_ops is None


def test_input_of_another_host_is_as_uncertain_as_its_pace() -> None:
    actual = scenario("gpu:0", 0.5)
    assert actual.input_ops is not None
    assert bounds(actual.input_ops) == pytest.approx(PACE, rel=0.05)  # a factor is the host's, not the input's
    assert abs(np.corrcoef(actual.input_ops, actual.pace)[0, 1]) < 0.05
    stack = scenario("/host:CPU").input_ops  # of another stack the interval is that of all ops
    assert stack is not None
    assert (stack == 1.0).all()
    assert not scenario("gpu:0", same_device=True).factors


def in_toy_scenario(**known: object) -> Prediction:
    return in_scenario(predicted(), HostScenario("toy", np.ones(2), **known))  # type: ignore[arg-type]


def test_ops_of_the_host_and_of_input_take_what_the_scenario_says() -> None:
    """Two draws; the host's op took 2 s and 4 s, the input's 1 s and 2 s."""
    actual, before = in_toy_scenario(host_ops=np.array([3.0, 5.0]), input="none"), predicted()
    assert actual.samples[:, 6].tolist() == [6.0, 20.0]
    assert actual.samples[:, 7].tolist() == [0.0, 0.0]
    assert actual.ops["target_time_s"][[6, 7]].tolist() == [6.0, 0.0]
    assert actual.ops["high_s"].isna().tolist()[7]
    assert actual.ops["method"][[6, 7]].tolist() == ["carried", "none"]
    assert (actual.ceiling_s[6], actual.ceiling_s[7]) == (20.0, 0.0)
    others = np.r_[0:6, 8:10]
    np.testing.assert_array_equal(actual.samples[:, others], before.samples[:, others])
    assert actual.ops["method"][others].tolist() == before.ops["method"][others].tolist()


def test_on_the_same_host_ops_are_as_they_are() -> None:
    before = predicted()
    actual = in_scenario(before, HostScenario("profile", np.ones(2)))
    np.testing.assert_array_equal(actual.samples, before.samples)
    assert actual.ops["method"].tolist() == before.ops["method"].tolist()


@pytest.mark.parametrize(
    ("host", "pace", "name"), [("none", 0.0, "none"), (0.5, 0.5, "profile × 0.5"), ("profile", 1.0, "profile")]
)
def test_a_scenario_that_is_asked_for(host: Host, pace: float, name: str) -> None:
    actual = scenario("gpu:0", host)
    assert (actual.pace[0], actual.name, actual.dispatch_s, actual.other_stack) == (pace, name, None, False)


@pytest.mark.parametrize(
    ("host", "pace", "name"), [("none", 0.0, "none"), (0.5, 0.5, "dispatch × 0.5"), (1.0, 1.0, "dispatch")]
)
def test_on_an_accelerator_a_scenario_of_a_processors_profile_is_of_the_frameworks_launches(
    host: Host, pace: float, name: str
) -> None:
    """They hide those of kernels, and another stack runs these: so it is with a host that takes no time."""
    default, actual = scenario("/host:CPU"), scenario("/host:CPU", host)
    assert (actual.pace[0], actual.name, actual.dispatch_s) == (pace, name, default.dispatch_s)
    assert actual.other_stack
    assert (np.asarray(actual.kernels) == np.asarray(default.kernels)).all()
    assert actual.pace == pytest.approx(pace * default.pace)


def test_a_processors_own_host_time_can_be_asked_for_on_an_accelerator() -> None:
    actual = scenario("/host:CPU", "profile")
    assert (actual.name, actual.dispatch_s, actual.other_stack) == ("profile", None, True)
    assert bounds(actual.pace) == pytest.approx(PACE, rel=0.05)
    assert [note.code for note in actual.notes] == ["host-profile"]


@pytest.mark.parametrize(
    ("host", "input_", "parts"),
    [(None, None, ()), ("none", None, ("host", "input")), ("none", "carried", ("host",)), (None, "none", ("input",)),
     (2.0, "overlapped", ())],
)  # fmt: skip
def test_what_takes_no_time(host: Host, input_: Input, parts: tuple[str, ...]) -> None:
    plan = RunPlan("toy", host=host, input=input_, draws=3)
    actual = host_scenario(profile("gpu:0"), None, GPU, plan, np.ones(4), same_device=False)
    assert actual.left_out == parts
    assert actual.input == (input_ or ("none" if host == "none" else "carried"))


def test_the_source_device_says_whether_it_is_a_processor() -> None:
    assert ran_on_processor(profile("gpu:0"), CPU)
    assert not ran_on_processor(profile("/host:CPU"), GPU)
    assert ran_on_processor(profile("/host:CPU"), None)
    assert not ran_on_processor(dataclasses.replace(profile("gpu:0")), None)


def test_where_the_source_does_not_say_what_its_units_are_its_ops_do() -> None:
    assert ran_on_processor(profile("/host:CPU"), make_device())
    assert not ran_on_processor(profile("gpu:0"), make_device())


def test_layers_of_which_nothing_ran_get_the_frameworks_launches_on_an_accelerator() -> None:
    run, plan = np.ones(3), RunPlan("toy", draws=2)
    actual = host_scenario(layers_profile(), None, GPU, plan, run, same_device=False)
    assert (actual.name, actual.dispatch_s, actual.other_stack) == ("dispatch", DISPATCH_S["torch"][1], True)
    assert "nothing ran, so no host was profiled" in actual.notes[0].text
    own = host_scenario(layers_profile(), None, CPU, plan, run, same_device=False)
    assert (own.dispatch_s, own.other_stack) == (None, False)
    assert np.ptp(np.asarray(own.kernels)) > 0
    asked = host_scenario(layers_profile(), None, GPU, RunPlan("toy", draws=2, host="profile"), run, same_device=False)
    assert asked.notes == ()
