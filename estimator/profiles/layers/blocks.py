"""The forward pass of a transformer: embeddings, blocks, and head with its loss, as differentiable ops.

Vaswani et al., Attention Is All You Need, 2017; Shazeer, GLU Variants Improve Transformer, 2020; Su et al., RoFormer,
2021; Fedus et al., Switch Transformers, 2021; Devlin et al., BERT, 2019.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from estimator.core.parallel import WHOLE, Split
from estimator.core.types import ITEMSIZE, stored_format
from estimator.profiles.layers.model import SPAN_ENDS, Layers
from estimator.profiles.layers.nodes import (
    BATCH,
    Add,
    Dropout,
    Embedding,
    FusedAttention,
    FusedLoss,
    Loss,
    Move,
    Multiply,
    Node,
    Product,
    Shape,
    Stream,
    Tensor,
    parameter,
)
from estimator.profiles.layers.parameters import NEXT_OR_NOT

EMBEDDINGS, HEAD = "embeddings", "head"  # scopes of what stands before the blocks, and behind them
OUTSIDE = "outside"  # scope of the gradients and the update of both
DENSE = ("bsk,kn->bsn", "bsn,kn->bsk", "bsk,bsn->kn")
EXPERTS = ("beck,ekn->becn", "becn,ekn->beck", "beck,becn->ekn")
SCORES = ("bkgsd,bktd->bkgst", "bkgst,bktd->bkgsd", "bkgsd,bkgst->bktd")
CONTEXT = ("bkgst,bktd->bkgsd", "bkgsd,bktd->bkgst", "bkgst,bkgsd->bktd")
NORMS = {
    "layer_norm": ("aten::native_layer_norm", "aten::native_layer_norm_backward"),
    "rms_norm": ("aten::_fused_rms_norm", "aten::_fused_rms_norm_backward"),
}
ACTIVATIONS = {  # op types, and what the gradient reads
    "gelu": (("aten::gelu", "aten::gelu_backward"), "input"),
    "silu": (("aten::silu", "aten::silu_backward"), "input"),
    "relu": (("aten::relu", "aten::threshold_backward"), "result"),
    "tanh": (("aten::tanh", "aten::tanh_backward"), "result"),
}
COPY = ("aten::clone", "aten::clone")
SOFTMAX = ("aten::_softmax", "aten::_softmax_backward_data")
LOG_SOFTMAX = ("aten::_log_softmax", "aten::_log_softmax_backward_data")
SELECT = ("aten::index_select", "aten::index_add_")
TO_EXPERTS, FROM_EXPERTS = ("aten::index_select", "aten::sum"), ("aten::sum", "aten::index_select")


@dataclass
class Tape:
    """Ops in their order, under a prefix of their names."""

    layers: Layers
    prefix: str
    split: Split = WHOLE
    nodes: list[Node] = field(default_factory=list)

    @property
    def length(self) -> int:
        """Tokens of a sequence on this device."""
        return self.layers.sequence_length // self.split.context

    def add(self, node: Node) -> Tensor:
        """Append an op; its result."""
        self.nodes.append(node)
        return node.result

    def name(self, name: str) -> str:
        """The whole name of an op."""
        return f"{self.prefix}/{name}"

    def product(
        self, name: str, given: Tensor, columns: int, *, bias: bool | None = None, scattered: bool = False
    ) -> Tensor:
        """A product with a weight, on the last dimension; its tokens may be scattered among the devices."""
        has_bias, frozen = self.layers.bias if bias is None else bias, bool(self.layers.adapted)
        parts = self.split.tokens_shared if scattered else 1
        made = self._weighted(name, given, columns, parts, bias=has_bias, frozen=frozen)
        return self._adapted(name, given, made, parts) if name in self.layers.adapted else made

    def _weighted(self, name: str, given: Tensor, columns: int, parts: int = 1, **how: bool) -> Tensor:
        weight, shape = parameter(given.shape[-1], columns), (*given.shape[:-1], columns)
        operands, precision = (given, weight), self.layers.precision
        return self.add(Product(self.name(name), operands, shape, DENSE, precision, parts=parts, **how))

    def _adapted(self, name: str, given: Tensor, made: Tensor, parts: int) -> Tensor:
        """A product's result with that of its adapter, as PEFT has it: two narrow products, scaled and added."""
        down = self._weighted(f"{name}/lora_down", given, self.layers.lora_rank or 0, parts)
        up = self._weighted(f"{name}/lora_up", down, int(made.shape[-1]))
        scaled = self.add(
            Stream(self.name(f"{name}/lora_scale"), (up,), up.shape, ("aten::mul", "aten::mul"), "nothing")
        )
        return self.sum(f"{name}/lora_sum", made, scaled)

    def gathered(self, given: Tensor) -> Tensor:
        """A tensor with the tokens of all devices that share a product."""
        batch, _, *others = given.shape
        return Tensor(given.name, (batch, self.length, *others))

    def of_experts(self, name: str, given: Tensor, columns: int) -> Tensor:
        """A product with the weight of each expert."""
        weight = parameter(given.shape[1], given.shape[-1], columns)
        shape = (*given.shape[:-1], columns)
        return self.add(
            Product(self.name(name), (given, weight), shape, EXPERTS, self.layers.precision, self.layers.bias)
        )

    def norm(self, name: str, given: Tensor) -> Tensor:
        """A norm over the last dimension."""
        return self.add(Stream(self.name(name), (given,), given.shape, NORMS[self.layers.norm]))

    def activation(self, name: str, given: Tensor, kind: str) -> Tensor:
        """An element-wise function."""
        types, keeps = ACTIVATIONS[kind]
        return self.add(Stream(self.name(name), (given,), given.shape, types, keeps))

    def dropout(self, name: str, given: Tensor) -> Tensor:
        """A dropout; its input where there is none."""
        if self.layers.dropout == 0:
            return given
        return self.add(Dropout(self.name(name), (given,), given.shape, ITEMSIZE[stored(self.layers)]))

    def sum(self, name: str, first: Tensor, second: Tensor, *, has_table: bool = False) -> Tensor:
        """A sum of two tensors, the second of which may be a table of parameters."""
        return self.add(Add(self.name(name), (first, second), first.shape, has_table))


