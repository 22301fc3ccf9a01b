"""``estimate`` in Python: a device's step, its tables and figures."""

from dataclasses import replace

import numpy as np
import pytest

from estimator.api.estimate import EstimateResult, estimate
from estimator.core.errors import EstimatorError
from estimator.core.types import Interval, Profile, RunPlan
from estimator.devices import load_device
from estimator.profiles import read_profile
from tests.cli.command_line import read
from tests.conftest import make_device
from tests.reports.test_html import Page


@pytest.fixture(scope="module")
def result() -> EstimateResult:
    return estimate("p1b3", "h100", precision="bf16")


def test_the_document_is_that_of_the_command_line(result: EstimateResult) -> None:
    assert result.document() == read("estimate", "p1b3", "--to", "h100", "--precision", "bf16")


@pytest.mark.slow
def test_every_keyword_reaches_the_plan(p1b3: Profile) -> None:
    options = {
        "precision": "fp16", "batch": 50, "mode": "training", "host": 0.5, "input": "none", "fusion": "elementwise",
        "layout": "none", "seed": 3, "draws": 20,
    }  # fmt: skip
    actual = estimate(p1b3, "v100", source="k20x", **options)  # type: ignore[arg-type]
    assert actual.estimate.plan == RunPlan("v100", source="k20x", **options)  # type: ignore[arg-type]


def test_the_step_is_an_interval_in_seconds(result: EstimateResult) -> None:
    low, mid, high = result.step_s.low, result.step_s.mid, result.step_s.high
    assert low is not None
    assert high is not None
    assert 0 < low < mid < high < 0.1
    assert mid == result.step.total[0]
    assert result.kernels_s.mid <= mid
    assert result.speedup is not None
    assert result.speedup.mid == pytest.approx(result.estimate.source_step_s / mid)


def test_without_draws_there_are_no_ends(p1b3: Profile) -> None:
    actual = estimate(p1b3, "v100", draws=0)
    assert actual.step_s == Interval(None, actual.step.total[0], None, covers="all")
    assert actual.parts["low_s"].isna().all()
    assert actual.parts["time_s"].sum() == pytest.approx(actual.step_s.mid)


def test_ops_are_the_rows_of_the_document(result: EstimateResult) -> None:
    ops, documented = result.ops, result.document()["ops"]
    assert list(ops.columns) == list(documented[0])
    assert ops["target_time_s"].tolist() == [op["target_time_s"] for op in documented]
    drawn = ops[ops["target_time_s"] > 0]
    assert (drawn["low_s"] <= drawn["target_time_s"]).all()
    assert (drawn["target_time_s"] <= drawn["high_s"]).all()
    assert set(ops["bound"].dropna()) <= {"compute", "memory", "latency"}


def test_products_name_the_device_whose_measurements_correct_them(p1b3: Profile) -> None:
    ops = estimate(p1b3, "v100-sxm2-32gb", draws=0).ops  # never measured
    is_product = ops["op_class"] == "gemm"
    assert ops.loc[is_product, "resembling"].str.contains("v100-sxm2-16gb in fp32").all()
    assert ops.loc[~is_product, "resembling"].isna().all()


def test_tables_are_the_callers_own(result: EstimateResult) -> None:
    for name in ("ops", "parts", "timeline"):
        table = getattr(result, name)
        table["mine"] = 1.0
        assert "mine" not in getattr(result, name)
    result.document()["ops"].clear()
    assert result.document()["ops"]


