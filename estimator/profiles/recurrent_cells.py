"""What a step of a TensorFlow loop computes: whether it is a cell that libraries have, and the whole loop as one op.

Keras runs an LSTM or GRU as a loop on a processor. On a GPU it calls the device's library where the layer is a
standard one: tanh and sigmoid, with biases, no dropout of the state, and a GRU that resets after its product
(keras/src/backend/tensorflow/rnn.py, ``cudnn_ok``; layers/rnn/lstm.py and gru.py). So the types of a step's ops decide,
and what its products take. Dropout of the input is outside of the library's layer, and a mask ends sequences earlier.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from estimator.profiles.graph import Node

Nodes = Mapping[str, Node]
LIBRARY = re.compile(r"^_?(?:Mkl|Native|Fused)*")  # before an op's type
ADDS = re.compile(r"Add(V2|N)?|BiasAdd(V1)?")
KEEPS = re.compile(  # types of ops that hand on, choose or keep values
    r"Identity|Cast|ReadVariableOp|TensorList\w+|Split(V)?|(Strided)?Slice|Squeeze|ExpandDims|Reshape|Pack|Tile|Fill|"
    r"ZerosLike|Select(V2)?|Shape|BroadcastGradientArgs|(Greater|Less)(Equal)?|Logical\w+"
)
RENAMES = ("Identity", "Cast")
TURNS = (*RENAMES, "Switch", "Merge", "Enter")  # between a variable of a loop and its first value
LISTS = "TensorListFromTensor"
MOVES = (*RENAMES, LISTS, "Transpose")  # between the input and a loop's list of its steps
PRODUCT, SCALES, READS, VARIABLE = "MatMul", "Mul", "TensorListGetItem", "Switch"
SEQUENCE = re.compile(r"(\d+)x-?\d+x\d+(?:;.*)?")  # what becomes a list: steps x sequences x width
FACTORS = re.compile(r"(-?\d+)x(\d+);(\d+)x(\d+)(?:;.*)?")
MASKED = ([VARIABLE, READS], ["Enter", READS])  # sorted types of what an op takes that drops some of the input
BIASES = 2  # vectors of a gate that libraries take


@dataclass(frozen=True)
class Cell:
    """A cell that libraries have: its gates, its states, and how many ops of each type a step has."""

    gates: int
    states: int
    computes: Mapping[str, int]


LSTM = Cell(4, 2, {"Sigmoid": 3, "Tanh": 2, SCALES: 3})
GRU = Cell(3, 1, {"Sigmoid": 2, "Tanh": 1, SCALES: 3, "Sub": 1})


@dataclass(frozen=True)
class Product:
    """A product of a step: the list whose values it takes in turn, None where it takes a state, and its sizes."""

    sequence: str | None
    dropped: str | None  # the op that drops some of its input
    rows: str
    width: int
    result: int


def read_layer(body: Iterable[str], nodes: Nodes) -> Node | None:
    """A loop as one op, by the nodes of its body; None where that is not a step of a library's cell.

    The operands are as a library takes them: the input (steps x sequences x width), states, the weights of the input
    and of the state, and biases. The op has no shapes where the number of steps is unknown.
    """
    step = {name: nodes[name] for name in body}
    products = [_product(node, nodes) for node in step.values() if _type(node) == PRODUCT]
    known = [product for product in products if product is not None]
    dropped = {product.dropped for product in known}
    cell = _cell(node for name, node in step.items() if name not in dropped)
    if cell is None or len(known) < len(products):
        return None
    sequence, sizes = _sequence(known), _sizes(cell, known)
    if not sequence or not sizes or _biases(step.values()) < cell.gates * sizes[1]:
        return None
    precision = next(node.precision for node in step.values() if _type(node) == PRODUCT)
    source = _behind(sequence, nodes, MOVES)
    return Node("While", (source,), _operands(cell, nodes.get(sequence), *sizes), "unknown", precision=precision)


def timesteps(layer: Node) -> int:
    """The steps of a layer's loop; 0 where they are unknown."""
    return int(layer.shapes.partition("x")[0]) if layer.shapes else 0


