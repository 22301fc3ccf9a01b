"""What ``estimator ingest`` prints."""

from functools import partial

import pytest

from estimator.cli.render.ingest import render_ingest
from estimator.reports.documents import to_json
from tests.cli.command_line import printed, read, run


def test_people_read_what_programs_get() -> None:
    document = read("ingest", "p1b3", "--top", "0.8")
    assert printed(partial(render_ingest, document, 0.8)) == run("ingest", "p1b3", "--top", "0.8")


def test_the_share_limits_op_types_and_ops() -> None:
    half, most = (run("ingest", "p1b3", "--top", top).stdout for top in ("0.5", "0.95"))
    assert "Ops up to 50 % of the time; " in half
    assert "more: --top 1" in half
    assert len(half.splitlines()) < len(most.splitlines())


def test_ops_of_repeated_blocks_are_one_row() -> None:
    shown = run("ingest", "gpt2", columns=200).stdout
    assert len(shown.splitlines()) < 25
    (row,) = (line.split() for line in shown.splitlines() if line.startswith("block_*/feed_forward/up "))
    assert row[1:9] == ["gemm", "forward", "12", "8192", "3072", "768", "463.9", "GFLOP"]


def test_the_mode_is_named_where_it_is_not_training() -> None:
    assert "mode" not in run("ingest", "nt3").stdout.splitlines()[0]
    document = {**read("ingest", "nt3"), "mode": "inference"}
    assert ", mode inference, batch 20" in printed(partial(render_ingest, document, 0.95)).stdout.splitlines()[0]


def test_shipped_profiles_have_a_line_each() -> None:
    names = {line.split()[0] for line in run("ingest", "--list", columns=200).stdout.splitlines()}
    assert read("ingest", "--list").keys() <= names


@pytest.mark.parametrize("columns", [72, 80, 120])
def test_tables_fit_the_terminal_and_programs_get_whole_names(columns: int) -> None:
    document = read("ingest", "p1b3")
    name = "While_" * 170
    document["top"][0][0] = document["ops"][0]["op"] = name
    shown = printed(partial(render_ingest, document, 0.95), columns=columns).stdout
    assert "While_Whi" in shown
    assert max(map(len, shown.splitlines()[2:])) <= columns
    assert name in to_json(document)
