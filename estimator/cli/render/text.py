"""Sentences that the output of several commands shares."""

from collections.abc import Sequence


def assumptions_note(assumptions: Sequence[str], command: str) -> str:
    """How many assumptions there are, and which command lists them."""
    return f"{len(set(assumptions))} assumptions lie behind these figures; 'estimator {command}' lists them"
