"""Power of a step from what its ops ask for: limits, monotony, caps by hand, and the step of an estimate."""

import dataclasses

import numpy as np
import pytest

from estimator.core.interval import bounds, draw_sourced
from estimator.core.types import Estimate, PowerCoefficients, Profile, RunPlan, Sourced, Workload
from estimator.devices import load_device, load_system
from estimator.model.coefficients import shipped
from estimator.pipeline.step import estimate
from estimator.profiles import canonical, read_profile
from estimator.rollup import power
from tests.conftest import make_device, make_ops
from tests.rollup.toy_steps import predicted, replayed

C = PowerCoefficients(
    source="test", idle_share=0.1, idle_gddr_w_per_byte=1e-9, idle_std=0.0, busy=0.1, compute=1.0, memory=0.4,
    intensity_std=0.0, clock_exponent=0.5, clock_exponent_std=0.0, reading_std=0.0,
)  # fmt: skip
PRODUCT = {"op_type": "MatMul", "m": 8192, "n": 8192, "k": 8192, "time_s": 1.0}
STREAM = {"op_type": "Add", "bytes": 4e9, "time_s": 1.0}


def on(target: str, *ops: dict[str, object], draws: int = 0, **known: float) -> Estimate:
    """The estimate of a step that a processor ran; it waited for the rest of ``wall_step_s``."""
    table = canonical.to_ops(make_ops(*ops), "toy")
    profile = dataclasses.replace(Profile(table, Workload(name="toy"), None, "toy"), **known)  # type: ignore[arg-type]
    return estimate(profile, RunPlan(target, draws=draws, host="profile"))


def power_w(target: str, *ops: dict[str, object], **known: float) -> float:
    actual = on(target, *ops, draws=0, **known).power_w
    assert actual is not None
    return float(actual[0])


def test_idle_power_is_a_share_of_the_limit_and_what_graphics_memory_takes() -> None:
    assert power.idle_power(300.0, 48e9, C) == pytest.approx(30 + 48)
    assert power.gddr_bytes(load_device("a40")) == 48e9
    assert power.gddr_bytes(load_device("v100-pcie-32gb")) == 0


def test_an_intensity_ends_at_the_limit() -> None:
    assert power.intensity([0.0, 0.5, 1.0, 1.0], [0.0, 0.5, 0.0, 1.0], C) == pytest.approx([0.1, 0.8, 1.0, 1.0])


def test_a_cap_above_what_is_asked_changes_nothing() -> None:
    given_w, factor = power.capped([150.0], 50.0, 200.0, 0.5)
    assert (given_w.tolist(), factor.tolist()) == ([150], [1])


def test_a_cap_slows_by_the_power_above_idle() -> None:
    given_w, factor = power.capped(250.0, 50.0, 100.0, 0.5)
    assert (float(given_w), float(factor)) == (100, 2)  # a quarter of the range, half of the clock


def test_a_cap_below_idle_leaves_a_clock() -> None:
    given_w, factor = power.capped(250.0, 50.0, 20.0, 0.5)
    assert given_w == pytest.approx(50 + power.LEAST_RANGE * 200)
    assert np.isfinite(factor)


def test_the_mean_power_of_a_step_by_hand() -> None:
    """Half of the step asks for 250 W, a quarter for 90 W, in a quarter the device is idle."""
    shares, intensities = np.array([0.5, 0.25]), np.array([1.0, 0.2])
    uncapped, same = power.mean_power(shares, intensities, 50.0, 250.0, 250.0, 0.5)
    assert uncapped == pytest.approx(0.5 * 250 + 0.25 * 90 + 0.25 * 50)
    assert same == 1
    capped, longer = power.mean_power(shares, intensities, 50.0, 250.0, 100.0, 0.5)
    assert longer == pytest.approx(1.5)
    assert capped == pytest.approx((1.0 * 100 + 0.25 * 90 + 0.25 * 50) / 1.5)


def test_a_lower_cap_never_raises_power_and_never_shortens_the_step() -> None:
    caps = np.linspace(60.0, 300.0, 25)
    found_w, longer = power.mean_power([[0.6, 0.3]], [1.0, 0.4], 50.0, 250.0, caps, 0.5)
    assert (np.diff(found_w) >= -1e-9).all()
    assert (np.diff(longer) <= 1e-9).all()


