"""Whole transformers: counting of kernels, and prediction by any method."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from estimator.core import physics
from estimator.core.types import Floats
from estimator.devices import load_device
from estimator.model.coefficients import shipped
from estimator.validation.protocol import FittedPredictor, Predictor
from estimator.validation.tables import TRUTH
from estimator.validation.whole_models import (
    Runs,
    backward_multipliers,
    judge,
    kernels,
    read_runs,
    sum_of_kernels,
)
from tests.validation.public import truth

V100, A100, P4 = "v100-pcie-32gb", "a100-pcie-40gb", "p4"
JUDGED_FIRST = (V100, A100, P4, "p100-pcie-16gb", "mi100")  # T4, MI210 and H100 came later
TWIN = "v100-sxm2-16gb"  # of the V100
PRODUCT = {"op": "addmm", "op_class": "gemm", "batch": 1, "m": 64, "n": 32, "k": 16, "trans_a": "n", "trans_b": "t"}
STREAM = {"op": "tanh", "op_class": "elementwise", "bytes": 8e6, "flop": 1e6}
TIMES = {"calls": 2.0, "forward_s": 1e-3, "backward_s": 3e-3}
NO_ROWS = TRUTH.conform(pd.DataFrame({"op_class": pd.Series(dtype=str), "precision": [], "time_s": []}), "nothing")


def ops(*rows: dict[str, object], model: str = "toy-train", device: str = V100) -> pd.DataFrame:
    columns = ["batch", "m", "n", "k", "trans_a", "trans_b", "bytes", "flop", "row_length"]
    given = pd.DataFrame([{"model": model, "device": device, **TIMES, **row} for row in rows])
    return given.reindex(columns=[*given.columns, *(name for name in columns if name not in given)])


def at_the_roofline(rows: pd.DataFrame, own: pd.DataFrame) -> Floats:
    return np.asarray(rows["ideal_s"], dtype=float)


def test_a_training_pass_adds_both_gradients_of_a_product() -> None:
    actual = kernels(ops(PRODUCT), {})
    products = actual[actual["op_class"] == "gemm"]
    assert products[["m", "n", "k"]].astype(int).to_numpy().tolist() == [[64, 32, 16], [64, 16, 32], [16, 32, 64]]
    assert products[["trans_a", "trans_b"]].agg("".join, axis=1).tolist() == ["nt", "nn", "tn"]
    assert physics.gemm_flop(*(products[name].astype(float) for name in ("batch", "m", "n", "k"))).std() == 0
    assert actual.loc[actual["op_class"] == "elementwise", "bytes"].tolist() == [3 * 4 * 16 * 32]
    assert (actual["calls"] == 2).all()


def test_inference_runs_each_kernel_once() -> None:
    assert len(kernels(ops(PRODUCT, STREAM, model="toy-inf"), {"tanh": 2.0})) == 2


def test_other_ops_stream_their_multiplier_again() -> None:
    assert kernels(ops(STREAM), {"tanh": 1.5})["bytes"].tolist() == [8e6, 12e6]
    assert kernels(ops(STREAM), {"tanh": 0.0})["bytes"].tolist() == [8e6]
    assert kernels(ops(STREAM), {})["bytes"].tolist() == [8e6, 8e6]


def test_multipliers_are_learnt_from_training_runs_of_memory_bound_ops() -> None:
    runs = [ops(STREAM, PRODUCT), ops({**STREAM, "backward_s": 9e-3}, model="toy-inf")]
    assert backward_multipliers(pd.concat(runs)) == {"tanh": 3.0}


def test_sum_of_kernels_counts_every_call_on_each_device() -> None:
    at = {
        d: sum_of_kernels(at_the_roofline, ops(STREAM, model="toy-inf"), {}, d, NO_ROWS)[V100, "toy-inf"]
        for d in (V100, P4)
    }
    assert at[V100] == pytest.approx(2 * 8e6 / 900e9)
    assert at[P4] == pytest.approx(2 * 8e6 / 192e9)


def test_a_judged_pair_never_learns_from_the_targets_family() -> None:
    families: list[set[str]] = []

    def method(train: pd.DataFrame) -> Callable[[pd.DataFrame, pd.DataFrame], Floats]:
        families.append(set(train["family"]))
        return at_the_roofline

    devices = (V100, A100, P4)
    whole_s = pd.Series({(d, "toy-inf"): 1.0 for d in devices}).rename_axis(["device", "model"])
    listed = pd.concat([ops(STREAM, model="toy-inf", device=d) for d in devices])
    truth = pd.concat([NO_ROWS.reindex([0]).assign(family=f, device=d) for f, d in (("volta", V100), ("ampere", A100))])
    judged = judge(truth, Runs(whole_s, listed), {"roofline": method}, {"whole": "", "whole-kit-75w": ""})
    assert [len(rows) for rows in judged.values()] == [6, 4]  # no pair onto the P4 over 75 W
    assert not (judged["whole"]["source"] == judged["whole"]["target"]).any()
    assert families[0] == {"ampere"}
    assert (judged["whole"]["roofline"] > 0).all()


def test_a_predictor_with_coefficients_states_intervals() -> None:
    whole_s = pd.Series({(d, "toy-inf"): 1.0 for d in (V100, A100)}).rename_axis(["device", "model"])
    listed = pd.concat([ops(STREAM, model="toy-inf", device=d) for d in (V100, A100)])
    truth = NO_ROWS.reindex([0]).assign(family="ampere", device=A100)
    (judged,) = judge(
        truth, Runs(whole_s, listed), {"ours": lambda _: FittedPredictor(at_the_roofline, shipped())}, {"whole": ""}
    ).values()
    assert (judged["low_s"] < judged["high_s"]).all()
    assert (judged["high_s"] > judged["ours"]).all(), "no device is faster than its roofline"


Call = tuple[str, str, frozenset[str]]  # unseen family, device predicted, devices of the own rows


def record_calls(problem: str, *devices: str) -> tuple[pd.DataFrame, set[Call]]:
    """The judged pairs of devices with rows in TRUTH, and the calls of the method."""
    rows = truth(
        *({"device": device, "data_set": "neusight-linear", "m": 8192, "n": 8192, "k": 64} for device in devices)
    )
    calls: set[Call] = set()

    def method(train: pd.DataFrame) -> Predictor:
        (unseen,) = set(rows["family"]) - set(train["family"])

        def predict(rows_to_predict: pd.DataFrame, own: pd.DataFrame) -> Floats:
            calls.add((unseen, rows_to_predict["device"].iloc[0], frozenset(own["device"])))
            return at_the_roofline(rows_to_predict, own)

        return predict

    whole_s = pd.Series({(device, "toy-inf"): 1.0 for device in devices}).rename_axis(["device", "model"])
    listed = pd.concat([ops(STREAM, model="toy-inf", device=device) for device in devices])
    return judge(rows, Runs(whole_s, listed), {"spy": method}, {problem: ""})[problem], calls


def test_devices_of_the_targets_family_are_no_sources() -> None:
    pairs, _ = record_calls("whole", V100, TWIN, A100)
    assert set(zip(pairs["source"], pairs["target"], strict=True)) == {
        (A100, V100),
        (A100, TWIN),
        (V100, A100),
        (TWIN, A100),
    }


@pytest.mark.parametrize(("problem", "given"), [("whole", set()), ("whole-kit", {V100})])
def test_own_rows_are_given_only_with_the_kit(problem: str, given: set[str]) -> None:
    _, calls = record_calls(problem, V100, A100)
    family = load_device(V100).architecture
    assert {own for unseen, device, own in calls if (unseen, device) == (family, V100)} == {frozenset(given)}


WHOLE = "device,name,option,num_layer,e2e_latency"
PER_OP = "device,name,Name,op,target,input_shapes,output_shape,fw_latency,bw_latency,acc_latency"
LISTED = (
    'size,call_method,size,"[[2, 128]]","(1,)",0.010,0,0',
    'x_h_0_ln_1,call_module,x.ln_1,"[[16, 1024, 768]]","(16, 1024, 768)",0.2,0,0',
)


def test_runs_that_are_left_out_are_counted_by_reason(tmp_path: Path) -> None:
    runs = ("Tesla_T4,toy,,2,1.5", "Tesla_T4,other,,2,1", "Tesla_T4,toy-tp4,tp4,0,1", "Unheard_Of,toy,,2,1")
    (tmp_path / "neusight").mkdir()
    (tmp_path / "neusight" / "whole_model.csv").write_text("\n".join([WHOLE, *runs]))
    listed = (f"{device},toy,{op}" for device in ("Tesla_T4", "Unheard_Of") for op in LISTED)
    (tmp_path / "neusight" / "per_op.csv").write_text("\n".join([PER_OP, *listed]))
    runs_read = read_runs(tmp_path)
    assert runs_read.whole_s.to_dict() == {("t4", "toy"): 1.5e-3}
    assert runs_read.ops[["device", "model", "op", "calls"]].to_numpy().tolist() == [["t4", "toy", "ln", 2.0]]
    assert runs_read.notes == (
        "1 of 4 whole runs are left out, as they are fused graphs or ran on several devices",
        "1 of 4 whole runs are left out, as no device file bears the device's name",
        "1 of 4 whole runs are left out, as their ops are not listed",
    )


@pytest.mark.slow
def test_measured_ops_add_up_to_the_whole_time(public_data: Callable[[str], Path]) -> None:
    """For inference; within a tenth for a 70 W card, which throttles."""
    runs = read_runs(public_data("data"))
    inference = runs.ops[runs.ops["model"].str.contains("inf")]
    sums = (inference["forward_s"] * inference["calls"]).groupby([inference["device"], inference["model"]]).sum()
    ratio = (sums / runs.whole_s).dropna()
    assert len(ratio) == 59
    assert ratio.drop([A100, "t4", "mi210"]).between(0.95, 1.10).all()
    assert ratio["mi210"].between(0.93, 1.10).all()
    assert ratio["t4"].between(0.90, 1.11).all()
    assert ratio[A100].drop([m for m in ratio[A100].index if "bert" in m or "gpt2" in m]).between(0.90, 1.10).all()


@pytest.mark.slow
@pytest.mark.parametrize(("devices", "pairs", "least", "most"), [(JUDGED_FIRST, 108, 0.3, 1.6), (None, 366, 0.3, 2.0)])
def test_every_ordered_pair_is_judged(
    public_data: Callable[[str], Path], devices: tuple[str, ...] | None, pairs: int, least: float, most: float
) -> None:
    runs = read_runs(public_data("data"))
    among = list(devices or runs.whole_s.index.unique("device"))
    some = Runs(runs.whole_s[among], runs.ops[runs.ops["device"].isin(among)])
    judged = judge(NO_ROWS, some, {"roofline": lambda train: at_the_roofline}, {"whole": ""})["whole"]
    assert len(judged) == pairs
    assert judged.groupby(["source", "target", "model"]).size().max() == 1
    assert (judged["roofline"] / judged["time_s"]).between(least, most).all()


@pytest.mark.slow
def test_runs_in_another_form_than_the_listed_ops_are_left_out(public_data: Callable[[str], Path]) -> None:
    assert read_runs(public_data("data")).notes == (
        "16 of 105 whole runs are left out, as they are fused graphs or ran on several devices",
        "10 of 105 whole runs are left out, as their ops are not listed",
    )
