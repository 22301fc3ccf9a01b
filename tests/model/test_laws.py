"""The laws that a prediction obeys, whatever the device and the ops."""

import dataclasses
import itertools
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimator.core.errors import EstimatorError
from estimator.core.interval import bounds
from estimator.core.types import DeviceSpec, Prediction, Profile, RunPlan, Workload
from estimator.devices import load_device
from estimator.pipeline.step import estimate, predict_step
from estimator.profiles import canonical, read_profile
from estimator.work import count_work
from tests.conftest import ROOT, make_device, make_measurements, make_ops
from tests.model.toy import faster, predict_on

NONE = make_measurements([])
PROFILES = ROOT / "profiles"
SLOW = pytest.mark.slow
PLAN = RunPlan("toy", draws=20)
FEW = settings(max_examples=10)  # each is a prediction, whose time hardly grows with its products
DIM = st.integers(min_value=1, max_value=5000)
PRODUCTS = st.lists(st.tuples(DIM, DIM, DIM), min_size=10, max_size=40)


def products(dims: list[tuple[int, int, int]]) -> pd.DataFrame:
    rows: list[dict[str, object]] = [{"op_type": "MatMul", "m": m, "n": n, "k": k} for m, n, k in dims]
    return count_work(make_ops(*rows, {"op_type": "Relu", "shapes": "7x9"}), Workload(name="toy")).work


def on(device: DeviceSpec, work: pd.DataFrame, plan: RunPlan = PLAN) -> Prediction:
    return predict_on(work, device, NONE, plan)


@pytest.mark.slow
@FEW
@given(PRODUCTS)
def test_doubling_every_peak_and_bandwidth_halves_every_time_less_latency(dims: list[tuple[int, int, int]]) -> None:
    work = products(dims)
    one = on(make_device(), work)
    two = on(make_device(peak={"fp32": "20 TFLOP/s"}, memory_bandwidth="1 TB/s"), work)
    assert np.allclose(two.samples - two.launch, (one.samples - one.launch) / 2, rtol=1e-12)
    assert np.array_equal(one.launch, two.launch)


@pytest.mark.parametrize(
    ("name", "precision"), [("p4", "fp32"), ("v100-sxm2-16gb", "fp16"), ("h100-sxm5-80gb", "bf16"), ("mi100", "fp32")]
)
@settings(max_examples=3)
@given(dims=PRODUCTS)
def test_where_power_binds_it_must_double_too(name: str, precision: str, dims: list[tuple[int, int, int]]) -> None:
    device, work = load_device(name), products(dims).assign(precision=precision)
    one, two = (on(each, work) for each in (device, faster(device, 2.0)))
    assert np.allclose(two.samples[0] - two.launch[0], (one.samples[0] - one.launch[0]) / 2, rtol=1e-12)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("name", ["a100-pcie-40gb", "h100-sxm5-80gb"])
def test_two_vectors_take_no_less_than_one(name: str, precision: str) -> None:
    """Though libraries have a kernel of its own for one."""
    rows = [{"op_type": "MatMul", "m": m, "n": 8192, "k": 8192} for m in (1, 2, 3)]
    work = count_work(make_ops(*rows), Workload(name="toy", precision=precision)).work
    assert np.diff(on(load_device(name), work).samples[0]).min() >= 0.0


@pytest.mark.slow
@FEW
@given(PRODUCTS)
def test_no_time_is_below_the_roofline(dims: list[tuple[int, int, int]]) -> None:
    work = products(dims)
    actual = on(make_device(), work)
    ideal = np.maximum(work["flop"] / 10e12, work["bytes"] / 500e9).to_numpy()
    assert (actual.samples >= ideal * (1 - 1e-12)).all()
    assert (actual.floor_s <= actual.samples[0]).all()
    assert (actual.ceiling_s >= actual.samples[0]).all()


@pytest.mark.slow
@FEW
@given(PRODUCTS, st.integers(1, 500))
def test_more_work_never_takes_less_time(dims: list[tuple[int, int, int]], by: int) -> None:
    larger = (
        [(m + by, n, k) for m, n, k in dims],
        [(m, n + by, k) for m, n, k in dims],
        [(m, n, k + by) for m, n, k in dims],
    )
    small, *large = np.split(on(make_device(), products([*dims, *itertools.chain(*larger)])).samples[0, :-1], 4)
    for times in large:
        assert (times >= small).all()


