"""The watch over steps: which are timed, which are recorded, and which recording is kept."""

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from estimator.collect.capture import tensorflow_import
from estimator.collect.capture.watch import Watch


class Recorded:
    """A recorder that notes its calls."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def start(self) -> None:
        self.calls.append("start")

    def step(self, number: int) -> Any:
        self.calls.append(f"step {number}")
        return nullcontext()

    def stop(self, *, keep: bool) -> None:
        self.calls.append("keep" if keep else "forget")


def test_the_watch_records_the_last_steps() -> None:
    recorder, shown = Recorded(), []
    watch = Watch(2, 3, 2, recorder, lambda done, total: shown.append((done, total)), waits=False)
    while not watch.done:
        watch.begin()
        watch.end()
    steps = ["start", "step 0", "step 1"]
    assert recorder.calls == [*steps, "forget", *steps, "keep"]
    assert shown == [(i, 9) for i in range(1, 10)]


def test_the_watch_leaves_warm_up_and_profiled_steps_out_of_the_step_time() -> None:
    watch = Watch(1, 3, 2, seconds=[9.0, 1.0, 2.0, 3.0], kept=[5.0, 7.0], waits=False)
    low, mid, high = watch.step_s()
    assert (low, mid, high) == pytest.approx((1.1, 2.0, 2.9))
    assert watch.profiled_s() == 6.0


def test_the_dump_is_of_the_later_session_with_the_shortest_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    took = iter([1.0, 1.0, 4.0, 2.0, 3.0, 2.0, 3.0, 9.0])
    clock = (time for seconds in took for time in (0.0, seconds))
    monkeypatch.setattr("estimator.collect.capture.watch.perf_counter", lambda: next(clock))
    recorder = Recorded()
    watch = Watch(0, 0, 2, recorder, waits=False, tries=3)
    while not watch.done:
        watch.begin()
        watch.end()
    assert [word for word in recorder.calls if "step" not in word][1::2] == ["forget", "keep", "keep", "forget"]
    assert watch.kept == [3.0, 2.0]


@pytest.mark.parametrize("waits", [True, False])
def test_a_step_on_an_accelerator_ends_when_the_device_has_finished(
    waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = list[str]()

    def clock() -> float:
        order.append("clock")
        return 0.0

    device = SimpleNamespace(sync_devices=lambda: order.append("wait"))
    tensorflow = SimpleNamespace(test=SimpleNamespace(experimental=device))
    monkeypatch.setattr(tensorflow_import, "import_tensorflow", lambda: tensorflow)
    monkeypatch.setattr("estimator.collect.capture.watch.perf_counter", clock)
    watch = Watch(1, waits=waits)
    watch.begin()
    watch.end()
    assert order == (["clock", "wait", "clock"] if waits else ["clock", "clock"])
