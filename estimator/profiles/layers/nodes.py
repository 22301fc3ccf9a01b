"""The differentiable ops of a transformer: each with the rows of its forward pass and those of its gradients.

Op types are PyTorch's, with the shapes of its tensors: -1 is the batch. Products name their sums as an equation. What
PyTorch makes by views, such as the split of a tensor into heads, is no op.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from estimator.core.attributes import OF_PARAMETERS
from estimator.core.schema import LATER_RESULTS
from estimator.core.types import ITEMSIZE

BATCH = -1
Shape = tuple[int | Fraction, ...]  # a ratio is of each sample; :func:`estimator.work.shapes.read_shapes`


@dataclass(frozen=True)
class Tensor:
    """A tensor by the name of the op that writes it; parameters and data have none."""

    name: str
    shape: Shape


@dataclass(frozen=True)
class Row:
    """One op as it runs: its operands, in order, and its results."""

    op: str
    op_type: str
    operands: tuple[Tensor, ...]
    results: tuple[Shape, ...]
    attributes: str = ""
    precision: str | None = None  # None: that of activations
    reads: tuple[str, ...] = ()  # further ops whose results it takes

    @property
    def result(self) -> Tensor:
        """The tensor that the row writes first."""
        return Tensor(self.op, self.results[0])


Made = Iterator[tuple[Tensor | None, "Row | Tensor"]]  # an operand (None: a parameter), and what makes its gradient
Renamed = Mapping[str, str]  # ops of the forward pass that ran again → the names under which they did


@dataclass(frozen=True)
class Node:
    """An op of the forward pass, its operands, and its result."""

    name: str
    inputs: tuple[Tensor, ...]
    shape: Shape
    parts: int = field(default=1, kw_only=True)  # devices that its result is added up and scattered among, by tokens

    @property
    def result(self) -> Tensor:
        """The tensor that it writes, as others read it."""
        batch, *others = self.shape
        return Tensor(self.name, (batch, others[0] // self.parts, *others[1:]) if self.parts > 1 else self.shape)

    @property
    def is_attention_core(self) -> bool:
        """Whether selective recomputation computes it again; Korthikanti et al., 2022, section 5."""
        return "/attention/core/" in self.name

    def renamed(self, suffix: str, by: Renamed) -> Node:
        """The same op once more, on operands that were computed again."""
        return replace(self, name=self.name + suffix, inputs=tuple(last(each, by) for each in self.inputs))

    def forward(self) -> Row:
        """The row of the forward pass."""
        raise NotImplementedError

    def backward(self, gradient: Tensor | None, kept: Renamed) -> Made:
        """Yield operands with their gradients, or the rows that make them; None in place of a parameter.

        ``kept``: see :data:`Renamed`.
        """
        raise NotImplementedError


def last(given: Tensor, by: Renamed) -> Tensor:
    """The tensor as it was computed last."""
    return Tensor(by.get(given.name, given.name), given.shape)


def parameter(*shape: int | Fraction) -> Tensor:
    """A parameter, or data: no op writes it."""
    return Tensor("", shape)


def elements(shape: Shape) -> int | Fraction:
    """Elements of a tensor, of one sample where the batch is a dimension of it."""
    count: int | Fraction = 1
    for size in shape:
        count *= size if size > 0 else -size
    return count


@dataclass(frozen=True)
class Product(Node):
    """``C = A · B`` by an equation, with a parameter or an activation as B; a bias is added in the product's kernel.

    Parameters that are not trained have no gradients.
    """

    equations: tuple[str, str, str] = ("", "", "")  # forward, gradient of A, gradient of B
    precision: str = "fp32"
    bias: bool = False
    frozen: bool = False  # whether its parameters are not trained

    def forward(self) -> Row:
        """The product."""
        return Row(self.name, "aten::einsum", self.inputs, (self.shape,), self._by(0), self.precision)

    def backward(self, gradient: Tensor | None, kept: Renamed) -> Made:
        """A product for each operand's gradient, and the sum of the bias's."""
        (a, b), given = self.inputs, _known(gradient)
        if a.name:
            yield a, self._gradient("grad_a", (given, last(b, kept)), a.shape, self._by(1))
        if self.frozen:
            return
        of_b = self._by(2) if b.name else f"{self._by(2)};{OF_PARAMETERS}"
        yield b if b.name else None, self._gradient("grad_b", (last(a, kept), given), b.shape, of_b)
        if self.bias:
            yield None, Row(f"{self.name}/grad_bias", "aten::sum", (given,), (self.shape[-1:],))

    def _gradient(self, name: str, operands: tuple[Tensor, ...], shape: Shape, attributes: str) -> Row:
        return Row(f"{self.name}/{name}", "aten::einsum", operands, (shape,), attributes, self.precision)

    def _by(self, which: int) -> str:
        return f"equation={self.equations[which]}"


@dataclass(frozen=True)
class Stream(Node):
    """An op that memory binds: its gradient reads that of its result and what it keeps."""

    types: tuple[str, str] = ("", "")  # op types of the forward and the backward pass
    keeps: str = "input"  # input, result or nothing
    precision: str | None = None
    attributes: tuple[str, str] = ("", "")

    def forward(self) -> Row:
        """The op."""
        return Row(self.name, self.types[0], self.inputs, (self.shape,), self.attributes[0], self.precision)

    def backward(self, gradient: Tensor | None, kept: Renamed) -> Made:
        """One op for the gradient of its first operand, the others being parameters or data."""
        reads = {"input": (self.inputs[0],), "result": (self.result,), "nothing": ()}[self.keeps]
        operands = (_known(gradient), *(last(each, kept) for each in reads))
        wanted = self.inputs[0]
        row = Row(f"{self.name}/grad", self.types[1], operands, (wanted.shape,), self.attributes[1], self.precision)
        yield wanted if wanted.name else None, row


@dataclass(frozen=True)
class Dropout(Node):
    """A dropout, which keeps its mask, its second result: one byte an element, as so many elements of its format.

    Source: Korthikanti et al., Reducing Activation Recomputation, 2022, section 4.1.
    """

    itemsize: float = ITEMSIZE["fp32"]

    def forward(self) -> Row:
        """The op, with its mask as second result."""
        return Row(self.name, "aten::native_dropout", self.inputs, (self.shape, self._mask))

    def backward(self, gradient: Tensor | None, kept: Renamed) -> Made:
        """The gradient where the mask lets it through."""
        operands = (_known(gradient), Tensor(last(self.result, kept).name + LATER_RESULTS, self._mask))
        yield self.inputs[0], Row(f"{self.name}/grad", "aten::native_dropout_backward", operands, (self.shape,))

    @property
    def _mask(self) -> Shape:
        return (*self.shape[:-1], math.ceil(self.shape[-1] / self.itemsize))


@dataclass(frozen=True)
class Add(Node):
    """A sum of two tensors, to both of which its gradient goes as it is; that of a table is summed over the batch."""

    has_table: bool = False  # of parameters, as its second operand

    def forward(self) -> Row:
        """The sum."""
        return Row(self.name, "aten::add", self.inputs, (self.shape,))

    def backward(self, gradient: Tensor | None, kept: Renamed) -> Made:
        """The same gradient for each activation."""
        for each in self.inputs:
            if each.name:
                yield each, _known(gradient)
            elif self.has_table:
                yield None, Row(f"{self.name}/grad_table", "aten::sum", (_known(gradient),), (each.shape,))


@dataclass(frozen=True)
class Multiply(Node):
    """The product of two activations, element by element."""

    def forward(self) -> Row:
        """The product."""
        return Row(self.name, "aten::mul", self.inputs, (self.shape,))

    def backward(self, gradient: Tensor | None, kept: Renamed) -> Made:
        """The gradient times the other operand, for each."""
        first, second = self.inputs
        for each, other, side in ((first, second, "a"), (second, first, "b")):
            operands = (_known(gradient), last(other, kept))
            yield each, Row(f"{self.name}/grad_{side}", "aten::mul", operands, (each.shape,))


@dataclass(frozen=True)
class FusedAttention(Node):
    """Attention whose scores never leave the chip.

    The first operand holds queries and keys, the second the values, which may be a part of the same memory: the
    gradient of the first is that of all.
    """

    heads: tuple[Shape, Shape] = ((), ())  # of queries, and of keys and of values
    causal: bool = True
    precision: str = "fp32"

    def forward(self) -> Row:
        """The kernel."""
        return self._row(self.name, "aten::_flash_attention_forward", (), self.inputs, self.shape)

    def backward(self, gradient: Tensor | None, kept: Renamed) -> Made:
        """The kernel of all three gradients."""
        op_type, name, given = "aten::_flash_attention_backward", f"{self.name}/grad", self.inputs[0]
        operands, behind = tuple(last(each, kept) for each in self.inputs), (last(self.result, kept),)
        yield given, self._row(name, op_type, (_known(gradient),), operands, self.inputs[1].shape, behind)

    def _row(
        self, name: str, op_type: str, first: tuple[Tensor, ...], given: tuple[Tensor, ...], result: Shape,
        behind: tuple[Tensor, ...] = (),
    ) -> Row:  # fmt: skip
        queries, keys = self.heads
        parts = (Tensor(given[0].name, queries), Tensor(given[0].name, keys), Tensor(given[1].name, keys))
        causal = "causal=1" if self.causal else ""
        return Row(name, op_type, (*first, *parts, *behind), (result,), causal, self.precision)


@dataclass(frozen=True)
class Move(Node):
    """Rows that are copied to other places, such as tokens to their experts; its gradient takes them back.

    Operands behind the first are weights of these rows, whose gradients are sums of the result's times the rows.
    """

    types: tuple[str, str] = ("", "")  # op types of the forward and the backward pass

    def forward(self) -> Row:
        """The copies."""
        return Row(self.name, self.types[0], self.inputs, (self.shape,))

    def backward(self, gradient: Tensor | None, kept: Renamed) -> Made:
        """The copies back."""
        first, *others = self.inputs
        yield first, Row(f"{self.name}/grad", self.types[1], (_known(gradient),), (first.shape,))
        operands = (_known(gradient), last(first, kept))
        for other in others:
            yield other, Row(f"{self.name}/grad_weights", "aten::sum", operands, (other.shape,))


@dataclass(frozen=True)
class Embedding(Node):
    """Rows of a table of parameters, by indices of the data."""

    def forward(self) -> Row:
        """The lookup."""
        return Row(self.name, "aten::embedding", self.inputs, (self.shape,))

    def backward(self, gradient: Tensor | None, kept: Renamed) -> Made:
        """The sum of the gradients of each row."""
        table, indices = self.inputs
        operands = (_known(gradient), indices)
        yield None, Row(f"{self.name}/grad_table", "aten::embedding_dense_backward", operands, (table.shape,))


@dataclass(frozen=True)
class Loss(Node):
    """The mean of the targets' negative log-likelihoods: where gradients begin."""

    def forward(self) -> Row:
        """One element of each row of classes."""
        return Row(self.name, "aten::nll_loss_forward", (*self.inputs, self._targets), (self.shape,), "", "fp32")

    def backward(self, gradient: Tensor | None, kept: Renamed) -> Made:
        """The gradient of all classes, most of which are zero."""
        given = self.inputs[0]
        row = Row(f"{self.name}/grad", "aten::nll_loss_backward", (self._targets,), (given.shape,), "", "fp32")
        yield given, row

    @property
    def _targets(self) -> Tensor:
        return parameter(*self.inputs[0].shape[:-1])


@dataclass(frozen=True)
class FusedLoss(Loss):
    """The same from the logits as they are, in one kernel: that of the gradient writes over the logits."""

    def forward(self) -> Row:
        """The mean over rows, each of which is read once."""
        return Row(self.name, "flash_attn::cross_entropy_forward", (*self.inputs, self._targets), (self.shape,))

    def backward(self, gradient: Tensor | None, kept: Renamed) -> Made:
        """The gradient of all classes."""
        given = self.inputs[0]
        operands = (last(given, kept), self._targets)
        yield given, Row(f"{self.name}/grad", "flash_attn::cross_entropy_backward", operands, (given.shape,))


def _known(gradient: Tensor | None) -> Tensor:
    """The gradient of an op's result, which all but a loss have."""
    if gradient is None:
        raise TypeError("only a loss has a gradient without one of its result")
    return gradient
