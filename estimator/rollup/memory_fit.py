"""Whether what a training holds fits a device's memory, and what would."""

from __future__ import annotations

from estimator.core import units
from estimator.core.errors import UnfitError
from estimator.core.interval import bounds
from estimator.core.notes import Note
from estimator.core.types import DeviceSpec, MemoryUse, Workload
from estimator.rollup.memory import GB, GIB


def exceeds(use: MemoryUse) -> bool:
    """Whether even the low end of the total is beyond the capacity, and beyond what its data sheet may mean by it."""
    return use.capacity is not None and float(bounds(use.total)[0]) > most_capacity(use.capacity)


def most_capacity(capacity: float) -> float:
    """The largest memory that a capacity in whole GB may stand for [B]: data sheets write GB for 2^30 bytes of memory.

    Source: JEDEC Standard 100B.01, "giga (as a prefix to units of semiconductor storage capacity)".
    """
    return capacity / GB * GIB if capacity % GB == 0 else capacity


def check_fits(use: MemoryUse, device: DeviceSpec, workload: Workload) -> tuple[Note, ...]:
    """A note where the memory may not do.

    Raises EstimatorError where even the low end of the interval exceeds the capacity.
    """
    if use.capacity is None:
        return (
            Note("memory-unknown", f"the memory of {device.name} is not known: whether the step fits is not checked"),
        )
    low, mid, high = (float(end) for end in bounds(use.total))
    if exceeds(use):
        raise DoesNotFitError(f"{workload.name}: {_sentence(use, device, low)}")
    if high <= use.capacity:
        return ()
    needed = f"{_size(mid)} ({_size(low)} – {_size(high)}) of the {_size(use.capacity)} of {device.name}"
    subject = "the step" if use.trainings == 1 else f"the memory of {use.trainings} trainings"
    text = f"{subject} {'probably does not' if mid > use.capacity else 'may not'} fit: it needs {needed}"
    return (Note("memory-tight", f"{text}; 'estimator memory' lists the parts", subject=device.name),)


class DoesNotFitError(UnfitError):
    """A training that a device's memory cannot hold."""

    fits = False


def _sentence(use: MemoryUse, device: DeviceSpec, low: float) -> str:
    parts = sorted(((float(samples[0]), name) for name, samples in use.parts.items()), reverse=True)
    shown = ", ".join(f"{name} {_size(size)}" for size, name in parts[:3])
    batch = f" at batch {use.batch}" if use.batch else ""
    return (
        f"{_subject(use)} at least {_size(low)}{batch} (about {_size(float(use.total[0]))}: {shown}) and {device.name} "
        f"has {_size(float(use.capacity or 0.0))}; {_advice(use)}"
    )


def _subject(use: MemoryUse) -> str:
    return "the step needs" if use.trainings == 1 else f"{use.trainings} trainings need"


def _advice(use: MemoryUse) -> str:
    if use.trainings > 1:
        once = float(sum(use.parts[name][0] for name in use.parts_once))
        each = (float(use.total[0]) - once) / use.trainings
        most = max(int((float(use.capacity or 0.0) - once) // each), 0)
        return f"{most} would fit" if most else "not even one would fit"
    if use.largest_batch is None:
        return "take a device with more memory"
    if use.largest_batch == 0:
        return "not even a batch of 1 fits: take a device with more memory, or divide the model among devices"
    return f"a batch of {use.largest_batch} would fit"


def _size(size: float) -> str:
    return units.show(size, "B", 4, binary=True)
