"""A plain replay of Megatron's order of passes in a pipeline (NVIDIA/Megatron-LM, pipeline_parallel/schedules.py)."""

from collections.abc import Sequence

Pass = tuple[str, int, int]  # forward or backward, run of blocks, micro-batch
Times = tuple[float, float]  # of a forward and of a backward pass [s]


def passes_of_stage(stage: int, stages: int, runs: int, micro_batches: int) -> list[Pass]:
    """What a stage does in turn: some forward passes first, then one of each kind in turn."""

    def nth(number: int, kind: str) -> Pass:
        rounds, inside = divmod(number, stages * runs)
        run, of_round = divmod(inside, stages)
        return kind, run if kind == "forward" else runs - 1 - run, rounds * stages + of_round

    total = micro_batches * runs
    ahead = 2 * (stages - stage - 1) + (runs - 1) * stages if runs > 1 else stages - stage - 1
    ahead = min(ahead, total)
    both = [
        nth(number, kind) for i in range(total - ahead) for number, kind in ((ahead + i, "forward"), (i, "backward"))
    ]
    rest = [nth(number, "backward") for number in range(total - ahead, total)]
    return [*(nth(number, "forward") for number in range(ahead)), *both, *rest]


def replayed(
    stages: int, runs: int, micro_batches: int, each: Times, first: Times, last: Times,
    sizes: Sequence[float] | None = None,
) -> float:  # fmt: skip
    """When all is done [s]: every pass starts once its stage is free and what it needs has come.

    ``each``: both passes of one run of blocks; ``first`` and ``last``: what stands before and behind the blocks.
    ``sizes``: how many times as long each stage takes for a run of blocks.
    """
    sizes = sizes or [1.0] * stages
    left = {stage: passes_of_stage(stage, stages, runs, micro_batches) for stage in range(stages)}
    free, ended = dict.fromkeys(left, 0.0), dict[tuple[str, int, int], float]()
    while any(left.values()):
        for stage, passes in left.items():
            while passes:
                kind, run, micro = passes[0]
                place = run * stages + stage  # among all runs of blocks
                before = ("forward", place - 1, micro) if kind == "forward" else ("backward", place + 1, micro)
                if place == stages * runs - 1 and kind == "backward":
                    before = ("forward", place, micro)
                if (place or kind == "backward") and before not in ended:
                    break
                side = ("forward", "backward").index(kind)
                more = (place == 0) * first[side] + (place == stages * runs - 1) * last[side]
                free[stage] = max(free[stage], ended.get(before, 0.0)) + sizes[stage] * each[side] + more
                ended[kind, place, micro] = free[stage]
                del passes[0]
    return max(free.values())
