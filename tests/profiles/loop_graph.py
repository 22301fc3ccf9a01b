"""Graphs of recurrent layers that TensorFlow runs as loops, as ``graph.csv`` has them."""

from dataclasses import replace

from estimator.profiles.graph import Node

LOOP = "call/net/lstm/while"
GRADIENTS = "call/gradient_tape/net/lstm/while/"
STEPS, BATCH, WIDTH, HIDDEN = 3, 2, 5, 4


def node(op_type: str, inputs: str = "", shapes: str | None = None, output: str | None = None) -> Node:
    return Node(op_type, tuple(inputs.split(";")), shapes, output, precision="fp32")


def loop_graph(cell: str = "lstm", loop: str = LOOP, gradients: str = GRADIENTS) -> dict[str, Node]:
    """A layer over 3 steps of 2 sequences, of 5 in and 4 wide, between an input and what takes its result."""
    scope = loop.removesuffix("/while")
    outside = {
        "x": node("IteratorGetNext", output="2x3x5"),
        f"{scope}/transpose": node("Transpose", "x", "2x3x5;3", "3x2x5"),
        f"{scope}/list": node("TensorListFromTensor", f"{scope}/transpose", f"{STEPS}x{BATCH}x{WIDTH};2", "1"),
        f"{loop}/enter/_1": node("Enter", f"{scope}/list"),
        f"{loop}/merge/_2": node("Merge", f"{loop}/enter/_1;{loop}/next_iteration/_9"),
        f"{loop}/list_switch/_3": node("Switch", f"{loop}/merge/_2"),
        f"{loop}/state_switch/_4": node("Switch", f"{loop}/merge/_5"),
        f"{loop}/carry_switch/_4": node("Switch", f"{loop}/merge/_6"),
        f"{loop}/cond/_1/Less": node("Less", "", "1;1", "1"),
        f"{loop}/exit/_7": node("Exit", f"{loop}/state_switch/_4"),
        f"{scope}/stack": node("TensorListStack", f"{loop}/exit/_7", "1;2", "3x2x4"),
    }
    body = f"{loop}/body/_8/{scope}/while/cell/"
    backward = {
        f"{gradients}zeros": node("Fill", "", "2;1", "5x16"),
        f"{gradients}net/lstm/while_grad/body/_8/MatMul_1": node("MatMul", f"{loop}/exit/_7", "5x2;2x16", "5x16"),
    }
    return outside | {body + name: each for name, each in CELLS[cell](body, loop).items()} | backward


def _lstm(body: str, loop: str) -> dict[str, Node]:
    return _products(body, loop, 16) | {
        "split": node("Split", f"{body}axis;{body}BiasAdd", "1;2x16", "2x4;2x4;2x4;2x4"),
        **{
            name: node(name.partition("_")[0], f"{body}split") for name in ("Sigmoid", "Sigmoid_1", "Sigmoid_2", "Tanh")
        },
        "mul": node("Mul", f"{loop}/carry_switch/_4;{body}Sigmoid_1"),
        "mul_1": node("Mul", f"{body}Sigmoid;{body}Tanh"),
        "add_1": node("AddV2", f"{body}mul;{body}mul_1", "2x4;2x4"),
        "Tanh_1": node("Tanh", f"{body}add_1"),
        "mul_2": node("Mul", f"{body}Sigmoid_2;{body}Tanh_1"),
    }


def _gru(body: str, loop: str) -> dict[str, Node]:
    return _products(body, loop, 12) | {
        "split": node("Split", f"{body}axis;{body}MatMul", "1;2x12", "2x4;2x4;2x4"),
        "Sigmoid": node("Sigmoid", f"{body}split"),
        "Sigmoid_1": node("Sigmoid", f"{body}split"),
        "mul": node("Mul", f"{body}Sigmoid_1;{body}split"),
        "Tanh": node("Tanh", f"{body}mul"),
        "mul_1": node("Mul", f"{loop}/state_switch/_4;{body}Sigmoid"),
        "sub": node("Sub", f"{body}one;{body}Sigmoid"),
        "mul_2": node("Mul", f"{body}Tanh;{body}sub"),
        "add_4": node("AddV2", f"{body}mul_1;{body}mul_2", "2x4;2x4"),
    }


def _products(body: str, loop: str, gates: int) -> dict[str, Node]:
    return {
        "read": node("TensorListGetItem", f"{loop}/list_switch/_3;{body}time", "1;1;2", "2x5"),
        "MatMul": node("MatMul", f"{body}read;{body}w", f"2x5;5x{gates}", f"2x{gates}"),
        "MatMul_1": node("_MklMatMul", f"{loop}/state_switch/_4;{body}u", f"2x4;4x{gates}", f"2x{gates}"),
        "Add": node("AddV2", f"{body}MatMul;{body}MatMul_1", f"2x{gates};2x{gates}"),
        "BiasAdd": node("BiasAdd", f"{body}Add;{body}b", f"2x{gates};{gates}"),
    }


CELLS = {"lstm": _lstm, "gru": _gru}


def name_in(nodes: dict[str, Node], name: str) -> str:
    """The full name of the node of a step that ends so."""
    return next(each for each in nodes if each.endswith(f"/cell/{name}"))


def changed(nodes: dict[str, Node], name: str, **columns: object) -> dict[str, Node]:
    """The graph with other columns of one node of a step."""
    full = name_in(nodes, name)
    return nodes | {full: replace(nodes[full], **columns)}  # type: ignore[arg-type]


def graph_text(nodes: dict[str, Node]) -> str:
    """The text of a ``graph.csv``."""
    rows = (
        [name, each.op_type, ";".join(each.inputs), each.shapes, each.output_shapes, each.attributes, each.precision]
        for name, each in nodes.items()
    )
    lines = [",".join(text or "" for text in row) for row in rows]
    return "\n".join(["op,op_type,inputs,shapes,output_shapes,attributes,precision", *lines, ""])


def ops_text(nodes: dict[str, Node], calls: int = STEPS) -> str:
    """A table of the nodes that take time, 1 ms each; those of loops run ``calls`` times."""
    left_out = ("Enter", "Merge", "Switch", "Exit")
    ran = {name: each.op_type for name, each in nodes.items() if each.op_type not in left_out}
    lines = [
        f"{name},{op_type},{calls if '/body/' in name else 1},0.001,{'backward' if '_tape/' in name else 'forward'}"
        for name, op_type in ran.items()
    ]
    return "\n".join(["op,op_type,calls,time_s,phase", *lines, ""])