@pytest.mark.slow
@FEW
@given(PRODUCTS, st.randoms(use_true_random=False))
def test_row_order_never_matters(dims: list[tuple[int, int, int]], random: Random) -> None:
    work = products(dims)
    order = list(range(len(work)))
    random.shuffle(order)
    shuffled = work.iloc[order].reset_index(drop=True)
    one, two = on(make_device(), work).samples[:, order], on(make_device(), shuffled).samples
    assert np.array_equal(one[0], two[0])
    # a matrix product rounds by where a row stands, and loadings are then kept in fp32: 3e-12 was seen
    assert np.allclose(one, two, rtol=1e-9, atol=0.0)


@pytest.mark.slow
@settings(max_examples=12)
@given(st.floats(0.1, 1.0), st.floats(1.1, 3.0))
def test_widening_a_bandwidth_widens_the_interval(narrow: float, factor: float) -> None:
    """From 10 % on, where it outweighs what 400 draws correlate by chance with those of the efficiency."""

    def width(u: float) -> float:
        device = make_device(
            memory_bandwidth={"value": "500 GB/s", "uncertainty": f"{100 * u} %"}, launch_latency="1 us"
        )
        row = on(device, count_work(make_ops({"op_type": "Relu", "shapes": "9000x9000"}), Workload(name="t")).work,
                 RunPlan("toy", draws=400)).ops.iloc[0]  # fmt: skip
        return float(row["high_s"] - row["low_s"])

    assert width(narrow * factor) > width(narrow)


def test_a_profile_on_its_own_device_keeps_its_times(p1b3: Profile) -> None:
    """Even where nothing is known of that device."""
    actual = estimate(p1b3, RunPlan("lecture-x86"))
    assert np.array_equal(actual.prediction.samples[0], p1b3.ops["time_s"].to_numpy())
    assert set(actual.prediction.ops["method"]) == {"measured"}
    assert actual.step.total[0] == pytest.approx(p1b3.ops["time_s"].sum(), rel=1e-12)
    assert np.ptp(actual.step.total) == 0


def test_mid_is_the_value_at_nominal_inputs(p1b3: Profile) -> None:
    with_draws, without = (estimate(p1b3, RunPlan("k20x", draws=draws)) for draws in (200, 0))
    assert with_draws.step.total[0] == pytest.approx(without.step.total[0], rel=1e-12)


def test_the_same_seed_gives_the_same_samples(p1b3: Profile) -> None:
    a, b, c = (estimate(p1b3, RunPlan("k20x", draws=50, seed=s)).step.total for s in (3, 3, 4))
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)


def test_parts_add_to_the_step(p1b3: Profile) -> None:
    step = estimate(p1b3, RunPlan("v100")).step
    assert np.allclose(sum(step.parts().values()), step.total)


def test_host_and_input_time_is_carried(p1b3: Profile) -> None:
    actual = estimate(p1b3, RunPlan("h100"))
    ops = actual.prediction.ops
    assert set(ops.query("method == 'carried'")["op"]) == {"Placeholder"}
    assert actual.step.host[0] == 0.0
    assert actual.step.input[0] == pytest.approx(float(ops.query("op == 'Placeholder'")["time_s"].iloc[0]))


def test_unlisted_time_goes_with_the_steps_modelled_ops(p1b3: Profile) -> None:
    actual = estimate(p1b3, RunPlan("h100", draws=400))
    ops = actual.prediction.ops
    modelled = ~ops["method"].isin(["proportional", "carried"])
    share = ops.loc[modelled, "target_time_s"].sum() / ops.loc[modelled, "time_s"].sum()
    rest = ops.query("method == 'proportional'")
    assert set(rest["op"]) == {"VariableV2", "unlisted"}
    assert (rest["target_time_s"] / rest["time_s"]).to_numpy() == pytest.approx(share)
    assert actual.step.unmodelled[0] == pytest.approx(rest["target_time_s"].sum())
    assert bounds(actual.step.unmodelled)[2] > 0.5 * rest["time_s"].sum()


DUMPS = sorted(str(path.relative_to(PROFILES)) for path in PROFILES.glob("*/*.*") if path.is_dir())


