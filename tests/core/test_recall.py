"""Results that are kept by a digest."""

from __future__ import annotations

import pytest

from estimator.core import recall
from estimator.core.errors import EstimatorError
from estimator.core.recall import recalled


def test_one_digest_is_computed_once() -> None:
    calls: list[str] = []

    def length(text: str, more: int = 0) -> int:
        calls.append(text)
        return len(text) + more

    kept = recalled(length)
    assert [kept("a", "one"), kept("a", "one"), kept("b", "four", more=1)] == [3, 3, 5]
    assert calls == ["one", "four"]


def test_functions_share_no_digests() -> None:
    assert (recalled(len)("a", "one"), recalled(str.upper)("a", "one")) == (3, "ONE")


def test_only_the_last_results_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall, "MOST_RESULTS", 2)
    calls: list[str] = []
    kept = recalled(calls.append)
    for digest in "abca":
        kept(digest, digest)
    assert calls == ["a", "b", "c", "a"]


def test_an_error_is_not_kept() -> None:
    faults = [EstimatorError("bad")]

    def fails_once() -> str:
        if faults:
            raise faults.pop()
        return "good"

    kept = recalled(fails_once)
    with pytest.raises(EstimatorError, match="bad"):
        kept("a")
    assert kept("a") == "good"
