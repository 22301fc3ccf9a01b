"""The process of a setting: steps on demand, and what ends them."""

from pathlib import Path
from threading import Thread

import pytest

from estimator.collect.capture import machine
from estimator.collect.capture.script import Script
from estimator.collect.capture.watch import Watch
from estimator.core.errors import EstimatorError
from estimator.core.types import Workload as Stated
from estimator.validation.selftest import worker


@pytest.fixture(autouse=True)
def no_accelerators(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that TensorFlow is not imported to ask for them."""
    monkeypatch.setattr(machine, "accelerators", list)


class Ends:
    """A training of two steps."""

    def run(self, watch: Watch) -> None:
        for _ in range(2):
            watch.begin()
            watch.end()


class Fails:
    """A training that raises in its first step."""

    def run(self, watch: Watch) -> None:
        watch.begin()
        raise ValueError("no loss")


@pytest.mark.parametrize(
    ("training", "message"), [(Ends(), "its data ended after 2 steps"), (Fails(), "raised ValueError: no loss")]
)
def test_the_end_of_a_training_is_reported(tmp_path: Path, training: Ends | Fails, message: str) -> None:
    turns = worker._StepsOnDemand()
    script = Script(tmp_path / "short.py", {}, Stated(name="short"))
    Thread(target=turns.keep_running, args=(script, training), daemon=True).start()
    with pytest.raises(EstimatorError, match=message):
        turns.run(3)


class Endless:
    """A training that runs until its watch is done."""

    def run(self, watch: Watch) -> None:
        while not watch.done:
            watch.begin()
            watch.end()


def test_only_steps_that_were_asked_for_run(tmp_path: Path) -> None:
    steps = worker._StepsOnDemand()
    script = Script(tmp_path / "endless.py", {}, Stated(name="endless"))
    Thread(target=steps.keep_running, args=(script, Endless()), daemon=True).start()
    for count, total in ((2, 2), (3, 5)):
        wall_s = steps.run(count)
        assert wall_s == steps.seconds[-count:]
        assert len(steps.seconds) == total


class Timed(worker._StepsOnDemand):
    """Steps of given times."""

    def __init__(self, wall_s: list[float]) -> None:
        self.wall_s, self.counts = wall_s, list[int]()

    def run(self, count: int) -> list[float]:
        self.counts.append(count)
        return self.wall_s


@pytest.mark.parametrize(("seconds", "count"), [(1.0, 11), (0.05, 4), (100.0, 101)])
def test_a_burst_is_about_so_long_behind_one_step_of_warm_up(
    seconds: float, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of steps of 0.1 s; at least three count, at most a hundred."""
    held = worker._HeldWorkload(Timed([9.0, 0.1, 0.3, 0.2]), 0.1)
    monkeypatch.setattr(worker, "_held", {"toy": held})
    assert worker.run_burst(seconds) == {"toy": [0.1, 0.3, 0.2]}
    assert held.steps.counts == [count]  # type: ignore[attr-defined]
    assert held.step_s == 0.2  # the next burst is as long with steps as they are now
