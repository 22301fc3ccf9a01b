"""Every block of code of README and docs runs, in the order of its page, in a copy of the checkout.

``<!-- not run: why -->`` in front of a block leaves it out. ``<!-- reads: WHAT -->`` says what reads a block of YAML,
one of READERS; without it the keys tell. ``<!-- output: ... -->`` says that the block before it prints these lines.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import TypeAdapter

from estimator.core import yaml_files
from estimator.core.types import Workload
from estimator.devices import load_device, load_system
from estimator.profiles.layers.model import Layers
from estimator.profiles.workload import Provenance
from estimator.studies.study import Study, read_study
from tests.conftest import ROOT
from tests.docs.pages import Block, blocks, pages

BLOCKS = {page: list(blocks(page)) for page in pages()}
RUN = {"bash": ["bash", "-euo", "pipefail", "-c"], "python": [sys.executable, "-c"]}
SHOWN = ("", "text", "console", "json", "csv")  # languages of what is shown, and not run
OMITTED = "…"  # a line in place of lines of an output
BY_CI = ".venv/bin/pip install"  # in a block: it sets up an environment, as .ci/run does by itself
COPIED = ("reports", "devices")  # in which commands write
READ_ONLY = ("profiles", "tests", "docs", "estimator", "pyproject.toml")


def of_study(path: Path) -> None:
    """Check the keys of a part of a study one by one."""
    for key, value in yaml.safe_load(path.read_text(encoding="utf-8")).items():
        TypeAdapter(Study.model_fields[key].rebuild_annotation()).validate_python(value)


def model(kind: type[Any]) -> Callable[[Path], object]:
    return lambda path: yaml_files.check(kind, yaml_files.read_yaml(path))


READERS: dict[str, Callable[[Path], object]] = {
    "study": read_study,
    "part of a study": of_study,
    "device": load_device,
    "system": load_system,
    "workload": model(Workload),
    "provenance": model(Provenance),
    "layers": model(Layers),
}
KEYS = {"study": {"baseline", "machines"}, "layers": {"kind", "blocks"}, "device": {"peak"}, "system": {"nodes"}}


def reader(block: Block) -> str | None:
    """What reads a block of YAML: as its comment says, or as its keys tell."""
    keys = set(yaml.safe_load(block.text))
    known = [kind for kind, needed in KEYS.items() if needed <= keys]
    part = ["part of a study"] if keys <= Study.model_fields.keys() else []
    return block.reads or next(iter([*known, *part]), None)


def is_run(block: Block) -> bool:
    return block.language in RUN and block.not_run is None and BY_CI not in block.text


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder like a checkout, in which commands may write."""
    place = tmp_path / "checkout"
    for name in COPIED:
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("report.html", "results.json"))
    for name in READ_ONLY:
        (place / name).symlink_to(ROOT / name)
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, arguments in {"estimator": "-m estimator", "python": ""}.items():  # a link would leave its environment
        (commands / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
        (commands / name).chmod(0o755)
    return place


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [page for page, actual in BLOCKS.items() if any(map(is_run, actual))],
    ids=lambda p: str(p.relative_to(ROOT)),
)
def test_commands_and_programs_run(page: Path, checkout: Path) -> None:
    path = f"{checkout.parent / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "COLUMNS": "160"}
    for block, shown in pairwise([*BLOCKS[page], None]):
        if block is None or not is_run(block):
            assert shown is None or shown.output is None, f"{shown}: nothing that runs stands before this output"
            continue
        command = [*RUN[block.language], block.text]
        done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (
            f"{block}: exit {done.returncode}\n{block.text}\n{done.stdout[-2000:]}{done.stderr}"
        )
        if shown is not None and shown.output is not None:
            assert [line for line in shown.text.splitlines() if line not in [OMITTED, *done.stdout.splitlines()]] == []


@pytest.mark.parametrize(
    "block", [b for actual in BLOCKS.values() for b in actual if b.language == "yaml" and b.not_run is None], ids=str
)
def test_yaml_is_what_its_reader_accepts(block: Block, tmp_path: Path) -> None:
    kind = reader(block)
    assert kind in READERS, f"{block}: say what reads it: <!-- reads: {' | '.join(READERS)} -->"
    path = tmp_path / f"{yaml.safe_load(block.text).get('name', 'file')}.yaml"
    path.write_text(block.text, encoding="utf-8")
    READERS[kind](path)


def test_every_block_says_what_it_is_and_why_it_is_not_run() -> None:
    known = {*RUN, "yaml", *SHOWN}
    every = [block for actual in BLOCKS.values() for block in actual]
    assert [str(block) for block in every if block.language not in known] == []
    assert [str(block) for block in every if block.not_run is not None and len(block.not_run.split()) < 2] == []


def test_most_blocks_are_run() -> None:
    code = [block for actual in BLOCKS.values() for block in actual if block.language in RUN]
    assert sum(map(is_run, code)) >= 0.6 * len(code)