def test_parts_add_up_to_the_step(result: EstimateResult) -> None:
    parts = result.parts
    assert parts.index.name == "part"
    assert parts["time_s"].sum() == pytest.approx(result.step_s.mid)
    assert parts["share"].sum() == pytest.approx(1.0)
    assert dict(parts["time_s"]) == pytest.approx(result.document()["components_s"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"), [("p1b3", {}), ("nt3", {"mode": "inference"}), ("gpt2", {"batch": 2}), ("p1b1", {"host": 2.0})]
)
def test_critical_events_the_host_and_its_launches_make_the_step(name: str, options: dict[str, object]) -> None:
    actual = estimate(name, "h100", draws=0, **options)  # type: ignore[arg-type]
    timeline, step = actual.timeline, actual.step
    assert list(timeline.columns[:1]) == ["op"]
    assert {"op", "lane", "start_s", "end_s", "critical"} <= set(timeline.columns)
    assert timeline["start_s"].min() == 0
    assert timeline["start_s"].is_monotonic_increasing
    assert timeline["critical"].any()
    host_s = float(step.host[0] + step.latency[0])
    assert timeline["critical_s"].sum() == pytest.approx(step.total[0], abs=host_s + 1e-12)
    ran = timeline[timeline["row"].notna()]
    assert ran["op"].tolist() == actual.ops["op"].iloc[ran["row"].to_numpy(dtype=int)].tolist()


def test_a_device_of_ones_own_is_predicted_and_checked(p1b3: Profile) -> None:
    """Ten times the peak and bandwidth make a step of the kernels ten times as short at the most."""
    slow = make_device(name="mine", peak={"fp32": "10 TFLOP/s"}, memory_bandwidth="1 TB/s")
    fast = make_device(name="mine", peak={"fp32": "100 TFLOP/s"}, memory_bandwidth="10 TB/s")
    steps = [estimate(p1b3, device, draws=0).step_s.mid for device in (slow, fast)]
    assert 1 < steps[0] / steps[1] < 10.001


def test_the_lints_read_a_device_of_ones_own(p1b3: Profile) -> None:
    fast = make_device(name="mine", peak={"fp32": "10 TFLOP/s"}, memory_bandwidth="900 PB/s")
    assert any(text.startswith("mine: ") for text in estimate(p1b3, fast, draws=0).warnings)


def test_a_device_of_ones_own_is_a_source_too(p1b3: Profile) -> None:
    actual = estimate(p1b3, "v100", source=make_device(name="mine"), draws=0)
    assert actual.document()["source"] == "mine"


@pytest.mark.slow
def test_a_catalogues_device_is_the_same_by_name_and_loaded() -> None:
    profile = read_profile("nt3")
    by_name, loaded = (estimate(profile, device, draws=0).document() for device in ("v100", load_device("v100")))
    assert by_name == loaded


def test_a_whole_plan_stands_for_a_device(p1b3: Profile) -> None:
    assert estimate(p1b3, RunPlan("v100", draws=5)).step.total.shape == (6,)


def test_repr_is_short(result: EstimateResult) -> None:
    first, *rest = repr(result).splitlines()
    assert first == "p1b3 on h100-sxm5-80gb, batch 100, bf16, per device"
    assert len(rest) == 4
    assert len(repr(result)) < 500
    assert len(repr(result.estimate)) < 100
    assert len(repr(result.estimate.profile)) < 100
    assert len(repr(result.estimate.target)) < 100


def test_html_has_the_figures_and_the_longest_ops(result: EstimateResult) -> None:
    html = result._repr_html_()
    assert Page(html).tags.count("table") == 2
    assert "step time (host: dispatch, input: carried)" in html
    assert f"{len(result.assumptions)} assumptions" in html


def test_figures_are_drawn_and_shown_by_notebooks(result: EstimateResult) -> None:
    for figure in (result.plot_roofline(), result.plot_parts()):
        assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]


def test_one_of_several_devices_has_no_timeline(result: EstimateResult) -> None:
    with pytest.raises(EstimatorError, match="messages have no timeline yet; estimate the profile on the device alone"):
        _ = EstimateResult(replace(result.estimate, of_group=True)).timeline


def test_another_batch_has_no_speedup(p1b3: Profile) -> None:
    actual = estimate(p1b3, "v100", batch=50, draws=0)
    assert actual.speedup is None
    assert "speedup" not in repr(actual)
    assert np.isnan(actual.estimate.source_step_s)
