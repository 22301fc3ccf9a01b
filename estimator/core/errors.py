"""The one error that reaches users, and the help that goes into its sentence."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager


class Fault(str):
    """One sentence on what is wrong, with the name of the rule that it breaks."""

    rule: str

    def __new__(cls, sentence: str, rule: str) -> Fault:
        """Make the sentence remember its rule."""
        fault = super().__new__(cls, sentence)
        fault.rule = rule
        return fault


class EstimatorError(Exception):
    """The input is at fault; each fault is one sentence: what, where, found, expected, do."""

    def __init__(self, *faults: str) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults


@contextmanager
def within(where: str) -> Iterator[None]:
    """Put the place in front of every fault that is found inside."""
    try:
        yield
    except EstimatorError as error:
        raise EstimatorError(*(f"{where}: {fault}" for fault in error.faults)) from None


def suggestion(name: str, known: Iterable[str], proper: Mapping[str, str] | None = None) -> str:
    """``Did you mean …?`` for what is nearest to ``name``, or nothing; ``proper`` leads from alias to proper name."""
    by_lower = {alias.lower(): (proper or {}).get(alias, alias) for alias in known}
    near = difflib.get_close_matches(name.lower(), by_lower, n=5, cutoff=0.55)
    likeness = {n: difflib.SequenceMatcher(None, name.lower(), n).ratio() for n in near}
    nearest = [n for n in near if likeness[n] > likeness[near[0]] - 0.1]
    names = list(dict.fromkeys(by_lower[n] for n in nearest))
    return f" Did you mean {' or '.join(names)}?" if names else ""
