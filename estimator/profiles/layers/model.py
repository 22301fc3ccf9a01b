"""``layers.yaml``: a transformer as its paper describes it, with defaults of its kind."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from estimator.core import quantities
from estimator.core.number_formats import read_word
from estimator.core.types import LARGEST_BATCH, File, Profile

Kind = Literal["gpt", "bert", "llama"]
OptimizerName = Literal["adam", "adamw", "lamb", "sgd", "momentum"]
Head = Literal["next_token", "masked", "span"]
MASKED_SHARE = 0.15  # of the tokens of a sequence; Devlin et al., BERT, 2019, section 3.1
FEED_FORWARD = 4  # times the hidden size; Vaswani et al., Attention Is All You Need, 2017, table 3
SPAN_ENDS = 2  # what a span head finds: start and end
ATTENTION_PRODUCTS = ("attention/query_key_value", "attention/output")  # of a block, by the names of their ops
FEED_FORWARD_PRODUCTS = ("feed_forward/up", "feed_forward/gated", "feed_forward/down")
AGAIN = "/again"  # behind the name of an op that recomputation runs once more
DEFAULTS: dict[str, dict[str, Any]] = {  # by kind
    # Radford et al., Language Models are Unsupervised Multitask Learners, 2019, section 2.3, and openai/gpt-2
    "gpt": {},
    # Devlin et al., BERT, 2019, section 3 and appendix A, and google-research/bert
    "bert": {
        "causal": False, "norm_first": False, "embedding_norm": True, "token_types": 2, "pooler": True,
        "head": "masked", "attention": "unfused",
    },
    # Touvron et al., Llama 2, 2023, section 2.2, and meta-llama/llama
    "llama": {
        "activation": "silu", "gated": True, "norm": "rms_norm", "bias": False, "positions": "rotary",
        "tied_embeddings": False, "dropout": 0.0, "optimizer": "adamw",
    },
}  # fmt: skip

Few = Annotated[int, BeforeValidator(quantities.no_flag), Field(ge=1, le=10**3)]
Width = Annotated[int, BeforeValidator(quantities.no_flag), Field(ge=1, le=10**6)]
Length = Annotated[int, BeforeValidator(quantities.no_flag), Field(ge=1, le=10**8)]
Classes = Annotated[int, BeforeValidator(quantities.no_flag), Field(ge=2, le=10**8)]
Batch = Annotated[int, BeforeValidator(quantities.no_flag), Field(ge=1, le=LARGEST_BATCH)]
Count = Annotated[int, BeforeValidator(quantities.no_flag), Field(ge=0, le=10**6)]
Share = Annotated[float, BeforeValidator(quantities.no_flag), Field(ge=0, lt=1)]


ProductFormat = Annotated[Literal["bf16", "fp16", "fp32", "tf32"], BeforeValidator(read_word)]


class Layers(File):
    """A transformer, how it is trained, and on how many sequences at once."""

    kind: Kind  #: sets the keys that are not given, see below
    blocks: Few  #: transformer blocks
    hidden_size: Width  #: width of a token between blocks
    heads: Width  #: of attention, in each block
    key_value_heads: Width | None = None  #: fewer than heads where queries share them; heads where missing
    head_width: Width | None = None  #: elements of a head; hidden_size / heads where missing
    feed_forward_size: Width | None = None  #: width of the feed-forward layer; 4 × hidden_size where missing
    vocabulary: Classes  #: rows of the table of tokens
    sequence_length: Length  #: tokens of a sequence
    max_positions: Length | None = None  #: rows of the table of learned positions; sequence_length where missing
    micro_batch: Batch = 1  #: sequences in one step; of a larger `--batch`, a pipeline computes so many at once
    causal: bool = True  #: whether a token attends to those before it alone
    activation: Literal["gelu", "relu", "silu"] = "gelu"  #: between the products of the feed-forward layer
    gated: bool = False  #: whether a second product gates the activation, as in SwiGLU
    norm: Literal["layer_norm", "rms_norm"] = "layer_norm"  #: kind of normalization
    norm_first: bool = True  #: before attention and feed-forward; else behind each, and none behind the last block
    bias: bool = True  #: whether products add one
    positions: Literal["learned", "rotary", "alibi", "none"] = "learned"  #: how a token's place enters
    tied_embeddings: bool = True  #: whether the head's product uses the table of tokens
    token_types: Count = 0  #: rows of the table of token types; 0 for none
    embedding_norm: bool = False  #: whether embeddings are normalized
    pooler: bool = False  #: BERT's, with its prediction of the next sentence
    head: Head = "next_token"  #: what is predicted: every next token, masked tokens, or ends of a span
    predictions: Length | None = None  #: masked tokens of a sequence; 15 % of it where missing
    experts: Few = 1  #: feed-forward layers of a block, of which each token takes some
    experts_per_token: Few = 1  #: that each token takes
    dropout: Share = 0.1  #: share that is dropped; 0 leaves the ops out
    lora_rank: Width | None = None  #: rank of the adapters that train in place of the weights (LoRA)
    lora_layers: Literal["attention", "all"] | None = None  #: which products have them; attention's where missing
    attention: Literal["fused", "unfused"] = "fused"  #: fused, as FlashAttention, or op by op
    #: fused: from the logits in their own format, in one kernel each way, as flash-attn and Liger do; else in fp32
    loss: Literal["fused", "unfused"] = "unfused"
    #: full: each block again before its gradients; selective: the core of its attention
    recompute: Literal["none", "full", "selective"] = "none"
    precision: ProductFormat = "bf16"  #: number format of the products
    optimizer: OptimizerName = "adam"  #: whose update ends the step

    @model_validator(mode="before")
    @classmethod
    def _with_defaults(cls, given: Any) -> Any:
        """What is given, and the defaults of its kind."""
        kind = given.get("kind") if isinstance(given, dict) else None
        return {**DEFAULTS.get(kind, {}), **given} if isinstance(kind, str) else given

    @model_validator(mode="after")
    def _fits(self) -> Layers:
        faults = {
            f"hidden_size {self.hidden_size} is no multiple of heads {self.heads}": (
                self.head_width is None and self.hidden_size % self.heads
            ),
            f"heads {self.heads} is no multiple of key_value_heads {self.groups}": self.heads % self.groups,
            f"experts_per_token {self.experts_per_token} is above experts {self.experts}": max(
                self.experts_per_token - self.experts, 0
            ),
            f"sequence_length {self.sequence_length} is above max_positions {self.max_positions}": max(
                self.sequence_length - (self.max_positions or self.sequence_length), 0
            ),
            f"predictions {self.predictions} is above sequence_length {self.sequence_length}": max(
                (self.predictions or 0) - self.sequence_length, 0
            ),
            "predictions are those of a 'head: masked'; delete it": self.head != "masked" and self.predictions,
            "lora_layers is given without lora_rank": self.lora_layers and not self.lora_rank,
            f"lora_rank is not supported with experts {self.experts}": self.lora_rank and self.experts > 1,
            f"pooler is that of 'kind: bert', and kind is {self.kind}": self.pooler and self.kind != "bert",
            f"positions are rotary, which need an even head size, and it is {self.head_size}": (
                self.positions == "rotary" and self.head_size % 2
            ),
        }
        for fault, is_there in faults.items():
            if is_there:
                raise ValueError(f"{fault}; change one of them")
        return self

    @property
    def head_size(self) -> int:
        """Elements of one head's query."""
        return int(self.head_width or self.hidden_size // self.heads)

    @property
    def groups(self) -> int:
        """Heads of keys and values; as many queries share one as there are heads to each."""
        return int(self.key_value_heads or self.heads)

    @property
    def adapted(self) -> tuple[str, ...]:
        """The products of a block that have adapters."""
        if self.lora_rank is None:
            return ()
        return ATTENTION_PRODUCTS if self.lora_layers != "all" else (*ATTENTION_PRODUCTS, *FEED_FORWARD_PRODUCTS)

    @property
    def attention_width(self) -> int:
        """Queries, keys and values of one token."""
        return (self.heads + 2 * self.groups) * self.head_size

    @property
    def feed_forward(self) -> int:
        """Width of the feed-forward layer, of one expert where there are several."""
        return int(self.feed_forward_size or FEED_FORWARD * self.hidden_size)

    @property
    def table_rows(self) -> int:
        """Rows of the table of learned positions."""
        return int(self.max_positions or self.sequence_length) if self.positions == "learned" else 0

    @property
    def predicted(self) -> int:
        """Tokens of a sequence that the loss is taken of."""
        masked = max(1, round(MASKED_SHARE * self.sequence_length))
        return int(self.predictions or masked) if self.head == "masked" else int(self.sequence_length)

    @property
    def tokens_per_expert(self) -> Fraction:
        """Tokens of one sequence that go to each expert, where all get as many; those of a whole batch are rounded."""
        return Fraction(self.sequence_length * self.experts_per_token, self.experts)


@dataclass(frozen=True, repr=False)
class LayersProfile(Profile):
    """The profile of one step of these layers, or of one device's part of it."""

    layers: Layers | None = None  # of the whole model
