"""Results that are kept by a digest."""

from __future__ import annotations

import pytest

from estimator.core.errors import EstimatorError
from estimator.core.recall import Recall


def test_one_digest_is_computed_once() -> None:
    kept = Recall()
    assert [kept("one", lambda: 1), kept("one", lambda: 2), kept("two", lambda: 3)] == [1, 1, 3]


def test_two_do_not_share_results() -> None:
    assert (Recall()("one", lambda: 1), Recall()("one", lambda: 2)) == (1, 2)


def test_only_the_last_results_are_kept() -> None:
    kept, computed = Recall(most=2), list[str]()
    for digest in "abca":
        kept(digest, lambda digest=digest: computed.append(digest))  # type: ignore[misc]
    assert computed == ["a", "b", "c", "a"]


def test_an_error_is_not_kept() -> None:
    kept = Recall()

    def fails() -> str:
        raise EstimatorError("bad")

    with pytest.raises(EstimatorError, match="bad"):
        kept("one", fails)
    assert kept("one", lambda: "good") == "good"


def test_without_a_digest_nothing_is_kept() -> None:
    kept = Recall()
    assert [kept("", lambda: 1), kept("", lambda: 2)] == [1, 2]
