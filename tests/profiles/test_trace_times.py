from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.core.errors import EstimatorError
from estimator.profiles import trace_times
from tests.profiles.test_chrome_trace import event_type, scan_timed


@given(st.lists(st.decimals(0, 10**15, places=3) | st.decimals(0, 10**6, places=7), min_size=1))
def test_times_are_exact(times: list[Decimal]) -> None:
    import msgspec

    scanned = [event_type()(ph="X", ts=msgspec.Raw(str(time).encode())) for time in times]
    ((_, origin),) = trace_times.timed_events([scanned], "trace")
    exact = [int(time.scaleb(6).to_integral_value()) - origin * 10**6 for time in times]
    if max(map(abs, exact)) < 2**62:
        assert trace_times.picoseconds(scanned, "ts", "trace", origin).tolist() == exact


def test_times_in_any_number_form(tmp_path: Path) -> None:
    scanned = scan_timed(tmp_path, '"ts": 1.5e3', '"ts": 2', '"ts": -0.0000015', '"ts": 9.3740000000000006')
    assert trace_times.picoseconds(scanned, "ts", "t").tolist() == [1500 * 10**6, 2 * 10**6, -2, 9374000]


def test_times_between_quotes(tmp_path: Path) -> None:
    scanned = scan_timed(tmp_path, '"ts": "1500.25"', '"ts": "2"')
    assert trace_times.picoseconds(scanned, "ts", "t").tolist() == [1500250000, 2000000]


@pytest.mark.parametrize("dur", ["", '"dur": -1', '"dur": "-0.5"', '"dur": null'])
def test_events_that_never_ended(dur: str, tmp_path: Path) -> None:
    ended = ['"ts": 1, "dur": 2.5e-3', '"ts": 1, "dur": "4"', '"ts": 1, "dur": NaN']
    scanned = scan_timed(tmp_path, *ended, ", ".join(filter(None, ['"ts": 7', dur])), ended[0])
    kept = trace_times.finished(scanned)
    assert [bytes(event.dur) for event in kept] == [b"2.5e-3", b'"4"', b'"nan"', b"2.5e-3"]
    assert trace_times.finished(kept) == kept


def test_times_since_the_epoch_count_from_the_first_event(tmp_path: Path) -> None:
    scanned = scan_timed(tmp_path, '"ts": 1699999999999999.123', '"ts": 1700000000000001.999')
    ((_, origin),) = trace_times.timed_events([scanned], "t")
    assert trace_times.picoseconds(scanned, "ts", "t", origin).tolist() == [123000, 2999000]


@pytest.mark.parametrize(
    "dur", ["", '"dur": NaN', '"dur": -Infinity', '"dur": "5 µs"', '"dur": -1', '"dur": 1e300', '"dur": 1e999999999',
            '"dur": 5000000000000', '"dur": null', '"dur": [1]', '"dur": true'],
)  # fmt: skip
def test_refuses_unreadable_and_negative_durations(dur: str, tmp_path: Path) -> None:
    scanned = scan_timed(tmp_path, '"ts": 1, "dur": 2.5', ", ".join(filter(None, ['"ts": 7', dur])))
    with pytest.raises(EstimatorError, match=r"^trace: dur of 'op'"):
        trace_times.picoseconds(scanned, "dur", "trace")