@cache
def read_dump(dump: str) -> Profile:
    return read_profile(dump)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["h100", *(pytest.param(name, marks=SLOW) for name in ("k20x", "v100", "mi300x"))])
@pytest.mark.parametrize("dump", DUMPS)
def test_no_shipped_profile_has_unchanged_device_time_on_an_accelerator(dump: str, target: str) -> None:
    ops = predict_step(read_dump(dump), RunPlan(target, draws=0)).prediction.ops
    assert set(ops.query("method in ['carried', 'unchanged']")["op_class"]) <= {"host", "input"}


@pytest.mark.slow
@FEW
@given(PRODUCTS)
def test_doubling_every_rate_halves_a_proportional_time(dims: list[tuple[int, int, int]]) -> None:
    """Where no start of a kernel takes a fixed time, as it does between GPUs."""
    source = make_device(name="source", compute_unit="MXU", peak={"fp32": "2 TFLOP/s"})
    rows = products(dims).drop(columns=[*"mnk"])[["op", "op_type", "time_s"]]
    work = count_work(rows, Workload(name="toy")).work
    one, two = (predict_on(work, device, NONE, source=source) for device in (make_device(), faster(make_device(), 2.0)))
    assert set(one.ops["method"]) == {"proportional"}
    assert two.samples == pytest.approx(one.samples / 2, rel=1e-12)


def test_a_wider_bandwidth_widens_a_proportional_time() -> None:
    work = count_work(make_ops({"op_type": "Relu"}), Workload(name="toy")).work

    def width(uncertainty: str) -> float:
        device = make_device(memory_bandwidth={"value": "500 GB/s", "uncertainty": uncertainty})
        row = predict_on(work, device, NONE, RunPlan("toy", draws=400), source=make_device(name="source")).ops.iloc[0]
        return float(row["high_s"] - row["low_s"])

    assert 0 < width("5 %") < width("20 %") < width("60 %")


def test_every_op_names_its_evidence(p1b3: Profile) -> None:
    measured, unmeasured = (set(estimate(p1b3, RunPlan(d)).prediction.ops["method"]) for d in ("v100", "h100"))
    assert measured == {"interpolated", "scaled", "roofline", "proportional", "carried"}
    assert unmeasured == {"roofline", "proportional", "carried"}


def test_source_efficiency_needs_the_sources_specifications(p1b3: Profile) -> None:
    assert estimate(p1b3, RunPlan("v100")).prediction.ops["source_efficiency"].isna().all()
    known = estimate(p1b3, RunPlan("v100", source="xeon-phi-7250")).prediction.ops
    forward = known[known["shapes"] == "-1x29532;29532x1000"].iloc[0]
    assert forward["source_efficiency"] == pytest.approx(5.9064e9 / 6.09e12 / 65.31e-3, rel=1e-3)


def test_low_coverage_is_a_warning() -> None:
    work = count_work(
        make_ops({"op_type": "Mystery", "time_s": 0.9}, {"op_type": "Relu", "shapes": "8x8"}), Workload(name="t")
    ).work
    actual = on(make_device(), work)
    assert "is scaled from the source's time" in str(actual.warnings)
    assert actual.covered_fraction < 0.1


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
def test_targets_without_the_precision_are_refused(p1b3: Profile, plan: RunPlan, words: str) -> None:
    with pytest.raises(EstimatorError) as caught:
        estimate(p1b3, plan)
    assert words in str(caught.value)


def test_an_unknown_precision_is_refused() -> None:
    with pytest.raises(EstimatorError, match="precision 'fp31' is not known"):
        RunPlan("k20x", precision="fp31")


def test_tensor_units_speed_up_matrix_products_alone(p1b3: Profile) -> None:
    fp32, bf16 = (estimate(p1b3, RunPlan("a100", precision=p)) for p in ("fp32", "bf16"))
    assert bf16.matrix_step_s[0] < fp32.matrix_step_s[0]
    assert bf16.step.memory[0] >= fp32.step.memory[0]  # a product may become memory-bound, nothing else changes
    assert any("products run in bf16" in sentence for sentence in bf16.assumptions)


def profile_of(*rows: Mapping[str, object], **known: object) -> Profile:
    ops = canonical.to_ops(make_ops(*rows), "toy")
    given: dict[str, object] = {"ops": ops, "workload": Workload(name="toy"), "device": None, "format": "toy", **known}
    return Profile(**given)  # type: ignore[arg-type]


