"""All-reduce over processes of this machine."""

from __future__ import annotations

import importlib
import multiprocessing
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from estimator.collect.bench.types import LeftOutError

WIRE, PATIENCE_S = {True: "nccl", False: "gloo"}, 120.0  # backend by whether it is a GPU; limit for each size


def all_reduce(sizes: Sequence[int], ranks: int, gpu: bool) -> Iterator[tuple[int, list[float]]]:
    """Yield index and seconds per repeat of each size, over ``ranks`` local processes (torch.distributed)."""
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    with tempfile.TemporaryDirectory() as folder:
        shared = (ranks, sizes, Path(folder, "meeting").as_uri(), gpu, results)
        workers = [context.Process(target=_rank, args=(rank, *shared), daemon=True) for rank in range(ranks)]
        try:
            for worker in workers:
                worker.start()
            for _ in sizes:
                end = time.perf_counter() + PATIENCE_S
                while results.empty():
                    if any(worker.exitcode for worker in workers) or time.perf_counter() > end:
                        raise LeftOutError("a process of the all-reduce failed or did not answer; see what it wrote")
                    time.sleep(0.02)
                yield results.get()
        finally:
            for worker in workers:
                worker.kill()
                worker.join()


def _rank(rank: int, ranks: int, sizes: Sequence[int], meeting: str, gpu: bool, results: Any) -> None:
    torch, group = importlib.import_module("torch"), importlib.import_module("torch.distributed")
    settings = {"rank": rank, "world_size": ranks, "timeout": timedelta(seconds=PATIENCE_S)}
    group.init_process_group(WIRE[gpu], init_method=meeting, **settings)
    for index, size in enumerate(sizes):
        data, samples = torch.rand(max(1, size // 4), device=f"cuda:{rank}" if gpu else "cpu"), []
        for _ in range(3 + 25):  # three warm up
            group.barrier()
            start = time.perf_counter()
            group.all_reduce(data, group.ReduceOp.MAX)
            data[0].item()  # waits for the device
            samples.append(time.perf_counter() - start)
        if rank == 0:
            results.put((index, samples[3:]))
    group.barrier()
    group.destroy_process_group()
