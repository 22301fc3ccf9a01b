"""What the backward pass of a trace tells of each op of its forward pass."""

import json
from pathlib import Path

import numpy as np

from estimator.profiles.dump import Dump
from estimator.profiles.kineto.graph import read_graph
from estimator.profiles.kineto.nesting import nest_ops
from estimator.profiles.kineto.trace import scan
from tests.profiles.kineto.events import BACKWARD, FORWARD
from tests.profiles.kineto.test_frozen_weights import ADAPTER, BASE, OF_INPUT, backward


def test_each_op_has_what_the_backward_pass_tells_of_it(tmp_path: Path) -> None:
    path = tmp_path / "kineto.json"
    for events, tracked, frozen in (
        ((*FORWARD, *BACKWARD), ["aten::mm", "aten::tanh", "aten::mm"], []),
        ((ADAPTER, BASE, *backward(OF_INPUT)), ["aten::mm", "aten::addmm"], ["aten::addmm"]),
    ):
        path.write_text(json.dumps({"traceEvents": events}))
        trace = scan(Dump(path))
        graph = read_graph(trace, nest_ops(trace))
        names = np.array([call.name for call in trace.calls])[trace.ops["kind"]]
        assert names[graph.tracked].tolist() == tracked
        assert names[graph.frozen].tolist() == frozen
        assert not any(flags.any() for flags in (graph.block, graph.runs_again, graph.of_input))