@pytest.mark.slow
def test_products_draw_more_than_streams_and_both_more_than_waiting() -> None:
    limit = 250.0
    product, stream = power_w("v100-pcie-32gb", PRODUCT), power_w("v100-pcie-32gb", STREAM)
    waiting = power_w("v100-pcie-32gb", STREAM, wall_step_s=1e4, busy_step_s=1.0)
    idle = float(power.idle_power(limit, 0.0, shipped().power))
    assert limit >= product > stream > waiting > idle


def test_energy_is_power_times_time_in_every_draw() -> None:
    actual = on("v100-pcie-32gb", PRODUCT, STREAM, draws=50)
    assert actual.power_w is not None
    assert actual.energy_j == pytest.approx(actual.power_w * actual.step.total)
    low, mid, high = bounds(actual.power_w)
    assert low < mid < high


@pytest.mark.slow
def test_kernels_that_launches_hide_take_their_energy() -> None:
    """However slowly the host launches, the device runs the same kernels, and is idle for the rest of the step."""
    profile, device = read_profile("gpt2"), load_device("h100")
    limit = device.power_limit.value if device.power_limit else 0.0
    idle_w = float(power.idle_power(limit, power.gddr_bytes(device), shipped().power))
    steps = [estimate(profile, RunPlan("h100", draws=0, mode="inference", host=host)) for host in ("none", 1.0, 4.0)]
    above_idle_j = [float(s.energy_j[0] - idle_w * s.step.total[0]) for s in steps if s.energy_j is not None]
    assert above_idle_j == pytest.approx([above_idle_j[0]] * 3, rel=0.01)
    assert steps[2].step.total[0] > 2 * steps[0].step.total[0]


@pytest.mark.parametrize(("share", "busy"), [(2.0, 1.0), (0.5, 0.5)])
def test_a_device_is_busy_for_no_longer_than_its_step(share: float, busy: float) -> None:
    """Ops of several lanes may run at once."""
    prediction, nothing = predicted(), np.zeros(len(predicted().ops))
    step, limit = replayed(1.0, idle_s=0.0), Sourced(value=110.0, unit="W")
    concurrent = dataclasses.replace(step, running_s=share * step.step.total)
    device = make_device().model_copy(update={"power_limit": limit})
    actual = power.step_power(prediction, concurrent, (nothing, nothing), device, C, RunPlan("toy", draws=1))
    assert actual == pytest.approx(11.0 + 99.0 * C.busy * busy)


def test_the_limit_and_the_nodes_together_make_the_listed_power() -> None:
    system = load_system("alps")
    limit = power.listed_limit(system)
    assert limit is not None
    assert system.power is not None
    low, mid, high = power.node_overhead(4, limit.value, system)
    assert low < mid < high
    assert 2688 * (4 * power.RUN_OF_LIST * limit.value + mid) == pytest.approx(system.power.value)


def test_the_interval_of_a_listed_limit_holds_those_by_the_least_and_the_most_overhead() -> None:
    system = load_system("alps")
    limit = power.listed_limit(system)
    least, _, most = power.NODE_OVERHEAD
    assert limit is not None
    assert limit.relative_uncertainty is not None
    assert system.power is not None
    ratio, each_w = 1 + limit.relative_uncertainty, system.power.value / (4 * system.nodes.value)
    assert limit.value / ratio == pytest.approx(each_w / (0.9 + most))
    assert limit.value * ratio >= each_w / (0.9 + least)


def test_no_list_gives_no_limit() -> None:
    assert power.listed_limit(None) is None
    assert power.listed_limit(load_system("isambard-ai")) is None