def test_each_row_keeps_its_own_precision() -> None:
    rows = [{"op_type": "MatMul", "precision": p, "m": 4096, "n": 4096, "k": 4096} for p in ("bf16", "fp32")]
    actual = estimate(profile_of(*rows), RunPlan("h100"))
    assert actual.precision == "bf16/fp32"
    assert actual.prediction.samples[0, 0] < actual.prediction.samples[0, 1] / 5
    crossed = estimate(profile_of(*rows), RunPlan("h100", precision="bf16"))
    assert crossed.prediction.samples[0, 1] == actual.prediction.samples[0, 0]


@pytest.mark.slow
def test_the_same_device_in_another_precision_is_another_setting(p1b3: Profile) -> None:
    on_v100 = dataclasses.replace(p1b3, device="v100")
    assert set(estimate(on_v100, RunPlan("v100")).prediction.ops["method"]) == {"measured"}
    assert "measured" not in set(estimate(on_v100, RunPlan("v100", precision="fp16")).prediction.ops["method"])


def test_a_device_outside_the_catalogue_is_known_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("name: mine\npeak: {fp32: 1 TFLOP/s}\nmemory_bandwidth: 1 GB/s\n")
    profile = profile_of({"op_type": "Relu", "shapes": "100x100", "time_s": 0.5}, device="mine")
    actual = estimate(profile, RunPlan(str(tmp_path / "mine.yaml")))
    assert actual.step.total[0] == 0.5


def test_host_and_input_work_is_never_timed_at_memory_speed() -> None:
    rows = [{"op_class": c, "time_s": 0.1, "flop": 1e6, "bytes": 1e6} for c in ("input", "host", "collective")]
    actual = estimate(profile_of(*rows), RunPlan("v100"))
    assert actual.step.total[0] == pytest.approx(0.3)
    assert (actual.step.input[0], actual.step.host[0]) == (0.1, 0.1)
    assert actual.step.communication_exposed[0] == 0.1


def test_a_profile_on_its_own_device_keeps_its_parts(p1b3: Profile) -> None:
    step = estimate(p1b3, RunPlan("lecture-x86")).step
    assert step.compute[0] == pytest.approx(115.528e-3)
    assert step.host[0] == pytest.approx(868e-6)
    assert step.unmodelled[0] == pytest.approx(2.767e-3, rel=1e-3)


def test_overlap_never_takes_a_step_below_the_roofline() -> None:
    rows = [{"op_type": "Relu", "bytes": 8e8, "flop": 0.0, "time_s": 0.1}] * 4
    actual = estimate(profile_of(*rows, wall_step_s=0.1), RunPlan("a100"))
    ideal = 4 * 8e8 / 2.039e12
    assert actual.step.total[0] >= ideal * (1 - 1e-12)
    assert actual.floor_s <= actual.step.total[0] <= actual.ceiling_s


def test_the_interval_lies_between_floor_and_ceiling() -> None:
    actual = estimate(profile_of({"op_type": "Relu", "bytes": 8e8, "flop": 0.0}), RunPlan("lecture-a-nodelet"))
    low, _, high = bounds(actual.step.total)
    assert actual.floor_s <= low * (1 + 1e-12)  # a step is a difference of replayed times
    assert high <= actual.ceiling_s


def test_memory_bound_work_needs_no_vector_peak() -> None:
    work = count_work(make_ops({"op_type": "Relu", "shapes": "1000x1000"}), Workload(name="toy")).work
    actual = on(make_device(peak={"bf16": "100 TFLOP/s"}), work)
    assert list(actual.ops["method"]) == ["roofline"]


def test_a_launch_latency_of_the_device_is_used() -> None:
    work = products([(1, 1, 1)])
    slow, fast = (on(make_device(launch_latency=text), work).launch[0, 0] for text in ("50 us", "1 us"))
    assert (slow, fast) == (pytest.approx(50e-6), pytest.approx(1e-6))


def test_low_coverage_of_the_wall_time_is_a_warning(p1b3: Profile) -> None:
    actual = estimate(dataclasses.replace(p1b3, wall_step_s=1.0), RunPlan("v100"))
    assert "p1b3: ops account for 29 % of the profiled step" in str(actual.warnings)
