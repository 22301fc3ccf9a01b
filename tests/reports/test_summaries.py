"""Results as short tables of text."""

from typing import Any

from estimator.core.types import Profile, RunPlan
from estimator.pipeline.step import estimate
from estimator.reports import documents, summaries

NUMBER = {"low": None, "mid": 2.0, "high": None}


def test_an_estimate_has_its_figures_and_longest_ops(p1b3: Profile) -> None:
    document = documents.estimate(estimate(p1b3, RunPlan("v100", draws=5)))
    assert summaries.run_of(document) == "on v100-sxm2-16gb, batch 100, fp32, per device"
    figures = {row[0]: row[1] for row in summaries.step_table(document).rows}
    assert figures["parts"] == summaries.parts_text(document)
    assert "speedup" in figures
    table = summaries.ops_table(document["ops"])
    assert len(table.rows) == summaries.OPS_SHOWN
    longest = max(document["ops"], key=lambda op: op["target_time_s"])
    assert table.rows[0][0] == longest["op"]


def test_ops_of_repeated_blocks_are_one_row_of_all_blocks() -> None:
    op: dict[str, Any] = {"op_class": "gemm", "bound": "compute", "method": "roofline", "time_s": None}
    blocks = [op | {"op": f"block_{n}/up", "block": n, "target_time_s": 2.0} for n in (1, 12)]
    others = [op | {"op": "up", "block": None, "target_time_s": 1.0}] * 2
    rows = [*blocks, *others, blocks[0] | {"bound": "memory"}]
    actual = summaries.of_all_blocks(rows, ("bound",), ("time_s", "target_time_s"))
    assert {each["time_s"] for each in actual} == {None}
    assert [(each["op"], each["target_time_s"]) for each in actual] == [
        ("block_*/up", 4.0), ("up", 1.0), ("up", 1.0), ("block_*/up", 2.0),
    ]  # fmt: skip


def test_every_row_has_a_cell_for_each_heading(p1b3: Profile) -> None:
    document = documents.estimate(estimate(p1b3, RunPlan("v100", draws=0)))
    refused = {"refused": "why", "fits": None}
    tables = [
        summaries.step_table(document),
        summaries.ops_table(document["ops"]),
        summaries.comparison_table([document]),
        summaries.merit_table(document_without_figure({"A": refused}, {})),
        summaries.units_table(document_without_figure({"A": refused}, {"A": refused})),
        summaries.campaigns_table({"new": None, "old": {"time_s": NUMBER, "campaigns_per_day": NUMBER, "ratio": None}}),
    ]
    for table in tables:
        assert table.rows
        assert all(len(row) == len(table.headings) for row in table.rows)
        assert set(table.right) <= set(table.headings)


def document_without_figure(units: dict[str, Any], of_baseline: dict[str, Any]) -> dict[str, Any]:
    return {"baseline": "old", "baseline_units": of_baseline, "targets": {"new": {"fom": None, "units": units}}}


def test_energy_and_price_are_shown_where_any_is_known() -> None:
    known, unknown = {"energy_j": NUMBER, "usd": None}, {"energy_j": None, "usd": None}
    assert summaries.expenses_table(document_without_figure({"A": unknown}, {"A": unknown})) is None
    table = summaries.expenses_table(document_without_figure({"A": known}, {"A": unknown}))
    assert table is not None
    assert table.headings == ("machine", "unit", "energy per unit")
    assert table.rows == [["old", "A", "–"], ["new", "A", "2.000 J"]]


def test_a_threshold_is_shown_with_its_value() -> None:
    target = {"fom": NUMBER, "p_threshold": 0.25, "meets_threshold": True, "dominant_unit": "A"}
    rows = summaries.merit_table({"threshold": 1.5, "targets": {"new": target}}).rows
    assert rows == [["new", "2", "1.5: met, reached in 25 % of draws", "A"]]


def test_a_figure_that_there_is_not_names_the_machine_and_its_units() -> None:
    refused, ran = {"refused": "why"}, {"refused": None}
    for units, of_baseline, words in (
        ({"A": refused, "B": refused}, {"A": ran, "B": ran}, "none: it cannot run A, B"),
        ({"A": ran, "B": refused}, {"A": refused, "B": ran}, "none: the baseline old cannot run A"),
    ):
        assert summaries.merit_table(document_without_figure(units, of_baseline)).rows[0][1] == words


def test_a_row_for_each_number_of_devices() -> None:
    row: dict[str, Any] = {
        "parallel": "data", "devices": 8, "nodes": 1, "global_batch": None, "step_s": NUMBER, "samples_per_s": None,
        "efficiency": NUMBER,
        "communication_s": NUMBER, "communication_exposed_s": NUMBER, "power_w": None, "energy_j_per_step": NUMBER,
    }  # fmt: skip
    run = {"workload": "net", "system": "sys", "device": "dev", "precision": "fp32", "parallel": "data"}
    rows = [{**row, "memory_bytes": None, "fits": None}, {**row, "memory_bytes": {"total": 2e9}, "fits": False}]
    table = summaries.scaling_table({**run, "scaling": "weak", "host": "none", "rows": rows})
    assert table.title == "net on sys (dev), fp32, data, weak scaling, host: none"
    assert [cells[8] for cells in table.rows] == ["–", "2.00 GB !"]
    assert all(len(cells) == len(table.headings) for cells in table.rows)
    several = summaries.scaling_table(
        {**run, "scaling": "weak", "host": "none", "rows": [rows[0], {**rows[1], "parallel": "zero1"}]}
    )
    assert several.headings == ("split", *table.headings)
    assert [cells[0] for cells in several.rows] == ["data", "zero1"]
    assert [cells[1:] for cells in several.rows] == table.rows


def test_refusals_name_unit_and_machine() -> None:
    cannot = {"refused": "it needs 9 GiB"}
    document = {"baseline": "old", "baseline_units": {"A": cannot}, "targets": {"new": {"units": {"B": cannot}}}}
    assert summaries.refusals(document) == ["A on old: it needs 9 GiB", "B on new: it needs 9 GiB"]