def test_a_device_without_a_limit_has_its_machines(p1b3: Profile) -> None:
    system = load_system("jupiter-booster")
    limit = power.listed_limit(system)
    own, actual = (estimate(p1b3, RunPlan("gh200-96gb", draws=200, power_limit=given)) for given in (None, limit))
    assert own.power_w is None
    assert actual.power_w is not None
    assert limit is not None
    assert system.power is not None
    assert limit.value == pytest.approx(system.power.value / (4 * system.nodes.value * (0.9 + 0.33)))
    assert 50 < actual.power_w[0] < limit.value
    assert actual.step.total[0] >= own.step.total[0]
    assert any("a share of the listed power of jupiter-booster" in text for text in actual.assumptions)


def test_the_power_within_a_listed_limit_is_less_certain_than_within_a_known_one(p1b3: Profile) -> None:
    limit = power.listed_limit(load_system("alps"))
    listed, known = (
        estimate(p1b3, RunPlan(name, power_limit=limit)).power_w for name in ("gh200-96gb", "h100-sxm5-80gb")
    )
    assert listed is not None
    assert known is not None
    assert (listed / listed[0]).std() > (known / known[0]).std()


def test_an_uncertain_limit_is_that_of_all_power() -> None:
    prediction, nothing = predicted(), np.zeros(len(predicted().ops))
    limits = [Sourced(value=110.0, unit="W", relative_uncertainty=u) for u in (None, 0.4)]
    plan, step = RunPlan("toy", draws=1), replayed(1.0, idle_s=0.0)
    certain, uncertain = (
        power.step_power(prediction, step, (nothing, nothing), device, C, plan)
        for device in (make_device().model_copy(update={"power_limit": limit}) for limit in limits)
    )
    assert certain is not None
    assert uncertain is not None
    drawn_w = draw_sourced("toy.power_limit", limits[1], plan.draws, plan.seed)
    assert drawn_w[0] == 110.0 != drawn_w[1]
    assert uncertain / certain == pytest.approx(drawn_w / 110.0)


def test_a_processors_power_is_less_certain() -> None:
    plan, c = RunPlan("v100-pcie-32gb", draws=200), C.model_copy(update={"intensity_std": 0.2})
    spreads = [
        float(np.std(np.log(power.uncertain_factors(load_device(name), c, plan.draws, plan.seed)[1])))
        for name in ("v100-pcie-32gb", "epyc-7763")
    ]
    assert spreads[1] == pytest.approx(power.OTHER_KIND * spreads[0], rel=0.3)
    assert "the power of epyc-7763 is computed with coefficients of GPUs" in str(on("epyc-7763", PRODUCT).assumptions)
    assert "coefficients of GPUs" not in str(on("v100-pcie-32gb", PRODUCT).assumptions)


def test_without_a_power_limit_nothing_is_noted() -> None:
    actual = on("gh200-96gb", PRODUCT)
    assert actual.power_w is None
    assert actual.energy_j is None


def test_a_die_has_its_share_of_the_modules_limit() -> None:
    assert power_w("mi250x-gcd", PRODUCT) <= 280


def test_what_a_node_draws_beside_its_devices() -> None:
    low, mid, high = power.node_overhead(4, 300.0, None)
    assert (low, mid, high) == pytest.approx([share * 1200 for share in power.NODE_OVERHEAD])
    titan = load_system("titan")
    low, mid, high = power.node_overhead(1, 235.0, titan)
    assert mid == pytest.approx(8.209e6 / 18688 - 0.9 * 235, rel=1e-3)
    assert low < mid < high


def test_a_node_draws_something_however_little_its_system_lists() -> None:
    frugal = load_system("titan").model_copy(update={"power": Sourced(value=1e6, unit="W")})
    low, mid, high = power.node_overhead(1, 235.0, frugal)
    assert 0 < low <= mid < high


@pytest.mark.slow
def test_the_shipped_resnet_is_near_what_its_cards_drew() -> None:
    """Zeus (NSDI 2023) lists 222 W and 244 W for ResNet-50 at batch 128, by PyTorch; ours is TensorFlow's."""
    profile = read_profile("resnet50")
    for target, drawn_w in {"v100-pcie-32gb": 222, "a40": 244}.items():
        actual = estimate(profile, RunPlan(target, batch=128, draws=200)).power_w
        assert actual is not None
        low, mid, high = bounds(actual)
        assert mid == pytest.approx(drawn_w, rel=0.2)
        assert low < drawn_w < high
