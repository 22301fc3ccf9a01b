"""Results as short tables of text, which the command line prints and notebooks show (documents → TextTable)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from estimator.core import units
from estimator.reports.text import format_evidence, format_interval, format_time, is_known, shorten

OF_ONE_KIND, TIMES = ("op_class", "bound", "method"), ("time_s", "target_time_s")  # of ops of an estimate
OPS_SHOWN = 12
THRESHOLD = {True: "met", False: "not met", None: "none"}
EXPENSES = {"energy_j": ("energy per unit", "J"), "usd": ("price per unit", "USD")}  # shown where any is known
RATIOS = {"ratio_per_worker": "ratio, worker", "ratio_per_node": "ratio, node", "ratio": "ratio, system"}
RATES = ("units_per_day", *RATIOS)
COMPARED = ("workload", "batch", "target", "step time", "speedup", "matrix products alone", "evidence, of the step")
SCALED = ("devices", "nodes", "batch", "efficiency", "messages", "exposed", "memory", "power", "energy")
EXPOSED = "what messages and the wait for the slowest device add to the step"
CORRECTED = f"{EXPOSED}: of the corrected step the same share as of the predicted one"
SCALED_HEADINGS = (*SCALED[:3], "step time", "samples/s", *SCALED[3:])
SPARE = ("batch", "power", "nodes", "messages")


@dataclass(frozen=True)
class TextTable:
    """A table of texts.

    ``right``: headings of columns that align right; ``spare``: of columns that a narrow terminal leaves out, the last
    one first; ``folds``: whether the first column may wrap. ``stacks``: headings of columns in which a narrow terminal
    shows an interval below its number; ``drops``: in which it shows the number alone.
    """

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Sequence[str] = ()
    folds: bool = False
    spare: Sequence[str] = ()
    stacks: Sequence[str] = ()
    drops: Sequence[str] = ()


def run_of(document: Mapping[str, Any]) -> str:
    """Where and how the run of an estimate is predicted: ``on h100-sxm5-80gb, batch 64, bf16, per device``."""
    mode = "inference, " if document["mode"] == "inference" else ""
    batch = f"batch {document['batch_size']}, " if document["batch_size"] else ""
    return f"on {document['target']}, {mode}{batch}{document['precision']}, per device"


def step_table(document: Mapping[str, Any]) -> TextTable:
    """The figures of an estimated step."""
    return TextTable("", ("figure", "value (90 % interval)"), list(_step_figures(document)))


def _step_figures(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each figure of a step and its value in words."""
    scenario = f"host: {document['host']}, input: {document['input']}"
    yield f"step time ({scenario})", format_interval(document["step_s"])
    yield "kernels alone", format_interval(document["kernels_s"])
    yield "matrix products alone", format_interval(document["matrix_only_step_s"])
    if is_known(document["source_step_s"]):
        counted = "kernels alone" if document["host"] == "none" else "step time"
        yield f"{counted} on {document['source'] or 'the source'}", format_time(document["source_step_s"])
        yield "speedup", format_interval(document["speedup"], "1")
    floor, ceiling = (format_time(document["bound_s"][name]) for name in ("floor", "ceiling"))
    yield "physical floor – ceiling", f"{floor} – {ceiling}"
    yield "parts", parts_text(document)
    yield "mean power of the device, energy of a step", _power_text(document)
    yield "evidence, shares of the critical path", format_evidence(document["evidence"])
    numbers = document["specifications"]
    yield "catalogue numbers used", f"{numbers['used']}, {numbers['unverified']} of them unverified"
    if is_known(document["coverage"]):
        yield "share of the source's step that is modelled", f"{100 * document['coverage']:.1f} %"


def _power_text(document: Mapping[str, Any]) -> str:
    """Power and energy, or why there are none."""
    if document["power_w"] is None:
        return "not predicted, as the device's power_limit is not known"
    return f"{format_interval(document['power_w'], 'W')}, {format_interval(document['energy_j_per_step'], 'J')}"


def parts_text(document: Mapping[str, Any]) -> str:
    """The parts of an estimated step that take any time."""
    return ", ".join(f"{name} {format_time(s)}" for name, s in document["components_s"].items() if s)


def ops_table(ops: Sequence[Mapping[str, Any]]) -> TextTable:
    """The longest ops of an estimate."""
    times = ("on source", "on target")
    longest = sorted(of_all_blocks(ops, OF_ONE_KIND, TIMES), key=lambda op: -(op["target_time_s"] or 0))[:OPS_SHOWN]
    headings = ("op", "class", *times, "bound", "method")
    return TextTable("Ops by time on the target", headings, [_op_cells(op) for op in longest], times, folds=True)