def stored(layers: Layers) -> str:
    """The format of activations."""
    return stored_format(layers.precision)


def embeddings(layers: Layers, split: Split = WHOLE) -> tuple[list[Node], Tensor]:
    """The vectors of tokens, their positions and their types."""
    tape = Tape(layers, EMBEDDINGS, split)
    given = _lookup(tape, "tokens", layers.vocabulary, tape.length, split.tokens_shared)
    length = tape.length // split.tokens_shared
    if layers.positions == "learned":
        given = tape.sum("positions", given, parameter(length, layers.hidden_size), has_table=True)
    if layers.token_types:
        given = tape.sum("types_added", given, _lookup(tape, "types", layers.token_types, length))
    if layers.embedding_norm:
        given = tape.norm("norm", given)
    return tape.nodes, tape.dropout("dropout", given)


def _lookup(tape: Tape, name: str, rows: int, length: int, scattered_among: int = 1) -> Tensor:
    hidden = tape.layers.hidden_size
    inputs = (parameter(rows, hidden), parameter(BATCH, length))
    return tape.add(Embedding(tape.name(name), inputs, (BATCH, length, hidden), parts=scattered_among))


def block(layers: Layers, number: int, given: Tensor, split: Split = WHOLE) -> tuple[list[Node], Tensor]:
    """One block: attention and feed-forward layers, each with its norm and a way around it."""
    tape = Tape(layers, f"block_{number}", split)
    for part, run in (("attention", _attention), ("feed_forward", _feed_forward)):
        inside = tape.norm(f"{part}/norm", given) if layers.norm_first else given
        made = tape.dropout(f"{part}/dropout", run(tape, tape.gathered(inside)))
        given = tape.sum(f"{part}/residual", made, given)
        given = given if layers.norm_first else tape.norm(f"{part}/norm", given)
    return tape.nodes, given


