"""Sentences that the output of several commands shares."""

from collections.abc import Sequence


def assumption_notes(assumptions: Sequence[str], command: str, left_open: Sequence[str]) -> list[str]:
    """What the input leaves open, a sentence each, then how many other assumptions there are and what lists them."""
    shown = list(dict.fromkeys(left_open))
    others = sum(not text.startswith(tuple(shown)) for text in set(assumptions))
    if not others:
        return shown
    lie = "assumption lies" if others == 1 else "assumptions lie"
    return [*shown, f"{others} {'more ' if shown else ''}{lie} behind these figures; 'estimator {command}' lists them"]