def of_all_blocks(ops: Sequence[Mapping[str, Any]], kind: Sequence[str], summed: Sequence[str]) -> list[dict[str, Any]]:
    """Ops, where those of the repeated blocks of a model are one for all blocks.

    ``kind``: columns in which they must be equal; ``summed``: columns that are added up, unknown where all are.
    """
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for place, op in enumerate(ops):
        block = op["block"]
        name = op["op"] if block is None else op["op"].replace(str(block), "*", 1)
        key = (place,) if block is None else (name, *(op[column] for column in kind))
        row = rows.setdefault(key, {**op, "op": name, **dict.fromkeys(summed)})
        for column in summed:
            row[column] = op[column] if row[column] is None else row[column] + (op[column] or 0)
    return list(rows.values())


def _op_cells(op: Mapping[str, Any]) -> list[str]:
    seconds = format_time(op["time_s"] or None), format_time(op["target_time_s"])
    return [shorten(op["op"]), op["op_class"], *seconds, op["bound"] or "", op["method"] or ""]


def comparison_table(estimates: Sequence[Mapping[str, Any]]) -> TextTable:
    """Estimates side by side, one row each."""
    rows, spare = [_compared_cells(estimate) for estimate in estimates], COMPARED[5:6]
    return TextTable("Per device", COMPARED, rows, spare=spare, stacks=COMPARED[3:6])


def _compared_cells(estimate: Mapping[str, Any]) -> list[str]:
    if estimate.get("refused"):
        return [estimate["workload"], "–", estimate["target"], "refused", *["–"] * 3]
    workload = estimate["workload"] + ", inference" * (estimate["mode"] == "inference")
    step, matrix_only = (format_interval(estimate[name]) for name in ("step_s", "matrix_only_step_s"))
    speedup = format_interval(estimate["speedup"], "1") if is_known(estimate["source_step_s"]) else "–"
    run = workload, str(estimate["batch_size"] or "–"), estimate["target"]
    return [*run, step, speedup, matrix_only, format_evidence(estimate["evidence"])]


def scaling_table(document: Mapping[str, Any]) -> TextTable:
    """A row for each number of devices, and for each split, which has a column where there are several."""
    rows = [_scaled_cells(row) for row in document["rows"]]
    splits = [row["parallel"] for row in document["rows"]]
    headings: tuple[str, ...] = SCALED_HEADINGS
    if len(set(splits)) > 1:
        headings, rows = ("split", *headings), [[split, *cells] for split, cells in zip(splits, rows, strict=True)]
    title = scaling_title(document)
    return TextTable(title, headings, rows, SCALED, spare=SPARE, stacks=("step time",), drops=("samples/s",))


def scaling_legend(document: Mapping[str, Any]) -> str:
    """What the columns of :func:`scaling_table` hold."""
    messages, exposed = ("predicted time", CORRECTED) if document["timed_steps"] else ("time", EXPOSED)
    return (
        f"Messages: {messages} of all messages. Exposed: {exposed}. Memory: of one device (!: more than it has). "
        "Energy: of one step, on all devices and nodes. Ranges are 90 % intervals."
    )


def scaling_title(document: Mapping[str, Any]) -> str:
    """What runs on which machine, and how."""
    run = f"{document['workload']} on {document['system']} ({document['device']}), {document['precision']}"
    return f"{run}, {document['parallel']}, {document['scaling']} scaling, host: {document['host']}"


def _scaled_cells(row: Mapping[str, Any]) -> list[str]:
    batch, drawn = row["global_batch"], {"power_w": "W", "energy_j_per_step": "J"}
    rate = "–" if row["samples_per_s"] is None else format_interval(row["samples_per_s"], "1")
    return [
        str(row["devices"]),
        str(row["nodes"]),
        "–" if batch is None else str(batch),
        format_interval(row["step_s"]),
        rate,
        f"{100 * row['efficiency']['mid']:.0f} %",
        format_time(row["communication_s"]["mid"]),
        format_time(row["communication_exposed_s"]["mid"]),
        _memory(row["memory_bytes"], row["fits"]),
        *("–" if row[name] is None else units.show(row[name]["mid"], unit, 3) for name, unit in drawn.items()),
    ]


def _memory(parts: Mapping[str, Any] | None, fits: bool | None) -> str:
    if parts is None:
        return "–"
    return f"{units.show(parts['total'], 'B', 3)}{' !' if fits is False else ''}"


def merit_table(document: Mapping[str, Any]) -> TextTable:
    """The figure of merit of each target of a study's document."""
    headings = ("target", "figure of merit", "threshold", "dominant unit")
    rows = [[name, *_merit_cells(target, document)] for name, target in document["targets"].items()]
    return TextTable("", headings, rows, stacks=headings[1:2])