def _attention(tape: Tape, given: Tensor) -> Tensor:
    layers = tape.layers
    projected = tape.product("attention/query_key_value", given, layers.attention_width)
    turned = _rotary(tape, projected) if layers.positions == "rotary" else projected
    attended = (_fused if layers.attention == "fused" else _unfused)(tape, turned, projected)
    return tape.product("attention/output", attended, layers.hidden_size, scattered=True)


def _rotary(tape: Tape, given: Tensor) -> Tensor:
    """Queries and keys turned by their positions, in one kernel that leaves the values alone.

    All heads take the same sines and cosines, as many as a head has elements (Su et al., RoFormer, 2021, section 3.4).
    """
    layers = tape.layers
    turned = (BATCH, tape.length, layers.heads + layers.groups, layers.head_size)
    operands = (Tensor(given.name, turned), parameter(tape.length, 1, layers.head_size))
    return tape.add(Stream(tape.name("attention/rotary"), operands, turned, ("aten::mul", "aten::mul"), "nothing"))


def _fused(tape: Tape, turned: Tensor, given: Tensor) -> Tensor:
    """Attention of this device's tokens to all of the sequence."""
    layers = tape.layers
    length, size = tape.length, layers.head_size
    heads = (BATCH, length, layers.heads, size), (BATCH, layers.sequence_length, layers.groups, size)
    shape = (BATCH, length, layers.heads * size)
    name = tape.name("attention/core/flash")
    return tape.add(FusedAttention(name, (turned, given), shape, heads, layers.causal, layers.precision))


