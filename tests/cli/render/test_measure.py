"""What ``estimator measure`` prints."""

from typing import Any

from estimator.cli.render.measure import render_measure
from tests.cli.command_line import printed


def document(**changes: Any) -> dict[str, Any]:
    best = {"peak_flop_per_s": {"fp32": 1.2345e12}, "memory_bandwidth_b_per_s": 3e10, "launch_latency_s": None}
    return {
        "device": {"name": "mine"}, "library": "numpy 2", "threads": 2, "clock": "2 GHz", "best": best,
        "rows": {"gemm": 3, "copy": 1}, "warnings": ["busy"], "files": {"device": "mine.yaml"}, **changes,
    }  # fmt: skip


def test_the_best_rates_and_their_conditions() -> None:
    output = printed(lambda: render_measure(document()))
    first, *lines = output.stdout.splitlines()
    assert first == "mine: numpy 2, 2 threads, 2 GHz"
    rates = {" ".join(line.split()) for line in lines}
    assert {"matrix products, fp32 1.234 TFLOP/s", "bandwidth, cold cache 30.00 GB/s"} <= rates
    assert "launch of one element" not in output.stdout
    assert lines[-2:] == ["rows: gemm 3, copy 1", "wrote mine.yaml"]
    assert output.stderr == "warning: busy\n"


def test_what_is_unknown_is_called_so() -> None:
    shown = printed(lambda: render_measure(document(threads=1, clock=None))).stdout
    assert shown.startswith("mine: numpy 2, 1 thread, clock unknown\n")
