"""``python tests/same_predictions.py OLD_CHECKOUT``: does this checkout predict what another one predicts?

Runs the same commands in both checkouts and compares every number of their JSON documents to 1e-9. Lists each number
that differs, and each op whose rung of the ladder differs; ends with 1 where any does. Sentences may differ.
``--only WORD`` runs the commands that contain the word; ``--but WORD`` passes over keys that contain it, such as counts
of FLOP; ``--data DIR`` adds ``estimator validate`` on public data; ``--keep DIR`` keeps the old side's documents.
"""

import argparse
import contextlib
import io
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]
TOLERANCE = 1e-9
SCRATCH = "SCRATCH"  # stands for a folder of the run's own
TEN_DEVICES = (
    "v100", "h100", "p100-pcie-16gb", "k20x", "a100-sxm4-80gb", "mi250x", "xeon-phi-7250", "titan-x-maxwell",
    "b200-sxm", "epyc-9654",
)  # fmt: skip
OPTIONS = (
    ("--precision", "bf16"), ("--fusion", "elementwise"), ("--layout", "channels-first"), ("--batch", "50"),
    ("--mode", "inference"), ("--precision", "fp16", "--fusion", "elementwise"), ("--precision", "fp8"),
)  # fmt: skip
TEXT_KEYS = ("warnings", "assumptions", "notes", "told")  # sentences, which may be worded anew
SHAPES = """op_class,precision,batch,m,n,k,bytes,flop
gemm,fp32,1,1024,512,2048,,
gemm,fp16,8,64,64,64,,
elementwise,fp32,,,,,4e8,1e8
"""


def commands(data: str | None) -> Iterator[list[str]]:
    """The commands that are compared."""
    for study in sorted((HERE / "reports").glob("*/study.yaml")):
        name = study.relative_to(HERE).as_posix()
        yield ["fom", name, "--json"]
        yield ["report", name, "-o", f"{SCRATCH}/{study.parent.name}", "--json"]
    dumps = sorted(f"{path.parent.name}/{path.name}" for path in (HERE / "profiles").glob("*/*.*") if path.is_dir())
    for dump in dumps:
        yield ["ingest", dump, "--json", "--top", "1"]
    for device in TEN_DEVICES:
        yield ["estimate", "p1b3", "--to", device, "--json"]
        yield ["predict", f"{SCRATCH}/shapes.csv", "--on", device, "--json"]
    for dump in dumps:
        for device in ("v100", "h100", "titan-x-maxwell"):
            yield ["estimate", dump, "--to", device, "--json"]
        for options in OPTIONS:
            yield ["estimate", dump, "--to", "h100", *options, "--json"]
        yield ["estimate", dump, "--to", "xeon-phi-7250", "--from", "xeon-platinum-8280", "--json"]
    if data:
        yield ["validate", "--data", data, "--json"]


def run_here(wanted: list[list[str]], out: Path) -> None:
    """Run the commands in this process by the checkout on the path, and write their documents."""
    from estimator import cli

    documents: dict[str, Any] = {}
    for words in wanted:
        arguments = [word.replace(SCRATCH, str(out.parent)) for word in words]
        sys.argv, printed = ["estimator", *arguments], io.StringIO()
        end: object = 0
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
            try:
                cli.main()
            except SystemExit as exit_:
                end = exit_.code
        text = printed.getvalue()
        name = " ".join(words)
        documents[name] = json.loads(text) if text and not end else {"refused": bool(end)}
        if arguments[0] == "report" and not end:
            documents[name] = json.loads((Path(arguments[3]) / "results.json").read_text())
    out.write_text(json.dumps(documents))


def documents_of(checkout: Path, wanted: Path, out: Path) -> dict[str, Any]:
    """The documents of the commands in a checkout, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    subprocess.run(
        [sys.executable, __file__, "--run", str(wanted), str(out)], env=environment, cwd=checkout, check=True
    )
    return dict(json.loads(out.read_text()))


def differences(old: Any, new: Any, where: str = "") -> Iterator[str]:
    """Where two documents differ in more than sentences."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            if key in TEXT_KEYS:
                continue
            if key not in old or key not in new:
                yield f"{where}.{key}: only in the {'new' if key in new else 'old'} document"
            else:
                yield from differences(old[key], new[key], f"{where}.{key}")
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield f"{where}: {len(old)} entries became {len(new)}"
        for place, pair in enumerate(zip(old, new, strict=False)):
            yield from differences(*pair, f"{where}[{place}]")
    elif isinstance(old, int | float) and isinstance(new, int | float):
        if not math.isclose(old, new, rel_tol=TOLERANCE, abs_tol=1e-300):
            yield f"{where}: {old!r} became {new!r}"
    elif old != new and (where.endswith(".method") or type(old) is not type(new)):
        yield f"{where}: {old!r} became {new!r}"


def main() -> None:
    """Compare; or run one side."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("old", nargs="?", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--but", action="append", default=[])
    parser.add_argument("--data")
    parser.add_argument("--run", nargs=2, type=Path)
    parser.add_argument("--keep", type=Path, help="folder where the old side's documents are kept")
    asked = parser.parse_args()
    if asked.run:
        run_here(json.loads(asked.run[0].read_text()), asked.run[1])
        return
    with tempfile.TemporaryDirectory() as scratch:
        place = asked.keep or Path(scratch)
        place.mkdir(parents=True, exist_ok=True)
        (place / "shapes.csv").write_text(SHAPES)
        wanted = [words for words in commands(asked.data) if asked.only in " ".join(words)]
        (place / "wanted.json").write_text(json.dumps(wanted))
        kept = place / "old.json"
        old = (
            json.loads(kept.read_text())
            if asked.keep and kept.exists()
            else documents_of(asked.old.resolve(), place / "wanted.json", kept)
        )
        new = documents_of(HERE, place / "wanted.json", place / "new.json")
    lines = [f"{name}: {line}" for name in new for line in differences(old.get(name), new[name])]
    actual = [line for line in lines if not any(word in line.rpartition(": ")[0] for word in asked.but)]
    sys.stdout.write("".join(f"{line}\n" for line in actual))
    sys.stdout.write(f"{len(new)} commands, {len(actual)} differences\n")
    sys.exit(bool(actual))


if __name__ == "__main__":
    main()