def _unfused(tape: Tape, turned: Tensor, given: Tensor) -> Tensor:
    """Two batched products with a mask, a softmax and a dropout between them, head by head, and copies for these."""
    layers = tape.layers
    length, size, groups = layers.sequence_length, layers.head_size, layers.groups
    queries: Shape = (BATCH, groups, layers.heads // groups, length, size)
    keys, scores = (BATCH, groups, length, size), (*queries[:-1], length)
    name = tape.name
    copied = {
        part: tape.add(Stream(name(f"attention/{part}"), (Tensor(source.name, shape),), shape, COPY, "nothing"))
        for part, source, shape in (("queries", turned, queries), ("keys", turned, keys), ("values", given, keys))
    }
    both = (copied["queries"], copied["keys"])
    made = tape.add(Product(name("attention/core/scores"), both, scores, SCORES, layers.precision))
    mask = parameter(length, length) if layers.causal else parameter(BATCH, 1, 1, 1, length)
    made = tape.sum("attention/core/mask", made, mask)
    made = tape.add(Stream(name("attention/core/softmax"), (made,), scores, SOFTMAX, "result"))
    made = tape.dropout("attention/core/dropout", made)
    both = (made, copied["values"])
    made = tape.add(Product(name("attention/core/context"), both, queries, CONTEXT, layers.precision))
    shape = (BATCH, length, layers.heads * size)
    return tape.add(Stream(name("attention/context"), (made,), shape, COPY, "nothing"))


def _feed_forward(tape: Tape, given: Tensor) -> Tensor:
    return _of_experts(tape, given) if tape.layers.experts > 1 else _dense(tape, given)


def _dense(tape: Tape, given: Tensor) -> Tensor:
    layers = tape.layers
    up = tape.product("feed_forward/up", given, layers.feed_forward)
    made = tape.activation("feed_forward/activation", up, layers.activation)
    if layers.gated:
        other = tape.product("feed_forward/gated", given, layers.feed_forward)
        made = tape.add(Multiply(tape.name("feed_forward/gate"), (made, other), made.shape))
    return tape.product("feed_forward/down", made, layers.hidden_size, scattered=True)


def _of_experts(tape: Tape, given: Tensor) -> Tensor:
    """Each token goes to some of the experts, all of which get as many; their results are added by their weights.

    Of copies that share experts, each has some of these, with the tokens of all copies.
    """
    layers, name, parts = tape.layers, tape.name, tape.split.experts
    routed = tape.product("feed_forward/router", given, layers.experts, bias=False)
    weights = tape.add(Stream(name("feed_forward/router_softmax"), (routed,), routed.shape, SOFTMAX, "result"))
    shape = (BATCH, layers.experts, layers.tokens_per_expert, layers.hidden_size)
    sent = tape.add(Move(name("feed_forward/to_experts"), (given,), shape, TO_EXPERTS))
    sent = Tensor(sent.name, (BATCH, layers.experts // parts, layers.tokens_per_expert * parts, layers.hidden_size))
    up = tape.of_experts("feed_forward/up", sent, layers.feed_forward)
    made = tape.activation("feed_forward/activation", up, layers.activation)
    if layers.gated:
        other = tape.of_experts("feed_forward/gated", sent, layers.feed_forward)
        made = tape.add(Multiply(name("feed_forward/gate"), (made, other), made.shape))
    down = Tensor(tape.of_experts("feed_forward/down", made, layers.hidden_size).name, shape)
    return tape.add(Move(name("feed_forward/from_experts"), (down, weights), given.shape, FROM_EXPERTS))


def head(layers: Layers, given: Tensor, split: Split = WHOLE) -> list[Node]:
    """The last norm, the predictions of tokens, and their loss."""
    tape = Tape(layers, HEAD, split)
    given = tape.gathered(tape.norm("norm", given) if layers.norm_first else given)
    if layers.pooler:
        _pooler(tape, given)
    if layers.head == "masked":
        shape = (BATCH, layers.predicted, layers.hidden_size)
        given = tape.add(Move(tape.name("masked"), (given,), shape, SELECT))
        given = tape.product("transform", given, layers.hidden_size)
        given = tape.norm("transform_norm", tape.activation("transform_activation", given, layers.activation))
    span = layers.head == "span"
    logits = tape.product("logits", given, SPAN_ENDS if span else layers.vocabulary, bias=layers.head != "next_token")
    _loss(tape, "tokens", Tensor(logits.name, (BATCH, SPAN_ENDS, layers.sequence_length)) if span else logits)
    return tape.nodes


def _pooler(tape: Tape, given: Tensor) -> None:
    """Whether a sequence's second half follows its first, from its first token."""
    hidden = tape.layers.hidden_size
    first = tape.add(Move(tape.name("first"), (given,), (BATCH, 1, hidden), SELECT))
    pooled = tape.activation("pooler_activation", tape.product("pooler", first, hidden), "tanh")
    _loss(tape, "next_sentence", tape.product("next_or_not", pooled, NEXT_OR_NOT))


def _loss(tape: Tape, name: str, logits: Tensor) -> None:
    """The cross-entropy of classes: in one kernel, or op by op in fp32."""
    prefix, narrow = tape.name(f"{name}/cross_entropy"), stored(tape.layers)
    if tape.layers.loss == "fused":
        tape.add(FusedLoss(f"{prefix}/fused", (logits,), (1,)))
        return
    if narrow != "fp32":
        casts = (f"from={narrow};to=fp32", f"from=fp32;to={narrow}")
        to_copy = ("aten::_to_copy", "aten::_to_copy")
        logits = tape.add(Stream(f"{prefix}/cast", (logits,), logits.shape, to_copy, "nothing", "fp32", casts))
    likely = tape.add(Stream(f"{prefix}/log_softmax", (logits,), logits.shape, LOG_SOFTMAX, "result", "fp32"))
    tape.add(Loss(f"{prefix}/nll", (likely,), (1,)))
