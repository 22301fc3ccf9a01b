"""Messages in the timeline of a step: what they wait for, what waits for them, and what of them is exposed."""

import numpy as np
import pandas as pd
import pytest

from estimator.core.schema import MESSAGES
from estimator.core.types import Floats
from estimator.rollup.exchange import LINKS, with_messages
from estimator.rollup.target_timeline import StepTimeline, dispatched, in_turn
from estimator.rollup.timeline import replay, step_s
from tests.conftest import make_ops

OPS_S = np.array([1.0, 1.0, 1.0, 1.0])  # forward, two of the backward pass, an update


def sent(*rows: tuple[float, int | None, int | None], among: str | list[str] = "data") -> pd.DataFrame:
    """MESSAGES of so many bytes, ready after one op, needed by another."""
    columns = {"operator": "all_reduce", "bytes": [r[0] for r in rows], "among": among}
    places = {name: pd.array([r[i] for r in rows], dtype="Int64") for i, name in ((1, "ready"), (2, "needed"))}
    return MESSAGES.conform(pd.DataFrame({**columns, **places}), "test")


def period(timeline: StepTimeline, messages: pd.DataFrame, *times_s: float) -> float:
    """The step [s] with messages that take these times."""
    whole = with_messages(timeline, messages)
    samples = np.array([[*timeline.op_s, *times_s]])
    clocks = replay(whole.events, whole.factor(samples), np.ones(1), whole.host_step_s)
    return float(step_s(clocks)[0])


@pytest.fixture(params=["in turn", "dispatched"])
def timeline(request: pytest.FixtureRequest) -> StepTimeline:
    if request.param == "in turn":
        return in_turn(OPS_S, np.ones(4), 0.0)
    ops = make_ops(*({"op_type": "MatMul", "calls": 1.0} for _ in OPS_S)).assign(op_class="gemm", attributes=pd.NA)
    return dispatched(ops, OPS_S, np.ones(4), np.zeros(4, dtype=bool), 1e-9)


def test_a_message_that_ends_while_others_compute_costs_nothing(timeline: StepTimeline) -> None:
    assert period(timeline, sent((1.0, 1, 3)), 0.9) == pytest.approx(4.0)


def test_what_is_not_hidden_lengthens_the_step(timeline: StepTimeline) -> None:
    assert period(timeline, sent((1.0, 1, 3)), 2.5) == pytest.approx(5.5)
    assert period(timeline, sent((1.0, 2, 3)), 2.5) == pytest.approx(6.5)


def test_messages_pass_one_after_another(timeline: StepTimeline) -> None:
    """The second is ready at 3 s, when the first has half a second left."""
    assert period(timeline, sent((1.0, 1, 3), (1.0, 2, 3)), 1.5, 1.0) == pytest.approx(5.5)


def test_messages_among_parts_of_a_copy_do_not_queue_behind_those_among_copies(timeline: StepTimeline) -> None:
    """Gradients take from 2 to 5 s; a sum of results at 2 s, for the next op, lasts half a second at the same time."""
    rows = (1.0, 1, 3), (1.0, 1, 2)
    assert period(timeline, sent(*rows, among=["data", "tensor"]), 3.0, 0.5) == pytest.approx(6.0)
    assert period(timeline, sent(*rows, among="data"), 3.0, 0.5) == pytest.approx(7.5)


def test_an_op_waits_for_the_messages_of_every_kind_that_it_needs(timeline: StepTimeline) -> None:
    for times_s in ((2.0, 0.5), (0.5, 2.0)):
        assert period(timeline, sent((1.0, 2, 3), (1.0, 2, 3), among=["data", "tensor"]), *times_s) == pytest.approx(
            6.0
        )


def test_a_message_that_nothing_needs_ends_with_the_step(timeline: StepTimeline) -> None:
    assert period(timeline, sent((1.0, 3, None)), 0.5) == pytest.approx(4.5)


def test_a_message_that_waits_for_nothing_is_sent_ahead(timeline: StepTimeline) -> None:
    assert period(timeline, sent((1.0, None, 0)), 0.5) == pytest.approx(4.0)


def test_without_messages_the_step_stays(timeline: StepTimeline) -> None:
    assert period(timeline, sent()) == pytest.approx(4.0)


def test_each_draw_has_its_own_messages() -> None:
    timeline = in_turn(OPS_S, np.ones(4), 0.0)
    whole = with_messages(timeline, sent((1.0, 2, 3)))
    samples: Floats = np.array([[*OPS_S, each] for each in (0.0, 1.0, 2.0)])
    clocks = replay(whole.events, whole.factor(samples), np.ones(3), whole.host_step_s)
    assert step_s(clocks).tolist() == pytest.approx([4.0, 5.0, 6.0])
    assert set(whole.events.table["lane"]) >= {LINKS}
