"""The commands of measured tables: import and show."""

from pathlib import Path
from typing import Annotated

import typer

from estimator.cli.command import EstimatorCommand
from estimator.cli.emit import emit
from estimator.cli.options import DEVICES, TARGET_HELP, Json, Measured

app = typer.Typer(
    help="Measured times of ops: import tables, show what they hold.",
    epilog="Example: estimator measurements show v100",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
)
IMPORT_EXAMPLES = """\b
Example: estimator measurements import gemm.log conv.log --device v100 --library 'cuBLAS 10.1' -o v100.csv
Example: estimator measurements import DeepBench_NV_P100.xlsx --device p100 -o p100.csv
Example: estimator measurements import COMPUTE_REPORT.csv --topology net.csv --clock '1 GHz' --precision int8 -o npu.csv
"""
DEFAULT_ONLY = "where the file does not say"

Files = Annotated[
    list[Path], typer.Argument(metavar="FILE…", help="DeepBench logs and sheets, CSV tables, SCALE-Sim reports.")
]
Output = Annotated[Path, typer.Option("-o", metavar="FILE.csv", help="The table to write, in the project's columns.")]
MeasuredDevice = Annotated[
    str | None, typer.Option("--device", help="The device measured: a shipped name or a path to YAML.", **DEVICES)
]
Library = Annotated[str | None, typer.Option(metavar="TEXT", help=f"Library and versions, {DEFAULT_ONLY}.")]
Clock = Annotated[str | None, typer.Option(metavar="TEXT", help=f"Clock, such as '1.4 GHz', {DEFAULT_ONLY}.")]
OperandPrecision = Annotated[
    str | None, typer.Option(metavar="P", help=f"Number format of the operands, {DEFAULT_ONLY}.")
]
Publication = Annotated[str | None, typer.Option(metavar="TEXT", help=f"Where the figures stand, {DEFAULT_ONLY}.")]
Topology = Annotated[Path | None, typer.Option(metavar="FILE", help="Layers that SCALE-Sim was given, CSV.")]
KeepImpossible = Annotated[
    bool, typer.Option("--keep-impossible", help="Flag matrix products above the device's peak instead of refusing.")
]
Device = Annotated[str, typer.Argument(help=TARGET_HELP.removeprefix("Target device: ").capitalize(), **DEVICES)]


@app.command("import", cls=EstimatorCommand, epilog=IMPORT_EXAMPLES)
def import_(
    files: Files,
    output: Output,
    device: MeasuredDevice = None,
    library: Library = None,
    clock: Clock = None,
    precision: OperandPrecision = None,
    topology: Topology = None,
    source: Publication = None,
    keep_impossible: KeepImpossible = False,
    as_json: Json = False,
) -> None:
    """Read measured tables of any known format and write them as one CSV.

    The format is recognised from the content. Rows of different conditions (library, clock, threads, accumulation,
    padding) are refused, as are matrix products above 1.05 x the device's peak; other rows faster than its data sheet
    allows are kept and flagged.
    """
    from estimator.cli import documents
    from estimator.cli.render.measurements import render_import
    from estimator.devices import load_device
    from estimator.devices.importers import import_measurements
    from estimator.devices.importers.declared import Declared

    spec = load_device(device) if device else None
    declared = Declared(spec, library, clock, precision, source, topology)
    result = import_measurements(files, output, declared, keep_impossible=keep_impossible)
    emit(documents.imported_measurements(result), render_import, as_json)


@app.command(cls=EstimatorCommand, epilog="Example: estimator measurements show v100")
def show(device: Device, measurements: Measured = None, as_json: Json = False) -> None:
    """What is measured of a device.

    Rows, best rates, flags and conditions by op class and precision.
    """
    from estimator.cli import documents
    from estimator.cli.render.measurements import render_show
    from estimator.devices import load_device
    from estimator.devices.measurements import read_measurements
    from estimator.devices.measurements.conditions import distinct_conditions
    from estimator.devices.measurements.survey import survey

    spec = load_device(device)
    rows, notes = read_measurements(spec, measurements, device)
    document = documents.device_measurements(spec.name, survey(rows, spec), distinct_conditions(rows), notes)
    emit(document, render_show, as_json)
