"""MLPerf between scales: which runs are read, by which network, and how they are judged."""

from pathlib import Path

import pandas as pd
import pytest

from estimator.model.coefficients import shipped
from estimator.validation import clusters
from estimator.validation.protocol import FittedPredictor
from estimator.validation.tables import KEYS
from tests.validation.public import write

RUN = {
    "round": "v1.0", "submitter": "S", "family": "dgx", "benchmark": "resnet", "division": "closed",
    "accelerator": "NVIDIA A100-SXM4-80GB", "acc_per_node": 8, "accelerators": 8, "inter_node": "8x HDR 200Gb/Sec",
    "local_batch": 408.0, "throughput_per_acc": 3300.0, "interval_ratio": 1.0, "same_as": None,
}  # fmt: skip
LARGER = RUN | {"accelerators": 64, "local_batch": 51.0, "throughput_per_acc": 2600.0}


@pytest.mark.parametrize(
    ("ports", "gbps"),
    [("2x ConnectX-6 IB HDR 200Gb/Sec", 400), ("InfiniBand 100 Gb/sec (4X EDR)", 100), ("TODO", clusters.USUAL_GBPS),
     ("Storage: 2x IB HDR 200Gb/sec, Management: 1x Ethernet 100Gb/Sec, Compute: 8x IB HDR 200Gb/Sec", 1600),
     ("Management: 1x Ethernet 100GB/Sec", clusters.USUAL_GBPS), ("4x1Gb", clusters.USUAL_GBPS), (None, 200)],
)  # fmt: skip
def test_ports_tell_what_a_node_sends(ports: str | None, gbps: float) -> None:
    assert clusters.injection_gbps(ports) == gbps


@pytest.mark.parametrize(
    ("name", "device"),
    [("Tesla V100-SXM3-32GB-H", "v100-sxm2-32gb"), ("NVIDIA A100-PCIE-40GB (250W)", "a100-pcie-40gb"),
     ("NVIDIA A100 - PCIe - 80 GB", "a100-pcie-80gb"), ("TPU-v4", "tpu-v4"), ("tpu-v3", "tpu-v3"), ("Gaudi2", None)],
)  # fmt: skip
def test_accelerators_have_device_files(name: str, device: str | None) -> None:
    assert clusters._device(name) == device


def test_runs_that_can_be_compared_are_read(tmp_path: Path) -> None:
    others: list[dict[str, object]] = [
        {"division": "open"},
        {"interval_ratio": 2.0},
        {"same_as": "v0.7"},
        {"local_batch": 0.5},
        {"family": "x"},
    ]
    write(tmp_path, clusters.FILE, [RUN, LARGER, *(LARGER | other for other in others)])
    actual = clusters.read_runs(tmp_path)
    assert actual.rows[["devices", "batch", "rate"]].to_numpy().tolist() == [[8, 408, 3300.0], [64, 51, 2600.0]]
    assert actual.notes == ("1 of 3 runs are left out, as their machine is there at one scale alone",)


@pytest.mark.slow
def test_larger_scales_are_judged_by_their_ratio_to_the_smallest(tmp_path: Path) -> None:
    write(tmp_path, clusters.FILE, [RUN, LARGER])
    truth = pd.DataFrame({"family": ["volta"]})
    judged = clusters.judge(
        truth, clusters.read_runs(tmp_path), lambda train: FittedPredictor(lambda rows, own: own["x"], shipped())
    )["clusters"]
    (row,) = judged.to_dict("records")
    assert {*KEYS, "target", "op"} <= row.keys()
    assert row["time_s"] == pytest.approx(1 / 2600)
    assert row["linear"] == pytest.approx(1 / 3300)
    assert row["low_s"] < row["ours"] < row["high_s"]
    assert row["ours"] > row["linear"]  # smaller batches take longer by the sample