def _type(node: Node | None) -> str:
    """The type of an op, without what a library puts before it."""
    return LIBRARY.sub("", node.op_type) if node else ""


def _behind(name: str, nodes: Nodes, types: Collection[str] = RENAMES) -> str:
    """The first node behind those of some types, along their first inputs."""
    seen: set[str] = set()
    while name in nodes and _type(nodes[name]) in types and name not in seen:
        seen.add(name)
        name = nodes[name].inputs[0]
    return name


def _product(node: Node, nodes: Nodes) -> Product | None:
    """A product of a step's input or state; None where it takes anything else, or of unknown sizes."""
    factors, taken = FACTORS.fullmatch(node.shapes or ""), _behind(node.inputs[0], nodes)
    if not factors or factors[2] != factors[3]:
        return None
    sizes = factors[1], int(factors[2]), int(factors[4])
    read = _dropped_input(taken, nodes)
    dropped = taken if read else None
    if _type(nodes.get(read or taken)) == READS:
        return Product(_behind(nodes[read or taken].inputs[0], nodes, TURNS), dropped, *sizes)
    return Product(None, None, *sizes) if _type(nodes.get(taken)) == VARIABLE else None


def _dropped_input(name: str, nodes: Nodes) -> str | None:
    """The input of a step that an op multiplies by a mask of the whole loop; None of any other op."""
    if _type(nodes.get(name)) != SCALES:
        return None
    operands = [_behind(operand, nodes) for operand in nodes[name].inputs]
    types = [_type(nodes.get(operand)) for operand in operands]
    return operands[types.index(READS)] if sorted(types) in MASKED else None


def _cell(step: Iterable[Node]) -> Cell | None:
    """The cell whose ops these are, and no others."""
    types = Counter(filter(None, (_type(node) for node in step)))
    computes = {name: count for name, count in types.items() if not KEEPS.fullmatch(name) and not ADDS.fullmatch(name)}
    computes.pop(PRODUCT, None)
    return next((cell for cell in (LSTM, GRU) if cell.computes == computes), None)


def _sequence(products: Iterable[Product]) -> str | None:
    """The list whose values the products take in turn; None where there are several."""
    lists = {product.sequence for product in products if product.sequence}
    return lists.pop() if len(lists) == 1 else None


def _sizes(cell: Cell, products: Sequence[Product]) -> tuple[str, int, int] | None:
    """The sequences and the widths of state and input; None where the products are not those of the cell's gates."""
    of_input = [product for product in products if product.sequence]
    of_state = [product for product in products if not product.sequence]
    rows, inputs = {product.rows for product in products}, {product.width for product in of_input}
    states = {product.width for product in of_state}
    if len(rows) != 1 or len(inputs) != 1 or len(states) != 1:
        return None
    hidden, (width,) = states.pop(), inputs
    results = {sum(product.result for product in some) for some in (of_input, of_state)}
    return (rows.pop(), hidden, width) if results == {cell.gates * hidden} else None


def _biases(step: Iterable[Node]) -> int:
    """Elements of the vectors that a step adds."""
    adding = (node for node in step if ADDS.fullmatch(_type(node)) or _type(node) == PRODUCT)
    sizes = (size for node in adding for size in (node.shapes or "").split(";"))
    return sum(int(size) for size in sizes if size.isdigit() and int(size) > 1)


def _operands(cell: Cell, sequence: Node | None, rows: str, hidden: int, width: int) -> str | None:
    """The operands of a layer as a library takes them; None where the number of steps is unknown."""
    known = SEQUENCE.fullmatch(sequence.shapes or "") if sequence and _type(sequence) == LISTS else None
    if not known:
        return None
    gates, states = cell.gates * hidden, [f"1x{rows}x{hidden}"] * cell.states
    weights = [f"{gates}x{width}", f"{gates}x{hidden}", *[str(gates)] * BIASES]
    return ";".join([f"{known[1]}x{rows}x{width}", *states, *weights])
