"""What a dump holds beside a profile, such as an environment with access tokens, appears in no output and no error."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from estimator.core import library
from tests.cli.command_line import attempt
from tests.profiles.kineto.events import kernel, launch, step

SECRET = "hf_Sesame31"
ENVIRONMENT = {"environ": {"HF_TOKEN": SECRET, "PATH": f"/home/{SECRET}"}, SECRET: SECRET, "list": [SECRET, 1, None]}
EVENTS = [
    step(1, 0, 100),
    launch(1, 1),
    kernel("sgemm", 10, 50, 1),
    step(2, 100, 100),
    launch(101, 2),
    kernel("sgemm", 110, 50, 2),
]


def trace(**more: Any) -> str:
    return json.dumps({**ENVIRONMENT, "schemaVersion": 1, "traceEvents": EVENTS, **more})


def with_arguments() -> str:
    return trace(traceEvents=[{**event, **ENVIRONMENT, "args": {**ENVIRONMENT, **event["args"]}} for event in EVENTS])


BROKEN: dict[str, Callable[[str], str]] = {
    "whole": lambda text: text,
    "cut off": lambda text: text[: text.index(SECRET) + len(SECRET)],
    "cut off later": lambda text: text[: text.rindex(SECRET) + len(SECRET) + 2],
    "no quotes": lambda text: text.replace(f'"{SECRET}"', SECRET),
    "not JSON": lambda text: text.replace('"environ":', '"environ" '),
    "a wrong escape": lambda text: text.replace(SECRET, f"{SECRET}\\q"),
    "a bare line break": lambda text: text.replace(SECRET, f"{SECRET}\n"),
    "not a number": lambda text: text.replace('"ph": "X"', '"ph": NaN'),
    "twice": lambda text: text + text,
    "in quotes": json.dumps,
    "in a list": lambda text: f"[{text}]",
}
TRACES = {
    "keys": trace(),
    "arguments": with_arguments(),
    "no events": trace(traceEvents=[]),
    "text for events": trace(traceEvents=SECRET),
    "a mapping for events": trace(traceEvents=ENVIRONMENT),
    "other events": trace(traceEvents=[SECRET, ENVIRONMENT, *EVENTS, None]),
    "no trace": json.dumps(ENVIRONMENT),
    "metadata": trace(traceEvents=[{"ph": "M", "name": "process_labels", "pid": 1, "args": ENVIRONMENT}, *EVENTS]),
}


def shown(*words: str) -> str:
    """All that a command prints, whether it succeeds or finds a fault of its input."""
    code, output = attempt(*words)
    assert code in (0, 1)
    assert "A defect" not in output.stderr
    return output.stdout + output.stderr


@pytest.mark.slow
@pytest.mark.parametrize("how", BROKEN)
@pytest.mark.parametrize("what", TRACES)
def test_unknown_keys_of_a_trace_are_never_printed(what: str, how: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(BROKEN[how](TRACES[what]))
    for words in (["ingest", str(path)], ["ingest", str(path), "--json"], ["estimate", str(path), "--to", "v100"]):
        assert SECRET not in shown(*words)


LAYERS = (library.names("profiles", "gpt2")["gpt2"] / "layers.yaml").read_text()
TEXTS = {
    "a key": "environ: {TOKEN: %s}",
    "a list": "environ: [%s, 1]",
    "a line": "environ:\n  TOKEN: %s\n  OTHER: {%s",
    "a tab": "environ:\n\tTOKEN: %s",
    "a reference": "environ: *%s",
    "a tag": "environ: !%s x",
    "a date": "environ: 2020-13-45 # %s",
    "quotes": 'environ: "%s',
    "a directive": "%%%s\n---\na: b",
    "a key twice": "environ: 1\nenviron: %s",
}


@pytest.mark.parametrize("what", TEXTS)
@pytest.mark.parametrize("file", ["layers.yaml", "workload.yaml", "provenance.yaml"])
def test_unknown_keys_of_files_beside_a_dump_are_never_printed(what: str, file: str, tmp_path: Path) -> None:
    (tmp_path / "trace.json").write_text(trace())
    broken = TEXTS[what].replace("%s", SECRET).replace("%%", "%")
    (tmp_path / file).write_text(f"{LAYERS if file == 'layers.yaml' else ''}\n{broken}\n")
    assert SECRET not in shown("ingest", str(tmp_path if file == "layers.yaml" else tmp_path / "trace.json"))


def test_the_tokens_of_an_op_table_are_never_printed(tmp_path: Path) -> None:
    path = tmp_path / "ops.csv"
    header, row = "op,op_type,time_s,environ", f"a,MatMul,1e-3,{SECRET}"
    for text in (f"{header}\n{row}\n", f"{header}\n{row},{SECRET}\n", f"{header}\n{row.replace('1e-3', 'x')}\n"):
        path.write_text(text)
        assert SECRET not in shown("ingest", str(path))
