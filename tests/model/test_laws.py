"""The laws that a prediction obeys, whatever the device and the ops."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimator.core.errors import EstimatorError
from estimator.core.schema import MEASUREMENTS
from estimator.core.types import DeviceSpec, Prediction, Profile, RunPlan, Workload
from estimator.model import predict
from estimator.pipeline import estimate
from estimator.work import count_work
from tests.conftest import make_device, make_ops

NONE = MEASUREMENTS.conform(pd.DataFrame(columns=MEASUREMENTS.names()), "none")
PLAN = RunPlan("toy", draws=20)
FEW = settings(max_examples=40)
DIM = st.integers(min_value=1, max_value=5000)
PRODUCTS = st.lists(st.tuples(DIM, DIM, DIM), min_size=1, max_size=6)


def products(dims: list[tuple[int, int, int]]) -> pd.DataFrame:
    rows: list[dict[str, object]] = [{"op_type": "MatMul", "m": m, "n": n, "k": k} for m, n, k in dims]
    return count_work(make_ops(*rows, {"op_type": "Relu", "shapes": "7x9"}), Workload(name="toy"))[0]


def on(device: DeviceSpec, work: pd.DataFrame, plan: RunPlan = PLAN) -> Prediction:
    return predict(work, None, device, NONE, plan)


@FEW
@given(PRODUCTS)
def test_doubling_every_peak_and_bandwidth_halves_every_time_less_latency(dims: list[tuple[int, int, int]]) -> None:
    work = products(dims)
    one = on(make_device(), work)
    two = on(make_device(peak={"fp32": "20 TFLOP/s"}, memory_bandwidth="1 TB/s"), work)
    assert np.allclose(two.samples - two.launch, (one.samples - one.launch) / 2, rtol=1e-12)
    assert np.array_equal(one.launch, two.launch)


@FEW
@given(PRODUCTS)
def test_no_time_is_below_the_roofline(dims: list[tuple[int, int, int]]) -> None:
    work = products(dims)
    found = on(make_device(), work)
    ideal = np.maximum(work["flop"] / 10e12, work["bytes"] / 500e9).to_numpy()
    assert (found.samples >= ideal * (1 - 1e-12)).all()
    assert (found.floor_s <= found.samples[0]).all()
    assert (found.ceiling_s >= found.samples[0]).all()


@FEW
@given(DIM, DIM, DIM, st.sampled_from("mnk"), st.integers(1, 500))
def test_more_work_never_takes_less_time(m: int, n: int, k: int, grown: str, by: int) -> None:
    small = {"m": m, "n": n, "k": k}
    large = {**small, grown: small[grown] + by}
    found = on(make_device(), products([tuple(small.values()), tuple(large.values())]))  # type: ignore[list-item]
    assert found.samples[0, 1] >= found.samples[0, 0]


@FEW
@given(PRODUCTS, st.randoms(use_true_random=False))
def test_row_order_never_matters(dims: list[tuple[int, int, int]], random: object) -> None:
    work = products(dims)
    order = np.arange(len(work))[::-1]
    shuffled = work.iloc[order].reset_index(drop=True)
    assert np.array_equal(on(make_device(), shuffled).samples, on(make_device(), work).samples[:, order])


@settings(max_examples=25)
@given(st.floats(0.01, 1.0), st.floats(1.05, 3.0))
def test_widening_a_bandwidth_widens_the_interval(narrow: float, factor: float) -> None:
    def width(u: float) -> float:
        device = make_device(
            memory_bandwidth={"value": "500 GB/s", "uncertainty": f"{100 * u} %"}, launch_latency="1 us"
        )
        row = on(device, count_work(make_ops({"op_type": "Relu", "shapes": "9000x9000"}), Workload(name="t"))[0],
                 RunPlan("toy", draws=400)).ops.iloc[0]  # fmt: skip
        return float(row["high_s"] - row["low_s"])

    assert width(narrow * factor) > width(narrow) * 0.98


def test_a_profile_on_its_own_device_keeps_its_times(p1b3: Profile) -> None:
    """Even where nothing is known of that device."""
    found = estimate(p1b3, RunPlan("lecture-x86"))
    assert np.array_equal(found.prediction.samples[0], p1b3.ops["time_s"].to_numpy())
    assert set(found.prediction.ops["method"]) == {"measured"}
    assert found.step.total[0] == pytest.approx(p1b3.ops["time_s"].sum(), rel=1e-12)
    assert np.ptp(found.step.total) == 0


def test_mid_is_the_value_at_nominal_inputs(p1b3: Profile) -> None:
    with_draws, without = (estimate(p1b3, RunPlan("k20x", draws=draws)) for draws in (200, 0))
    assert with_draws.step.total[0] == without.step.total[0]


def test_the_same_seed_gives_the_same_samples(p1b3: Profile) -> None:
    a, b, c = (estimate(p1b3, RunPlan("k20x", draws=50, seed=s)).step.total for s in (3, 3, 4))
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)


def test_parts_add_to_the_step(p1b3: Profile) -> None:
    step = estimate(p1b3, RunPlan("v100")).step
    assert np.allclose(sum(step.parts().values()), step.total)


def test_host_and_input_time_is_carried_unchanged(p1b3: Profile) -> None:
    found = estimate(p1b3, RunPlan("h100"))
    carried = found.prediction.ops.query("method == 'unchanged'")
    assert set(carried["op"]) == {"VariableV2", "Placeholder", "unlisted"}
    assert found.step.host[0] == pytest.approx(868e-6)
    assert found.step.unmodelled[0] == pytest.approx(2.767e-3, rel=1e-3)


def test_every_op_names_its_evidence(p1b3: Profile) -> None:
    measured, unmeasured = (set(estimate(p1b3, RunPlan(d)).prediction.ops["method"]) for d in ("v100", "a100"))
    assert measured == {"interpolated", "roofline", "unchanged"}
    assert unmeasured == {"roofline", "unchanged"}


def test_source_efficiency_needs_the_sources_specifications(p1b3: Profile) -> None:
    assert estimate(p1b3, RunPlan("v100")).prediction.ops["source_efficiency"].isna().all()
    known = estimate(p1b3, RunPlan("v100", source="xeon-phi-7250")).prediction.ops
    forward = known[known["shapes"] == "-1x29532;29532x1000"].iloc[0]
    assert forward["source_efficiency"] == pytest.approx(5.9064e9 / 6.09e12 / 65.31e-3, rel=1e-3)


def test_low_coverage_is_a_warning() -> None:
    work, _ = count_work(
        make_ops({"op_type": "Mystery", "time_s": 0.9}, {"op_type": "Relu", "shapes": "8x8"}), Workload(name="t")
    )
    found = on(make_device(), work)
    assert "carried unchanged" in found.warnings[0]
    assert found.covered_fraction < 0.1


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (
            RunPlan("k20x", precision="bf16"),
            "no hardware path for bf16; matrix products run there in fp64, fp32",
        ),
        (RunPlan("lecture-a-nodelet", precision="bf16"), "gives no peak for bf16"),
        (RunPlan("lecture-x86", source="k20x"), "has no specifications"),
    ],
)
def test_what_a_target_cannot_do(p1b3: Profile, plan: RunPlan, words: str) -> None:
    with pytest.raises(EstimatorError) as caught:
        estimate(p1b3, plan)
    assert words in str(caught.value)


def test_an_unknown_precision() -> None:
    with pytest.raises(EstimatorError, match="precision 'fp31' is not known"):
        RunPlan("k20x", precision="fp31")


def test_tensor_units_speed_up_matrix_products_alone(p1b3: Profile) -> None:
    fp32, bf16 = (estimate(p1b3, RunPlan("a100", precision=p)) for p in ("fp32", "bf16"))
    assert bf16.matrix_step_s[0] < fp32.matrix_step_s[0]
    assert bf16.step.memory[0] >= fp32.step.memory[0]  # a product may become memory-bound, nothing else changes
    assert any("matrix products run in bf16" in sentence for sentence in bf16.assumptions)
