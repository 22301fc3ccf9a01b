"""Mutation score of the arithmetic: python tests/benchmarks/mutants.py [mutants of each package, 100] [seed, 1]

mutmut changes one thing of a function at a time (an operator, a number, a text, an argument) and runs the tests that
reach it: those of tests/rollup, tests/model and tests/work, and of the pipeline. Draws a sample of the mutants of each
package, prints which share the tests notice, with the 95 % interval of Wilson, and lists the survivors, each with its
judgement in mutants.tsv. What a decorator wraps, and what stands outside functions, mutmut leaves alone. Takes about
4 s for each mutant on one core, after 3 minutes. Needs the extras dev and mutants; works in ./mutants, made anew.
"""

from __future__ import annotations

import math
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("rollup", "model", "work")
OWN = tuple(f"estimator.{package}" for package in PACKAGES)
JUDGED = Path(__file__).with_suffix(".tsv")  # file, before → after, why no test should notice it
NOTICED = ("killed", "timeout", "segfault")


@pytest.fixture(autouse=True)
def cold_caches() -> None:
    """A mutant is not seen by a test that finds its result in a cache. pyproject.toml gives this module to mutmut."""
    for name, module in list(sys.modules.items()):
        for value in vars(module).values() if name.startswith(OWN) else ():
            if hasattr(value, "cache_clear"):
                value.cache_clear()


def mutants() -> Iterator[tuple[str, str, Path, str]]:
    """Package, name and file of every mutant, and what became of it."""
    from mutmut.mutation.data import SourceFileMutationData
    from mutmut.stats import status_by_exit_code
    from mutmut.utils.file_utils import walk_mutatable_files

    for path in sorted(walk_mutatable_files()):
        actual = SourceFileMutationData(path=path)
        actual.load()
        for name, code in actual.exit_code_by_key.items():
            yield path.parts[1], name, path, status_by_exit_code[code]


def make_mutants() -> None:
    """All of them, in ./mutants."""
    from mutmut.__main__ import copy_also_copy_files, copy_src_dir, create_mutants

    shutil.rmtree("mutants", ignore_errors=True)
    Path("mutants").mkdir()
    with redirect_stdout(None):
        copy_src_dir()
        copy_also_copy_files()
        create_mutants(1)


def change(name: str, path: Path) -> tuple[int, str]:
    """The line of a mutant, and ``before → after``."""
    from mutmut.mutation.diff_apply import get_diff_for_mutant

    lines = get_diff_for_mutant(name, path=path).splitlines()[2:]
    before, after = ([line[1:].strip() for line in lines if line.startswith(sign)] for sign in "-+")
    source = [line.strip() for line in path.read_text().splitlines()]
    function = name.rpartition(".")[2].rpartition("__mutmut_")[0].removeprefix("x_").rpartition("ǁ")[2]
    start = next((i for i, line in enumerate(source) if line.startswith(f"def {function}(")), 0)
    return source.index(before[0], start) + 1, f"{' '.join(before)} → {' '.join(after)}"


def judged() -> dict[tuple[str, str], str]:
    """Why a survivor changes nothing that a test should notice, by file and ``before → after``."""
    lines = (line.split("\t") for line in JUDGED.read_text(encoding="utf-8").splitlines())
    return {(path, text): why for path, text, why in lines}


def wilson(hits: int, of: int) -> tuple[float, float]:
    """The 95 % interval of a share."""
    z2 = 1.96**2
    middle, half = hits + z2 / 2, math.sqrt(z2 * (hits * (of - hits) / of + z2 / 4))
    return (middle - half) / (of + z2), (middle + half) / (of + z2)


def main(number: int = 100, seed: int = 1) -> None:
    os.chdir(ROOT)
    make_mutants()
    every, draw = list(mutants()), random.Random(seed)
    names = {package: [name for of, name, *_ in every if of == package] for package in PACKAGES}
    drawn = {package: draw.sample(of, min(number, len(of))) for package, of in names.items()}
    sample = [name for of in drawn.values() for name in of]
    with Path("mutants/log.txt").open("w") as log:
        run = [str(Path(sys.executable).with_name("mutmut")), "run", "--max-children", "1", *sample]
        subprocess.run(run, check=True, stdout=log, stderr=log, env={**os.environ, "OMP_NUM_THREADS": "1"})
    outcomes = {name: (status, path) for _, name, path, status in mutants()}
    for package, of in drawn.items():
        hits = sum(outcomes[name][0] in NOTICED for name in of)
        low, high = wilson(hits, len(of))
        print(
            f"{package}: {hits} of {len(of)} mutants noticed, {hits / len(of):.0%} ({low:.0%} – {high:.0%}), ", end=""
        )
        print(f"drawn from {len(names[package])}")
    known = judged()
    for name in sample:
        status, path = outcomes[name]
        if status not in NOTICED:
            line, text = change(name, path)
            print(f"{path}:{line}  {text}\n    {known.get((str(path), text), f'not judged yet: {status}')}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
