"""The one error that reaches users, and suggestions for its sentences."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

KINDS = {dict: "an object", list: "a list", str: "a text", int: "a number", float: "a number", bool: "true or false"}


class Fault(str):
    """One sentence on a fault, with the name of the broken rule."""

    rule: str

    def __new__(cls, sentence: str, rule: str) -> Fault:
        """Attach the rule to the sentence."""
        fault = super().__new__(cls, sentence)
        fault.rule = rule
        return fault


class EstimatorError(Exception):
    """The input is at fault; each fault is one sentence: what, where, found, expected, do."""

    def __init__(self, *faults: str) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults


class UnfitError(EstimatorError):
    """A device or machine that cannot run a unit of work: in a study a cell that says why, elsewhere a fault."""

    fits: bool | None = None  # in its memory; None where that is not the reason


def kind_of_value(value: object) -> str:
    """What a value of a foreign file is, in words: an error never shows one that it does not know.

    It may hold a secret, such as an environment with access tokens.
    """
    return KINDS.get(type(value), "another value")


@contextmanager
def within(where: str) -> Iterator[None]:
    """Prefix every fault raised inside with the place; the kind of error stays."""
    try:
        yield
    except EstimatorError as error:
        raise type(error)(*(f"{where}: {fault}" for fault in error.faults)) from None


def suggestion(name: str, known: Iterable[str], proper: Mapping[str, str] | None = None) -> str:
    """``Did you mean …?`` with the known names nearest to ``name``, or empty; ``proper``: alias → proper name."""
    names = near_names(name, known, proper)
    return f" Did you mean {' or '.join(names)}?" if names else ""


def near_names(name: str, known: Iterable[str], proper: Mapping[str, str] | None = None) -> list[str]:
    """The known names nearest to ``name``, the nearest first; ``proper``: alias → proper name."""
    by_lower = {alias.lower(): (proper or {}).get(alias, alias) for alias in known}
    near = difflib.get_close_matches(name.lower(), by_lower, n=5, cutoff=0.55)
    similarity = {n: difflib.SequenceMatcher(None, name.lower(), n).ratio() for n in near}
    nearest = [n for n in near if similarity[n] > similarity[near[0]] - 0.1]
    return list(dict.fromkeys(by_lower[n] for n in nearest))
