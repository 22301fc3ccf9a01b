"""How one training is divided over devices, as plans, files and command lines write it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from estimator.core.errors import EstimatorError, suggestion

DataWord = Literal["data", "zero1", "zero2", "zero3", "parameter-server"]
WORDS: dict[str, DataWord] = {**{word: word for word in get_args(DataWord)}, "fsdp": "zero3", "ps": "parameter-server"}
MEANINGS: dict[DataWord, str] = {
    "data": "each device has the whole model; gradients are all-reduced in buckets while others are computed",
    "zero1": "the optimizer's state is divided: gradients are reduced to their owners, new weights gathered from them",
    "zero2": "gradients are divided too; their traffic is that of zero1",
    "zero3": "weights are divided too, and gathered for each pass (fsdp)",
    "parameter-server": "gradients go to servers that spread over the nodes, and weights come back",
}

DIVIDED = {  # parts of memory, of which each device keeps its share (Rajbhandari et al., ZeRO, 2020, figure 1)
    "zero1": ("optimizer",), "zero2": ("optimizer", "gradients"), "zero3": ("optimizer", "gradients", "parameters"),
}  # fmt: skip


@dataclass(frozen=True)
class Split:
    """How a training is divided: among copies of the model, each with its part of the batch."""

    data: DataWord = "data"

    def __str__(self) -> str:
        return self.data

    def divisors(self, devices: int) -> dict[str, float]:
        """By how much each part of a device's memory is divided among so many devices."""
        return dict.fromkeys(DIVIDED.get(self.data, ()), float(devices))


def read_split(written: str) -> Split:
    """The split that a text names. Raises EstimatorError for another text."""
    if written not in WORDS:
        hint = suggestion(written, WORDS)
        raise EstimatorError(f"parallel '{written}' is not known; expected one of {', '.join(WORDS)}.{hint}")
    return Split(WORDS[written])
