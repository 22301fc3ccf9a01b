"""How one training is divided over devices, as plans, files and command lines write it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from estimator.core.errors import EstimatorError, suggestion

DataWord = Literal["data", "zero1", "zero2", "zero3", "parameter-server"]
WORDS: dict[str, DataWord] = {**{word: word for word in get_args(DataWord)}, "fsdp": "zero3", "ps": "parameter-server"}
NUMBERS = {"tensor": "tensor", "pipeline": "pipeline", "micro": "micro_batch"}  # as written → field
MEANINGS: dict[DataWord, str] = {
    "data": "each copy is whole; gradients are all-reduced in buckets while others are computed",
    "zero1": "the optimizer's state is divided: gradients are reduced to their owners, new weights gathered from them",
    "zero2": "gradients are divided too; their traffic is that of zero1",
    "zero3": "weights are divided too, and gathered for each pass (fsdp)",
    "parameter-server": "gradients go to servers that spread over the nodes, and weights come back",
}
DIVIDED = {  # parts of memory, of which each device keeps its share (Rajbhandari et al., ZeRO, 2020, figure 1)
    "zero1": ("optimizer",), "zero2": ("optimizer", "gradients"), "zero3": ("optimizer", "gradients", "parameters"),
}  # fmt: skip
OF_STAGES = ("optimizer", "gradients", "parameters")  # parts of memory that stages of a pipeline divide
WRITTEN = f"one of {', '.join(WORDS)}, and {'=N, '.join(NUMBERS)}=N, such as zero1,tensor=8,pipeline=4"
LARGEST = 10**6
USUAL_COPIES = 8  # assumed, as many as a node has devices
SUMMED = "sum=tensor"  # attribute of ops whose results the devices of a divided product add up


@dataclass(frozen=True)
class Split:
    """How a training is divided: among copies of the model (``data``), the parts of each product (``tensor``), and the
    stages of its blocks (``pipeline``), which pass batches of ``micro_batch`` on.
    """

    data: DataWord = "data"
    tensor: int = 1
    pipeline: int = 1
    micro_batch: int | None = None

    def __str__(self) -> str:
        usual = Split()
        chosen = {
            name: getattr(self, field)
            for name, field in NUMBERS.items()
            if getattr(self, field) != getattr(usual, field)
        }
        numbers = [f"{name}={value}" for name, value in chosen.items()]
        return ",".join([self.data, *numbers])

    @property
    def model_devices(self) -> int:
        """Devices that hold one copy of the model together."""
        return self.tensor * self.pipeline

    @property
    def divides_update(self) -> bool:
        """Whether each copy of the model updates its share of the weights."""
        return "optimizer" in DIVIDED.get(self.data, ())

    @property
    def usual_devices(self) -> int:
        """Devices, where nothing says how many: of one copy of the model, or of 8 where copies share its states."""
        return self.model_devices * (USUAL_COPIES if self.divides_update else 1)

    @property
    def meaning(self) -> str:
        """What it does, in words."""
        numbers = {
            f"each product is divided among {self.tensor} devices": self.tensor > 1,
            f"blocks among {self.pipeline} stages, which run one forward and one backward pass in turn": self.pipeline
            > 1,
            f"a copy of the model computes {self.micro_batch} sample(s) at once": self.micro_batch,
        }
        return "; ".join([MEANINGS[self.data], *(text for text, there in numbers.items() if there)])

    def copies(self, devices: int) -> int:
        """Copies of the model on so many devices. Raises EstimatorError where they make no whole number."""
        if devices % self.model_devices:
            raise EstimatorError(
                f"devices {devices}: tensor × pipeline = {self.model_devices} does not divide them; expected a multiple"
            )
        return devices // self.model_devices

    def divisors(self, devices: int) -> dict[str, float]:
        """By how much each part of a device's memory is divided among so many devices."""
        parts = dict.fromkeys(OF_STAGES, float(self.pipeline))
        for name in DIVIDED.get(self.data, ()):
            parts[name] *= self.copies(devices)
        return {name: divisor for name, divisor in parts.items() if divisor > 1}


WHOLE = Split()  # every device has the whole model


def read_split(written: str) -> Split:
    """The split that a text such as ``zero1,tensor=8,pipeline=4`` names. Raises EstimatorError for another text."""
    if not isinstance(written, str):
        raise EstimatorError(f"parallel is {written!r}; expected {WRITTEN}")
    fields: dict[str, str | int] = {}
    for part in written.split(","):
        name, _, value = part.strip().partition("=")
        if ("data" if name in WORDS else NUMBERS.get(name)) in fields:
            raise EstimatorError(f"parallel '{written}': '{part.strip()}' is the second of its kind; keep one of them")
        if name in WORDS and not value:
            fields["data"] = WORDS[name]
        elif name in NUMBERS and value.isascii() and value.isdigit() and 1 <= int(value) <= LARGEST:
            fields[NUMBERS[name]] = int(value)
        else:
            hint = "" if name in NUMBERS else suggestion(name, [*WORDS, *NUMBERS])
            raise EstimatorError(f"parallel '{part.strip()}' is not known; expected {WRITTEN}.{hint}")
    return Split(**fields)  # type: ignore[arg-type]
