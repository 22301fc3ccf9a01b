"""Which tensors the forward pass keeps, and what lives at each moment of the backward pass.

An operand is taken to be a tensor that an earlier op wrote: the last one of its size that nothing has read yet, or a
part of a larger one. So a tensor that one op keeps as its result and the next as its operand counts once, and parts of
one tensor, such as queries, keys and values of one product, count as that tensor. An operand that no op wrote is the
batch of data.

A checkpoint runs a block of ops again just before their gradients are computed. What the block alone writes and keeps
lives meanwhile (Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016, section 4).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from estimator.core.number_formats import WIDE
from estimator.core.places import NO_BLOCK
from estimator.core.types import ITEMSIZE, Floats, Integers
from estimator.work.casts import MASK_BYTES

OPERAND, OPERANDS, RESULT, MASK, INDICES = "operand", "operands", "result", "mask", "indices"
RESERVE = "reserve"  # of a recurrent layer
CLONE = "clone"  # of the operand that an op in place overwrites
INDEX_BYTES = 8.0
MOST_PARTS = 8  # of one tensor
NO_OP = -1
RECENT = 512  # tensors that are looked through
COPIES = ("copy", "cast")
FACTORS = ("mul", "div")  # whose operands are kept for each other's gradients
POWERS = ("pow", "square")
PASSES_ON = ("add", "sub")  # their operands' gradients are the result's
Key = tuple[int, str | int]  # the op that writes a tensor, and which of its tensors
Moments = tuple[Floats, Floats, Floats]  # activations, gradients and workspace [B]


@dataclass(frozen=True)
class ForwardOp:
    """What one forward op reads and writes, sizes in elements, and what of it is kept."""

    keeps: str
    operands: tuple[int, ...]  # without weights
    itemsizes: tuple[float, float]  # of what it reads and writes [B]
    result: int
    operator: str = ""
    factor: int = 0  # elements of a smaller operand that is no weight
    flags: int = 0  # elements of its mask, or of what a recurrent layer keeps of its cells
    in_place: bool = False
    draws: bool = False  # it writes random numbers, and reads nothing
    reduces: bool = False
    is_bare: bool = False  # a product that no activation is fused into
    weights: float = 0.0  # elements
    count: float = 1.0  # calls that it stands for
    block: int = NO_BLOCK  # that a checkpoint runs again

    @property
    def kept_operands(self) -> int:
        """How many of the operands are kept."""
        words = self.keeps.split()
        return len(self.operands) if OPERANDS in words else len(self.operands[:1]) if OPERAND in words else 0


@dataclass
class _Tensor:
    """A tensor that an op wrote."""

    number: int
    elements: int
    itemsize: float
    operator: str
    is_constant: bool = False  # it has no gradient, as a mask that was drawn
    was_read: bool = False
    is_kept: bool = False


@dataclass
class _Saved:
    """A tensor that is kept: its size [B], the first op that keeps it, and the block that alone writes and keeps it."""

    size: float
    first: int
    block: int


@dataclass
class _Tensors:
    """The tensors that ops have written, the last one last."""

    written: list[_Tensor] = field(default_factory=list)

    def read_by(self, op: ForwardOp, previous: Sequence[_Tensor | None]) -> list[_Tensor | None]:
        """The tensors of an op's operands, None for those that no op wrote; ``previous``: those of a product of the
        same operand before it, such as of keys after queries.
        """
        taken: list[_Tensor | None] = []
        for elements in op.operands if op.operator not in COPIES else op.operands[:1]:
            siblings = [each for each in previous if each is not None and each.elements == elements]
            taken.append(siblings[0] if siblings else self._find(elements, taken, bool(op.weights)))
        for tensor in filter(None, taken):
            tensor.was_read = True
        return taken

    def _find(self, elements: int, taken: Sequence[_Tensor | None], with_weights: bool) -> _Tensor | None:
        """The tensor that an operand most likely is. Products with weights read a whole one first, even again."""
        same = [each for each in self.written if each.elements == elements and each not in taken]
        whole = [each for each in self.written if _holds(each.elements, elements)]
        unread = [each for each in same if not each.was_read]
        parts = [each for each in whole if not each.was_read or each in taken]
        if taken:  # one more operand, more likely what nothing has kept yet
            same = [each for each in same if not each.is_kept] or same
        in_turn = (unread, same, parts, whole) if with_weights else (unread, parts, same, whole)
        return next((tensors[-1] for tensors in in_turn if tensors), None)

    def holds(self, elements: int) -> bool:
        """Whether an op wrote a tensor of this size that has a gradient."""
        return any(each.elements == elements and not each.is_constant for each in self.written)

    def forget(self, elements: float, operators: Sequence[str]) -> None:
        """Forget the last tensor of a size that one of these operators wrote, as nothing else reads it."""
        for place in range(len(self.written) - 1, -1, -1):
            if self.written[place].elements == elements and self.written[place].operator in operators:
                del self.written[place]
                return

    def write(self, number: int, op: ForwardOp, taken: Sequence[_Tensor | None]) -> _Tensor:
        """The tensor that an op writes: a new one, or its operand in place, unless a clone of that is kept."""
        operand = taken[0] if taken else None
        is_constant = op.draws or (bool(taken) and not op.weights and all(each and each.is_constant for each in taken))
        if op.in_place and operand and CLONE not in op.keeps.split():
            number = operand.number
        if op.in_place and operand in self.written:
            self.written.remove(operand)
        tensor = _Tensor(number, op.result, op.itemsizes[1], op.operator, is_constant=is_constant)
        if op.result:
            self.written = [*self.written[-RECENT:], tensor]
        return tensor


def _holds(whole: int, part: int) -> bool:
    return part > 1 and whole > part and whole % part == 0 and whole // part <= MOST_PARTS


def saved_tensors(ops: Sequence[ForwardOp]) -> list[_Saved]:
    """The tensors that the forward pass keeps for the backward pass."""
    tensors, saved = _Tensors(), dict[Key, _Saved]()
    product: ForwardOp | None = None  # the last op, where it is a product of PyTorch's own
    siblings: list[_Tensor | None] = []  # what it has taken
    begun = {NO_BLOCK}
    for number, op in enumerate(ops):
        if op.weights:
            tensors.forget(op.weights, COPIES)
        is_sibling = op.is_bare and product is not None and product.operands == op.operands
        taken = [] if op.draws else tensors.read_by(op, siblings if is_sibling else [])
        if op.reduces and op.operands:
            tensors.forget(op.operands[0], POWERS)
        written = tensors.write(number, op, taken)
        begins = op.block not in begun
        begun.add(op.block)
        for key, size in chain(_kept(number, op, taken, written, tensors), _read_first(taken) if begins else ()):
            known = saved.setdefault(key, _Saved(0.0, number, _block(key[0], ops)))
            known.size = max(known.size, op.count * size)
            known.block = op.block if op.block == known.block else NO_BLOCK
        if not _rearranges(op):
            product, siblings = (op if op.is_bare else None), taken
    return list(saved.values())


def _read_first(taken: Sequence[_Tensor | None]) -> Iterator[tuple[Key, float]]:
    """Yield what the first op of a block reads: it is kept, so that the block can run again."""
    for tensor in filter(None, taken):
        yield (tensor.number, RESULT), tensor.elements * tensor.itemsize


def _block(number: int, ops: Sequence[ForwardOp]) -> int:
    return NO_BLOCK if number == NO_OP else ops[number].block


def _rearranges(op: ForwardOp) -> bool:
    """Whether an op copies a tensor in its format, or scales it by a number.

    Two products with nothing else between them read one operand.
    """
    return not op.keeps and op.operator in ("copy", *FACTORS) and op.itemsizes[0] == op.itemsizes[1]


def _kept(
    number: int, op: ForwardOp, taken: Sequence[_Tensor | None], written: _Tensor, tensors: _Tensors
) -> Iterator[tuple[Key, float]]:
    """Yield a key and the size [B] of each tensor that an op keeps; a cast of an operand is a tensor of its own."""
    for place, (elements, tensor) in enumerate(_kept_operands(op, taken, tensors)):
        if tensor is None:
            yield (NO_OP, elements), elements * op.itemsizes[0]
        elif tensor.itemsize != op.itemsizes[0]:
            yield (number, place), elements * op.itemsizes[0]
        else:
            tensor.is_kept = True
            yield (tensor.number, RESULT), tensor.elements * tensor.itemsize
    words = op.keeps.split()
    if RESULT in words:
        written.is_kept = True
        yield (written.number, RESULT), op.result * op.itemsizes[1]
    if MASK in words:
        yield (number, MASK), op.flags * MASK_BYTES
    if RESERVE in words:
        yield (number, RESERVE), op.flags * op.itemsizes[1]
    if INDICES in words:
        yield (number, INDICES), op.result * INDEX_BYTES


def _kept_operands(
    op: ForwardOp, taken: Sequence[_Tensor | None], tensors: _Tensors
) -> list[tuple[int, _Tensor | None]]:
    """Elements and tensor of each operand that an op keeps: of factors, those whose other factor has a gradient."""
    operands = list(zip(op.operands, taken, strict=False))[: op.kept_operands]
    if op.operator not in FACTORS:
        return operands
    constants = [each for each in operands if each[1] is not None and each[1].is_constant]
    if (op.factor and not tensors.holds(op.factor)) or (constants and len(constants) == len(operands)):
        return []
    return constants or operands


def backward_moments(ops: Sequence[ForwardOp], saved: Sequence[_Saved]) -> Moments:
    """What lives while the gradients of each op are computed, the last op first.

    A kept tensor lives until the first op that keeps it has its gradients, and that of a block only meanwhile; the
    gradients of an op's result and operands live while these are computed, and those of weights from then on.
    """
    outside = _kept_up_to(len(ops), [each for each in saved if each.block == NO_BLOCK])
    blocks = np.array([op.block for op in ops])
    activations = (outside + _kept_in_blocks(blocks, saved))[::-1]
    gradients = np.cumsum([ITEMSIZE[WIDE] * op.count * op.weights for op in ops][::-1])
    weights = {op.weights for op in ops if op.weights}
    own = [_gradient_bytes(op, weights) for op in ops][::-1]
    return activations, np.asarray(gradients, dtype=float), np.array(own, dtype=float)


def _kept_up_to(ops: int, saved: Sequence[_Saved]) -> Floats:
    """What ops up to each one keep [B]."""
    size = np.zeros(ops)
    np.add.at(size, [each.first for each in saved], [each.size for each in saved])
    return np.cumsum(size)


def _kept_in_blocks(blocks: Integers, saved: Sequence[_Saved]) -> Floats:
    """What ops up to each one of its block keep within this [B]."""
    held = _kept_up_to(len(blocks), [each for each in saved if each.block != NO_BLOCK])
    is_first = np.append(True, np.diff(blocks) != 0)
    before = np.append(0.0, held)[np.maximum.accumulate(np.where(is_first, np.arange(len(blocks)), 0))]
    return np.where(blocks == NO_BLOCK, 0.0, held - before)


def _gradient_bytes(op: ForwardOp, weights: Collection[float]) -> float:
    """Bytes of the gradients of an op's result and operands; those of weights count elsewhere."""
    operands = op.operands[:1] if op.operator in COPIES else op.operands
    alone = _copies_weights(op, weights) or op.operator in PASSES_ON or op.in_place
    return op.result * op.itemsizes[1] + (0.0 if alone else sum(operands) * op.itemsizes[0])


def _copies_weights(op: ForwardOp, weights: Collection[float]) -> bool:
    """Whether an op copies or casts weights; both they and the copies count as parameters."""
    return op.operator in COPIES and sum(op.operands[:1]) in weights


def forward_moments(ops: Sequence[ForwardOp]) -> Moments:
    """What lives while each op runs of which nothing is kept: its operands and its result, but no copies of weights."""
    weights = {op.weights for op in ops if op.weights}
    own = [0.0 if _copies_weights(op, weights) else _bytes(op) for op in ops]
    there = np.array(own, dtype=float)
    return there, np.zeros_like(there), np.zeros_like(there)


def _bytes(op: ForwardOp) -> float:
    return sum(op.operands) * op.itemsizes[0] + op.result * op.itemsizes[1]
