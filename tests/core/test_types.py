"""What the types of data compute from their fields, and what they refuse."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimator.core.errors import EstimatorError
from estimator.core.types import (
    ITEMSIZE,
    Fusion,
    Link,
    MemoryUse,
    Network,
    Profile,
    RunPlan,
    Sourced,
    StepTime,
    SystemSpec,
    Workload,
    itemsizes,
    pair_id,
    stored_itemsizes,
    whole_number,
)
from tests.conftest import make_device, make_ops


def system(**fields: object) -> SystemSpec:
    """A machine of 100 nodes of four devices that draws 200 kW."""
    counts = {"nodes": "100", "devices_per_node": "4", "power": "200 kW", "rpeak": "9 PFLOP/s", "rmax": "7 PFLOP/s"}
    return SystemSpec.model_validate({"name": "toy", "device": "toy", **counts, **fields})


def test_elements_have_the_bytes_of_their_format() -> None:
    """Products in tf32 read fp32, and those of eight bits or less write bf16."""
    formats = pd.Series(["fp64", "tf32", "bf16", "fp8", "int4", None, "fp64"], dtype="str")
    assert itemsizes(formats) == pytest.approx([8, 4, 2, 1, 0.5, np.nan, 8], nan_ok=True)
    assert stored_itemsizes(formats) == pytest.approx([8, 4, 2, 2, 2, np.nan, 8], nan_ok=True)
    assert all(ITEMSIZE[name] * 8 == int("".join(filter(str.isdigit, name))) for name in ITEMSIZE if name != "tf32")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"status": "read", "source": "sheet"}, ""), ({"status": "measured"}, ""),
        ({"status": "recall", "source": "sheet"}, "recalled, not re-read"), ({"status": "assumed"}, "assumed"),
        ({"source": "sheet"}, "not said to have been read in its source"), ({}, "given without a source"),
    ],
)  # fmt: skip
def test_a_number_says_why_it_is_unverified(fields: dict[str, Any], reason: str) -> None:
    number = Sourced(value=1.0, unit="1", **fields)
    assert (number.unverified_reason, number.unverified) == (reason, bool(reason))


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [(16 * 2.0**30, "B", "16 GiB"), (16e9, "B", "16 GB"), (900e9, "B/s", "900 GB/s"), (1.4e9, "Hz", "1.4 GHz")],
)
def test_a_size_is_shown_in_the_shorter_of_its_two_forms(value: float, unit: str, shown: str) -> None:
    assert str(Sourced(value=value, unit=unit)) == shown


def test_half_of_a_links_total_is_its_rate_one_way() -> None:
    total, one_way = {"total": "600 GB/s"}, {"per_direction": "280 GB/s"}
    rates = [Link.model_validate(fields).one_way for fields in (total, one_way, total | one_way)]
    assert [rate and rate.value for rate in rates] == [300e9, 280e9, 280e9]
    assert Link(name="NVLink").one_way is None
    with pytest.raises(ValueError, match="is empty; write its rate"):
        Link()


@pytest.mark.parametrize(
    ("linked", "per_node", "nodes"), [(72, 4, 18.0), (4, 4, 1.0), (None, 4, 1.0), (2, 4, 1.0), (72, None, 1.0)]
)
def test_links_join_whole_nodes(linked: int | None, per_node: int | None, nodes: float) -> None:
    assert Network(linked_devices=linked, devices_per_node=per_node).linked_nodes == nodes


@pytest.mark.parametrize(
    ("unit", "kind"), [("SM", "gpu"), ("cu", "gpu"), ("Core", "processor"), ("MXU", ""), (None, "gpu")]
)
def test_a_compute_units_name_tells_the_kind_of_device(unit: str | None, kind: str) -> None:
    device = make_device(compute_unit=unit)
    assert (device.is_gpu, device.is_processor) == (kind == "gpu", kind == "processor")


def test_a_device_goes_by_its_name_and_aliases_in_any_case() -> None:
    device = make_device(aliases=["NV_Toy"])
    assert [device.is_called(name) for name in ("TOY", "nv_toy", "toy2")] == [True, True, False]
    assert (device.family, make_device(architecture="ampere").family) == ("toy", "ampere")
    assert device.peak_of("bf16").matrix is None


@pytest.mark.parametrize(
    ("without", "words"), [({"peak": {}}, "no peak is given"), ({"memory_bandwidth": None}, "is missing; add a rate")]
)
def test_a_known_device_has_a_peak_and_a_bandwidth(without: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make_device(**without)
    assert make_device(specifications="incomplete", **without).specifications == "incomplete"


def test_a_count_is_whole() -> None:
    with pytest.raises(ValueError, match=r"is 12\.5; write a whole number"):
        system(nodes="12.5")


def test_half_the_nodes_draw_half_the_power_and_have_no_linpack() -> None:
    half = system().of_nodes(50)
    assert half.power is not None
    assert (half.nodes.value, half.power.value, half.rpeak, half.rmax) == (50, 100e3, None, None)
    assert system(power=None).of_nodes(50).power is None
    assert repr(half) == "SystemSpec(toy: 50 x 4 toy)"


def test_the_devices_of_a_node_are_linked_unless_links_reach_further() -> None:
    fields = {"latency": "2 us", "taper": 2, "in_network": True}
    network = system(**fields).network
    assert network.latency is not None
    assert (network.latency.value, network.taper, network.in_network) == (2e-6, 2.0, True)
    assert (network.linked_devices, network.devices_per_node) == (4, 4)
    assert system(linked_devices="64").network.linked_devices == 64


@pytest.mark.parametrize(("capacity", "fits"), [(10.0, True), (9.9, False), (None, None)])
def test_memory_fits_where_its_parts_together_do(capacity: float | None, fits: bool | None) -> None:
    """Entry 0 is that at nominal inputs."""
    use = MemoryUse({"parameters": np.array([4.0, 90.0]), "activations": np.array([6.0, 90.0])}, capacity)
    assert use.total.tolist() == [10.0, 180.0]
    assert use.fits is fits


def test_a_profile_ran_where_any_op_took_time_and_is_at_the_place_of_its_files() -> None:
    ops, workload = make_ops({}, {"time_s": 0.0}), Workload(name="toy", batch_size=8)
    profile = Profile(ops, workload, "k20x", "tfprof")
    assert profile.ran
    assert not Profile(ops[1:], workload, None, "layers").ran
    assert repr(profile) == "Profile(toy on k20x, batch 8: 2 ops, tfprof)"
    places = [
        Profile(ops, workload, None, "xplane", files=tuple(map(Path, files))).where
        for files in ((), ("runs/a.pb",), ("runs/a.pb", "runs/b.pb"))
    ]
    assert places == ["toy", "runs/a.pb", "runs"]


@pytest.mark.parametrize(
    ("given", "number"), [(3, 3), (np.int64(3), 3), (3.0, None), (True, None), ("3", None), (None, None)]
)
def test_whole_numbers_are_those_of_python_and_numpy(given: object, number: int | None) -> None:
    assert whole_number(given) == number


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"batch": 0}, "batch 0 is out of range"), ({"batch": 2.5}, "batch 2.5 is out of range"),
        ({"draws": -1}, "draws -1"), ({"draws": 10**6}, "from 0 to 100000"), ({"seed": True}, "seed True"),
        ({"precision": "fp99"}, "precision 'fp99' is not known; expected one of auto, fp64"),
        ({"fusion": "all"}, "expected none or elementwise"), ({"layout": "nhwc"}, "layout 'nhwc' is not known"),
        ({"mode": "test"}, "expected training or inference"), ({"host": "slow"}, "host "), ({"input": "-1"}, "input "),
    ],
)  # fmt: skip
def test_a_plan_refuses_settings_that_there_are_not(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(EstimatorError) as caught:
        RunPlan("v100", **fields)
    assert words in str(caught.value)


def test_a_plan_knows_formats_by_their_foreign_names_and_programs_by_their_trainings() -> None:
    assert RunPlan("v100", precision="bfloat16").precision == "bf16"
    assert [RunPlan("v100", trainings=3, sharing=sharing).fused_trainings for sharing in ("in-turn", "fused")] == [1, 3]


def test_a_fusion_is_described_by_what_it_saves() -> None:
    described = Fusion("elementwise", 2, 7, 3e9, 5).describe()
    assert "fuses 7 element-wise ops into 2 kernels: 3.000 GB of traffic and 5 launches less a step" in described
    assert "no known chain" in Fusion().describe()


def test_a_step_of_another_length_has_the_same_shares() -> None:
    names = ("compute", "memory", "latency", "communication_exposed", "input", "host", "unmodelled")
    parts = {name: np.array([float(number), 2.0 * number]) for number, name in enumerate(names)}
    longer = StepTime(**parts, total=np.array([21.0, 42.0])).to(np.array([42.0, 21.0]))
    assert longer.total.tolist() == [42.0, 21.0]
    assert list(longer.parts()) == list(names)
    assert longer.host.tolist() == [10.0, 5.0]
    assert sum(longer.parts().values()) == pytest.approx(longer.total)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.text("a/%2F", max_size=4), st.text("a/%2F", max_size=4)), min_size=2, max_size=2))
def test_two_pairs_have_two_ids(pairs: list[tuple[str, str]]) -> None:
    first, second = pairs
    assert (pair_id(first) == pair_id(second)) is (first == second)