def _merit_cells(target: Mapping[str, Any], document: Mapping[str, Any]) -> list[str]:
    if target["fom"] is None:
        cells_of_both = (document["baseline_units"], target["units"])
        of_baseline, own = ([unit for unit, cell in cells.items() if cell["refused"]] for cells in cells_of_both)
        who = f"the baseline {document['baseline']}" if of_baseline else "it"
        return [f"none: {who} cannot run {', '.join(of_baseline or own)}", "–", "–"]
    asked, share = document["threshold"], target["p_threshold"]
    value = f"{asked:g}: " if asked is not None else ""
    draws = f", reached in {100 * share:.0f} % of draws" if share is not None else ""
    threshold = f"{value}{THRESHOLD[target['meets_threshold']]}{draws}"
    return [format_interval(target["fom"], "1"), threshold, target["dominant_unit"]]


def units_table(document: Mapping[str, Any]) -> TextTable:
    """Each unit of work on each machine of a study's document, the baseline first."""
    headings = ("machine", "unit", "time per unit", "units per day", *RATIOS.values())
    rows = [[name, unit, *_unit_cells(numbers)] for name, unit, numbers in unit_cells(document)]
    return TextTable("", headings, rows, stacks=headings[2:])


def units_apart(document: Mapping[str, Any]) -> tuple[TextTable, TextTable]:
    """The same as two tables, for a narrow terminal: times and rates; ratios."""
    whole = units_table(document)
    times, ratios = (0, 1, 2, 3), (0, 1, *range(4, len(whole.headings)))
    return _of_columns(whole, times), _of_columns(whole, ratios)


def _of_columns(table: TextTable, places: Sequence[int]) -> TextTable:
    headings, *rows = ([cells[place] for place in places] for cells in (table.headings, *table.rows))
    return replace(table, headings=headings, rows=rows, stacks=[name for name in table.stacks if name in headings])


def unit_cells(document: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Machine, unit and numbers of each cell of a study's document, the baseline first."""
    of_machines = {document["baseline"]: document["baseline_units"]}
    of_machines |= {name: target["units"] for name, target in document["targets"].items()}
    for machine, units_of_work in of_machines.items():
        yield from ((machine, unit, numbers) for unit, numbers in units_of_work.items())


def expenses_table(document: Mapping[str, Any]) -> TextTable | None:
    """Energy and price of each unit on each machine; None where neither is known."""
    shown = {key: column for key, column in EXPENSES.items() if any(cell[key] for _, _, cell in unit_cells(document))}
    if not shown:
        return None
    rows = [[name, unit, *_expenses(numbers, shown)] for name, unit, numbers in unit_cells(document)]
    names = [heading for heading, _ in shown.values()]
    return TextTable("", ("machine", "unit", *names), rows, stacks=names)


def _expenses(numbers: Mapping[str, Any], shown: Mapping[str, tuple[str, str]]) -> list[str]:
    return [format_interval(numbers[key], unit) if numbers[key] else "–" for key, (_, unit) in shown.items()]


def _unit_cells(numbers: Mapping[str, Any]) -> list[str]:
    """The cells of one unit on one machine; what is refused says why in a note."""
    if numbers["refused"]:
        return ["does not fit" if numbers["fits"] is False else "cannot run", *("–" for _ in RATES)]
    time = f"{format_interval(numbers['time_per_unit_s'])} per {numbers['time_level']}"
    return [time, *("–" if numbers[key] is None else format_interval(numbers[key], "1") for key in RATES)]


def campaigns_table(campaigns: Mapping[str, Any]) -> TextTable:
    """The campaign of all counted units on each machine, the baseline among them."""
    headings = ("machine", "campaign", "campaigns per day", "ratio")
    rows = [[name, *_campaign_cells(campaign)] for name, campaign in campaigns.items()]
    return TextTable("", headings, rows, stacks=headings[1:])


def _campaign_cells(campaign: Mapping[str, Any] | None) -> list[str]:
    if campaign is None:
        return ["cannot run all of its units", "–", "–"]
    ratio = "–" if campaign["ratio"] is None else format_interval(campaign["ratio"], "1")
    return [format_interval(campaign["time_s"]), format_interval(campaign["campaigns_per_day"], "1"), ratio]


def refusals(document: Mapping[str, Any]) -> list[str]:
    """Why units of a study cannot run on machines, the baseline among them."""
    return [f"{unit} on {name}: {cell['refused']}" for name, unit, cell in unit_cells(document) if cell["refused"]]
