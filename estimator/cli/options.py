"""The options and arguments that several commands share, with their help and shell completion."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal

import typer


def _complete(kind: str, pattern: str) -> Callable[[str], list[str]]:
    """Shell completion by the names of the library."""

    def names(incomplete: str) -> list[str]:
        from estimator.core import library
        from estimator.core.errors import EstimatorError

        with suppress(EstimatorError):  # the command itself says it
            return [name for name in library.names(kind, pattern) if name.startswith(incomplete)]
        return []

    return names


def refuse_unused(options: Sequence[str], reason: str) -> None:
    """Raise BadParameter for the first of the given options that changes nothing, for this reason."""
    if options:
        raise typer.BadParameter(f"{options[0]} changes nothing with {reason}; leave it out")


def _host(text: str) -> str | float | None:
    """The host scenario that is written as a word or a factor."""
    from estimator.core.scenarios import read_host

    try:
        return read_host(text)
    except ValueError as error:
        raise typer.BadParameter(f"it {error}") from None


def _input(text: str) -> str | None:
    """The scenario of input that is written as a word."""
    from estimator.core.scenarios import read_input

    try:
        return read_input(text)
    except ValueError as error:
        raise typer.BadParameter(f"it {error}") from None


def _writable(path: Path | None) -> Path | None:
    """Refuse a file that cannot be written, before any computation."""
    if path:
        from estimator.core.files import check_writable

        check_writable(path)
    return path


PROFILES = {"autocompletion": _complete("profiles", "*")}
DEVICES = {"metavar": "DEVICE", "autocompletion": _complete("devices", "*.yaml")}
SYSTEMS = {"metavar": "SYSTEM", "autocompletion": _complete("devices", "systems/*.yaml")}
PROFILE_HELP = "A dump, a folder of dumps, or a shipped profile."
TARGET_HELP = "Target device: a shipped name or a path to YAML."
NAMES_HELP = "One is shown in full, several side by side; without any, all of them in one table."
DumpFormat = Literal["xplane", "tfprof"]
Mode = Literal["training", "inference"]

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document, for programs.")]
ProfileName = Annotated[str, typer.Argument(metavar="PROFILE", help=PROFILE_HELP, **PROFILES)]
OptionalProfile = Annotated[str | None, typer.Argument(metavar="PROFILE", help=PROFILE_HELP, **PROFILES)]
DeviceNames = Annotated[list[str] | None, typer.Argument(help=NAMES_HELP, **DEVICES)]
SystemNames = Annotated[list[str] | None, typer.Argument(help=NAMES_HELP, **SYSTEMS)]
Target = Annotated[str, typer.Option(help=TARGET_HELP, **DEVICES)]
Targets = Annotated[list[str], typer.Option(help="Target device; give it once for each.", **DEVICES)]
Source = Annotated[str | None, typer.Option("--from", help="Device the profile was taken on.", **DEVICES)]
PRECISION_HELP = "Number format of the matrix products on the target; auto: the framework's default there."
Precision = Annotated[str | None, typer.Option(help=PRECISION_HELP)]
Fusion = Annotated[
    Literal["none", "elementwise"], typer.Option("--fusion", help="What a compiler fuses on the target.")
]
Layout = Annotated[
    Literal["auto", "none", "converted", "channels-first", "channels-last"],
    typer.Option(
        "--layout",
        help=(
            "Transposes of images that the target's library adds. auto: as the framework does; none; channels-last: "
            "around convolutions of PyTorch on matrix units; channels-first: around fp32 convolutions and pools on "
            "images with channels last; converted: the same for 1D ones only."
        ),
    ),
]
HOST_HELP = (
    "What the target's host does: none (kernels alone); profile (as the profile's host did; for a processor, its idle "
    "time); or a factor on the default, such as 0.5.  [default: profile; from a processor to an accelerator, the "
    "framework's launches]"
)
INPUT_HELP = (
    "Input time: carried (as profiled, in sequence with the rest), overlapped (read during the step before; the longer "
    "of the two counts), or none.  [default: carried; with --host none, none]"
)
Host = Annotated[
    Any, typer.Option("--host", metavar="profile|none|FACTOR", parser=_host, help=HOST_HELP, show_default=False)
]
InputOf = Annotated[
    Any, typer.Option("--input", metavar="carried|overlapped|none", parser=_input, help=INPUT_HELP, show_default=False)
]
OtherBatch = Annotated[
    int | None, typer.Option("--batch", min=1, help="Predict at this batch size; by default at the profiled one.")
]
Batches = Annotated[
    list[int] | None,
    typer.Option("--batch", min=1, help="Batch sizes, such as 1 8 64.  [default: powers of two around the profiled]"),
]
OtherMode = Annotated[
    Mode | None, typer.Option("--mode", help="inference takes the forward pass of a training profile.")
]
Measured = Annotated[str | None, typer.Option(metavar="FILE", help="CSV of measured ops of the target.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the draws behind the intervals.")]
Check = Annotated[bool, typer.Option("--check", help="Check the file, or all files; exit 1 where one has a fault.")]
CSV = {"metavar": "FILE", "callback": _writable}
CsvFile = Annotated[Path | None, typer.Option("--csv", help="Write the table as CSV too.", **CSV)]
StudyFile = Annotated[Path, typer.Argument(metavar="STUDY.yaml", help="The study file; 'estimator init' writes one.")]
OutputFolder = Annotated[Path | None, typer.Option("-o", metavar="DIR", help="Folder; by default the study's own.")]

PARALLEL_HELP = (
    "How the training is divided: data (gradients are all-reduced), zero1, zero2, zero3 or fsdp (the optimizer's "
    "state, gradients, weights are divided too), or parameter-server; and micro=N (samples that a copy computes at "
    "once; where it is missing, a pipeline chooses them). With shard=N only N copies share what zero1 to zero3 divide. "
    "gradients=fp16 or bf16 sends gradients in that format, top=1% only the largest ones. Models given as layers also "
    "take tensor=N (parts of each product), with sequence (the parts also share the tokens of norms and dropouts) and "
    "overlap (which they send each other while products run); context=N (parts of each sequence); pipeline=N (stages "
    "of blocks), with interleave=N (runs of blocks per stage); or experts=N (copies that share the experts)."
)
Parallel = Annotated[str, typer.Option(metavar="SPLIT", help=PARALLEL_HELP)]
Parallels = Annotated[
    list[str] | None, typer.Option("--parallel", metavar="SPLIT", help=f"{PARALLEL_HELP} Repeatable.  [default: data]")
]
