"""How many samples the stages of a pipeline compute at once, where nobody says so."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from estimator.core.notes import Note
from estimator.core.parallel import Split
from estimator.rollup.pipeline_parallel import bubble_share
from estimator.rollup.scaling import Group, divisors

# per stage: stages then hardly idle (Huang et al., GPipe, NeurIPS 2019, section 2.3, from memory)
USUAL_MICRO_BATCHES = 4
MUCH_IDLE = 0.2  # of a step, for stages of a pipeline: a note says what shortens it


def micro_batch_sizes(batch: int, stages: int, runs: int = 1) -> list[int]:
    """Samples of a micro-batch that divide a batch, largest first; the least is 1.

    Stages of several ``runs`` of blocks take whole rounds of micro-batches.
    """
    sizes = reversed(divisors(batch))
    return [size for size in sizes if size == 1 or runs == 1 or batch // size % stages == 0]


def with_micro_batch(
    group: Group,
    split: Split,
    fits: Callable[[Group], bool],
    step_s: Callable[[Group], float],
    stated: int | None = None,
) -> Group:
    """A group whose stages compute as many samples at once as its workload states, or else as takes the least time, of
    those that fit the memory.

    The search begins with about :data:`USUAL_MICRO_BATCHES` times as many micro-batches as stages, and goes on as long
    as a step gets shorter. Where nothing fits it is one sample. A split that names the size keeps it. Fewer samples
    never need more memory.

    Args:
        group: the devices.
        split: how they share the training.
        fits: whether a group of this micro-batch fits.
        step_s: the step of a group with its micro-batch [s]; asked for again and again.
        stated: samples at once that the workload states; None where it states none.
    """
    if not split.leaves_micro_batch or group.local_batch is None:
        return group
    sizes = micro_batch_sizes(group.local_batch, split.pipeline, split.interleave)
    groups = [replace(group, micro_batch=size) for size in sizes]
    chosen = next((each for each in groups if each.micro_batch == stated), None)
    if chosen is not None and (stated == 1 or fits(chosen)):
        return chosen
    fitting = groups[bisect_left(groups[:-1], True, key=fits) :]
    usual = USUAL_MICRO_BATCHES * split.pipeline
    first = next((place for place, each in enumerate(fitting) if each.micro_batches >= usual), len(fitting) - 1)
    return _shortest_near(fitting, first, step_s)


def _shortest_near(groups: Sequence[Group], place: int, step_s: Callable[[Group], float]) -> Group:
    """The group with the shortest step, from a place on: the next one to either side, as long as that is shorter."""
    for way in (-1, 1):
        while 0 <= place + way < len(groups) and step_s(groups[place + way]) < step_s(groups[place]):
            place += way
    return groups[place]


def micro_batch_note(groups: Sequence[Group], split: Split, stated: int | None) -> Iterator[Note]:
    """A note on micro-batches that nobody asked for, or that these groups do not take though the workload states them.

    ``stated`` as for :func:`with_micro_batch`.
    """
    sizes = [group.at_once or 1 for group in groups]
    if split.leaves_micro_batch:
        yield _note_of_stages(groups, split, sizes)
    elif stated and not split.micro_batch and max(sizes) > stated:
        text = (
            f"a copy of the model computes {_range(sizes)} samples at once, and the layers state micro_batch {stated}; "
            f"micro={stated} in the split computes as many at once"
        )
        yield Note("micro-batch", text, subject=str(split))


def _note_of_stages(groups: Sequence[Group], split: Split, sizes: Sequence[int]) -> Note:
    """How many samples stages compute at once, and how long those of these groups wait for each other."""
    idle = [bubble_share(split.pipeline, group.micro_batches, split.interleave) for group in groups]
    text = (
        f"pipeline={split.pipeline} without micro=N: a stage computes {_range(sizes)} sample(s) at once, so that it "
        f"idles for {_range([round(100 * share) for share in idle])} % of the step"
    )
    more = "; a larger batch of each copy lowers that" if max(idle) > MUCH_IDLE else ""
    return Note("micro-batch", text + more, subject=str(split), share=max(idle))


def _range(numbers: Sequence[int]) -> str:
    least, most = min(numbers), max(numbers)
    return f"{least}" if least == most else f"{least} to {most}"
