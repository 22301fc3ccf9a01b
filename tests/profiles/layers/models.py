"""Small transformers for tests, and the models whose parameters are published."""

from typing import Any

from estimator.core.types import Profile, Workload
from estimator.profiles.layers import Layers, profile_of

SMALL: dict[str, Any] = {
    "kind": "gpt", "blocks": 3, "hidden_size": 64, "heads": 4, "vocabulary": 1000, "sequence_length": 32,
    "micro_batch": 5,
}  # fmt: skip


def small(**given: object) -> Layers:
    """A small decoder, with these values instead of its own."""
    return Layers.model_validate({**SMALL, **given})


def profile(**given: object) -> Profile:
    """The profile of one step of a small decoder."""
    return profile_of(small(**given), Workload(name="small"))
