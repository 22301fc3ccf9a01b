"""Recurrent layers in the loops of a graph, their parts, and their rows."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from estimator.core.schema import TIMELINE
from estimator.core.types import Profile, Timeline, Workload
from estimator.profiles import read_profile
from estimator.profiles.graph import Node
from estimator.profiles.recurrent_loops import fill, find_layers
from estimator.work import count_work
from estimator.work.joined_layers import join_in_place, join_layers
from tests.conftest import unpacked
from tests.profiles.loop_graph import GRADIENTS, LOOP, graph_text, loop_graph, node, ops_text


def profile_of(nodes: dict[str, Node], folder: Path, **options: int) -> Profile:
    (folder / "graph.csv").write_text(graph_text(nodes))
    (folder / "ops.csv").write_text(ops_text(nodes, **options))
    return read_profile(folder)


def test_a_layer_stands_ahead_of_its_parts(tmp_path: Path) -> None:
    ops = profile_of(loop_graph(), tmp_path).ops
    place = ops.index[ops["op"] == LOOP][0]
    columns = ["op", "op_type", "calls", "time_s", "phase", "shapes", "output_shapes", "inputs", "attributes"]
    assert ops.loc[place, columns].tolist() == [
        LOOP, "While", 1, 0, "forward", "3x2x5;1x2x4;1x2x4;16x5;16x4;16;16", "unknown", "x",
        "dispatch=1;layer=0;trained=1",
    ]  # fmt: skip
    is_part = ops["attributes"].str.contains("part_of_layer=0").fillna(False)
    parts = ops["op"].str.startswith((f"{LOOP}/", GRADIENTS))
    assert is_part.tolist() == parts.tolist()
    assert not is_part[:place].any()
    assert set(ops["phase"][is_part]) == {"forward", "backward"}


def test_what_the_graph_tells_of_a_part_stays(tmp_path: Path) -> None:
    nodes = loop_graph()
    name = next(each for each in nodes if each.endswith("/MatMul"))
    ops = profile_of(nodes | {name: replace(nodes[name], attributes="trans_a=n")}, tmp_path).ops.set_index("op")
    assert ops.at[name, "attributes"] == "trans_a=n;part_of_layer=0"
    assert ops.at[name, "shapes"] == "2x5;5x16"


def test_what_leaves_the_loop_is_the_layers_result(tmp_path: Path) -> None:
    ops = profile_of(loop_graph(), tmp_path).ops.set_index("op")
    assert ops.at["call/net/lstm/stack", "inputs"] == LOOP


@pytest.mark.parametrize(("calls", "runs"), [(3, 1.0), (6, 2.0), (2, 1.0)])
def test_a_layer_ran_once_in_all_its_steps(calls: int, runs: float, tmp_path: Path) -> None:
    """Traces leave out some calls of small ops."""
    ops = profile_of(loop_graph(), tmp_path, calls=calls).ops.set_index("op")
    assert ops.at[LOOP, "calls"] == runs


def test_layers_have_numbers_of_their_own(tmp_path: Path) -> None:
    other = "call/net/rnn_gru/while"
    nodes = loop_graph() | loop_graph("gru", other, "call/gradient_tape/net/rnn_gru/while/")
    ops = profile_of(nodes, tmp_path).ops.set_index("op")
    numbers = {ops.at[name, "attributes"].split(";")[1] for name in (LOOP, other)}
    assert numbers == {"layer=0", "layer=1"}
    assert ops["attributes"].str.contains("part_of_layer=1").sum() > 10


@pytest.mark.parametrize(
    ("gradients", "begin"),
    [
        (GRADIENTS, GRADIENTS),
        ("call/gradients/net/lstm/while_grad/", "call/gradients/net/lstm/while_grad/"),
        ("call/gradients_1/net/lstm/while_grad/", "call/gradients_1/net/lstm/while_grad/"),
        ("call/gradient_tape/other/net/lstm/while/", None),
        ("elsewhere/gradient_tape/net/lstm/while/", None),
    ],
)
def test_the_gradients_of_a_layer_have_its_name(gradients: str, begin: str | None) -> None:
    assert [layer.gradients for layer in find_layers(loop_graph(gradients=gradients))] == [begin]


@pytest.mark.parametrize("scope", ["rnn", "net/rnn_1", "net/bidirectional/forward_rnn", "net/backward_rnn_1_2"])
def test_a_cell_that_keras_steps_itself_stays_a_loop(scope: str) -> None:
    assert find_layers(loop_graph(loop=f"{scope}/while")) == []
    assert len(find_layers(loop_graph(loop=f"{scope}_of_mine/while"))) == 1


def test_a_graph_without_layers_fills_what_the_trace_lacks(tmp_path: Path) -> None:
    nodes = {"a": node("MatMul", "x;w", "8x4;4x2"), f"{LOOP}/body/_1/b": node("MatMul", "a;w", "8x4;4x2")}
    ops = profile_of(nodes, tmp_path).ops
    assert ops["op"].tolist() == list(nodes)
    assert ops["attributes"].isna().all()
    assert ops["shapes"].tolist() == ["8x4;4x2"] * 2


def test_without_a_graph_nothing_changes(tmp_path: Path) -> None:
    (tmp_path / "ops.csv").write_text(ops_text(loop_graph()))
    profile = read_profile(tmp_path)
    assert fill(profile, {}) is profile


def test_a_layer_that_did_not_run_has_no_row(tmp_path: Path) -> None:
    nodes = loop_graph()
    (tmp_path / "graph.csv").write_text(graph_text(nodes))
    (tmp_path / "ops.csv").write_text("op,op_type,time_s\nx,IteratorGetNext,0.001\nb,MatMul,0.001\n")
    assert read_profile(tmp_path).ops["op"].tolist() == ["x", "b"]


def test_a_timeline_keeps_its_ops(tmp_path: Path) -> None:
    nodes = loop_graph()
    (tmp_path / "ops.csv").write_text(ops_text(nodes))
    before = read_profile(tmp_path)
    rows = [*range(len(before.ops)), pd.NA]
    events = pd.DataFrame({"op": rows, "lane": "host", "start_s": range(len(rows)), "duration_s": 1.0})
    timeline = Timeline(TIMELINE.conform(events, "timeline"), 1.0, 1.0)
    after = fill(replace(before, timeline=timeline), nodes)
    assert after.timeline is not None
    assert after.timeline.events["op"].dtype == timeline.events["op"].dtype
    assert after.timeline.events["op"].isna().tolist() == events["op"].isna().tolist()
    named = after.ops["op"].iloc[after.timeline.events["op"].dropna().astype(int)]
    assert named.tolist() == before.ops["op"].tolist()


def test_an_unknown_batch_is_that_of_the_workload(tmp_path: Path) -> None:
    nodes = loop_graph()
    for name, each in nodes.items():
        if each.shapes and each.op_type.endswith("MatMul"):
            nodes[name] = replace(each, shapes=each.shapes.replace("2x", "-1x", 1))
    (tmp_path / "ops.csv").write_text(ops_text(nodes))
    profile = read_profile(tmp_path)
    known = replace(profile, workload=Workload(name="toy", batch_size=32))
    shapes = [fill(each, nodes).ops.set_index("op").at[LOOP, "shapes"] for each in (profile, known)]
    assert [text.split(";")[0] for text in shapes] == ["3x-1x5", "3x32x5"]


def test_a_library_does_the_work_of_the_layer(tmp_path: Path) -> None:
    profile = profile_of(loop_graph(), tmp_path)
    work = count_work(profile.ops, profile.workload).work
    actual, notes = unpacked(join_layers(work, by_library=True))
    flop = 2 * 2 * 3 * 16 * (5 + 4)
    assert actual[["op", "operator", "flop", "calls"]].iloc[len(work) :].to_numpy().tolist() == [
        [f"{LOOP} forward", "recurrent", flop, 1],
        [f"{LOOP} backward", "recurrent_grad", 2 * flop, 1],
    ]
    assert actual["flop"].sum() == 3 * flop
    assert "become 2 of the target's library" in notes[0]
    assert join_layers(work, by_library=False).work is work


def test_a_layer_of_unknown_steps_is_noted_and_stays(tmp_path: Path) -> None:
    nodes = loop_graph()
    sequence = "call/net/lstm/list"
    profile = profile_of(nodes | {sequence: replace(nodes[sequence], shapes="-1x2x5;2")}, tmp_path)
    work = count_work(profile.ops, profile.workload).work
    actual = join_layers(work, by_library=True)
    assert not actual.changed
    assert [note.code for note in actual.notes] == ["layers-apart"]
    assert not join_in_place(work, by_library=True).changed
