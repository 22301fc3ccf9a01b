"""One device's part of a transformer whose products are divided among several: tensor parallelism.

The first product of attention and of the feed-forward layer is divided by columns, the second by rows, so that the sum
of all devices' results is needed behind the second, and in the backward pass behind the gradient of the first (Shoeybi
et al., Megatron-LM, 2019, section 3). Embedding and logits are divided by the vocabulary. Norms, dropouts and sums of
whole activations run on every device.

With sequence parallelism each device has its share of the tokens there (Korthikanti et al., Reducing Activation
Recomputation in Large Transformer Models, 2022, section 4.2.2). Results are added up and scattered instead, and tokens
gathered ahead of the first product. A device keeps its share of what the first product took, and gathers it once more
for the gradient of the weights, while that of the tokens is computed. Messages may overlap with the products of blocks:
each device passes on one part of the tokens while it computes another (Wang et al., Overlap Communication with
Dependent Computation via Decomposition, 2023).

With expert parallelism each copy of the model has some of the experts, and all copies send these their tokens and get
the results back, and their gradients the other way (Lepikhin et al., GShard, 2021; Fedus et al., Switch Transformers,
2021, section 5).

With context parallelism each device has its share of the tokens everywhere, and all weights. Keys and values go around
in a ring while attention runs, and in the backward pass their gradients too (Liu et al., Ring Attention with Blockwise
Transformers, 2023). Each device has early and late tokens, so that a causal mask leaves all of them the same work
(Llama Team, The Llama 3 Herd of Models, 2024, section 3.3.2).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from estimator.core.attributes import (
    AROUND,
    AROUND_GRADIENTS,
    EXCHANGED,
    EXCHANGED_BEFORE,
    EXPERTS_LOAD,
    EXPERTS_WEIGHTS,
    GATHERED,
    GATHERED_BESIDE,
    GATHERED_DURING,
    SCATTERED,
    SCATTERED_DURING,
    SUMMED,
)
from estimator.core.errors import EstimatorError
from estimator.core.parallel import End, Split
from estimator.core.types import Profile
from estimator.profiles.layers import parameters
from estimator.profiles.layers.model import AGAIN, FEED_FORWARD_PRODUCTS, Layers, LayersProfile

OF_PIPELINES = ("data", "zero1", "zero2")
FIRST, SECOND = ("attention/query_key_value", "feed_forward/up"), ("attention/output", "feed_forward/down")
TOKENS, LOGITS = "embeddings/tokens", "head/logits"
OF_HEADS = ("head/first", "head/masked", LOGITS)  # the first op of a head is the first of these that it has
Mark = tuple[str, tuple[str, ...]]  # an attribute, and how the names of ops that get it end
Marks = Sequence[Mark]


def layers_of(profile: Profile) -> Layers:
    """The layers that a profile was made from. Raises EstimatorError for any other profile."""
    if not isinstance(profile, LayersProfile) or profile.layers is None:
        raise EstimatorError(
            f"{profile.where}: tensor=N, context=N, pipeline=N and experts=N need to know the model's blocks; expected "
            "a workload given as layers (layers.yaml), or a split without these words"
        )
    return profile.layers


def stated_micro_batch(profile: Profile) -> int | None:
    """The sequences that a copy of the model computes at once, where a profile's layers state them."""
    layers = profile.layers if isinstance(profile, LayersProfile) else None
    return layers.micro_batch if layers and "micro_batch" in layers.model_fields_set else None


def shard(layers: Layers, devices: int) -> Layers:
    """The part of each of so many devices. Raises EstimatorError where they do not divide heads or widths."""
    for name, count in (("heads", layers.heads), ("feed_forward_size", layers.feed_forward)):
        if count % devices:
            raise EstimatorError(
                f"tensor={devices}: it does not divide {name} {count}; expected a divisor of both heads "
                f"{layers.heads} and feed_forward_size {layers.feed_forward}"
            )
    if layers.groups % devices and devices % layers.groups:
        raise EstimatorError(
            f"tensor={devices}: key_value_heads {layers.groups} cannot be divided so; expected a divisor or a multiple"
        )
    part = {
        "head_width": layers.head_size,
        "heads": layers.heads // devices,
        "key_value_heads": max(1, layers.groups // devices),
        "feed_forward_size": layers.feed_forward // devices,
        "vocabulary": -(-layers.vocabulary // devices),
    }
    return layers.model_copy(update=part)


def divided(profile: Profile, split: Split, end: End | None = None) -> Profile:
    """The profile of one device's part of a step. Ops behind which results are added up are marked.

    ``end``: the profile of one stage of the pipeline; else that of all of its stages.
    Raises EstimatorError where the model is not known as layers, or its blocks, widths or experts cannot be divided so.
    """
    if split.least_devices == 1:
        return profile
    layers = layers_of(profile)
    check_stages(split, layers)
    return divided_layers(profile, _stage(layers, split, end), split, end)


def experts_share(profile: Profile, split: Split, end: End | None = None) -> float:
    """The share of a copy's parameters that are those of its experts; 0 where copies share none.

    ``end``: of the parameters of one stage.
    """
    if split.experts == 1:
        return 0.0
    return parameters.experts_share(shard(_stage(layers_of(profile), split, end), split.tensor), split.experts, end)


@dataclass(frozen=True)
class HeaviestStage:
    """The stage of a pipeline that has the most parameters: an end, with its embeddings or its head.

    ``share``: of the parameters of the whole model, whose tied table counts once; ``share_of_copied``: of those that
    all copies of the model have, as some may share experts. ``tied``: elements of a table of tokens that both ends
    have, whose gradients they add up (Megatron-LM, finalize_model_grads.py, from memory); 0 where none is tied.
    ``blocks``: share of the blocks that the fullest stage has.
    """

    share: float = 1.0
    share_of_copied: float = 1.0
    tied: int = 0
    blocks: float = 1.0


def heaviest_stage(profile: Profile, split: Split) -> HeaviestStage:
    """The heaviest stage of one device's part of a model. Raises EstimatorError as :func:`layers_of` does."""
    if split.pipeline == 1:
        return HeaviestStage()
    whole, shared = shard(layers_of(profile), split.tensor), split.experts
    count = max(parameters.total(_stage(whole, split, end), shared, end).count for end in split.ends)
    of_all = parameters.total(whole, shared).count
    experts = of_all - parameters.without_experts(whole) if shared > 1 else 0
    blocks = fullest_stage(whole, split) / whole.blocks
    copied = (count - experts * blocks) / (of_all - experts)
    return HeaviestStage(count / of_all, copied, parameters.tied(whole), blocks)


def _stage(layers: Layers, split: Split, end: End | None) -> Layers:
    """The layers with the blocks of the fullest stage; with those of all stages where no end is asked for."""
    return layers if end is None else layers.model_copy(update={"blocks": fullest_stage(layers, split)})


def fullest_stage(layers: Layers, split: Split) -> int:
    """Blocks of the stage of a pipeline that has most of them: ⌈blocks / stages⌉."""
    return -(-layers.blocks // split.pipeline)


def check_stages(split: Split, layers: Layers) -> None:
    """Raises EstimatorError where the stages of a pipeline cannot share the blocks, or weights are divided too."""
    if layers.blocks < split.pipeline:
        raise EstimatorError(
            f"pipeline={split.pipeline}: the model has {layers.blocks} blocks; expected at most as many stages"
        )
    of_stage = fullest_stage(layers, split)
    if of_stage % split.interleave:
        raise EstimatorError(
            f"interleave={split.interleave}: it does not divide the {of_stage} blocks of the fullest of "
            f"{split.pipeline} stages; expected a divisor"
        )
    if split.pipeline > 1 and split.data not in OF_PIPELINES:
        raise EstimatorError(
            f"{split.data} with pipeline={split.pipeline}: not supported; expected "
            f"{', '.join(OF_PIPELINES[:-1])} or {OF_PIPELINES[-1]}"
        )


def check_context(layers: Layers, devices: int) -> None:
    """Raises EstimatorError where so many devices cannot share the tokens of a sequence everywhere."""
    faults = {
        f"it does not divide sequence_length {layers.sequence_length}; expected a divisor": (
            layers.sequence_length % devices
        ),
        "only fused attention can pass keys and values around; expected 'attention: fused' in its layers.yaml": (
            layers.attention != "fused"
        ),
        f"not supported with 'head: {layers.head}'; expected a model of every next token": layers.head != "next_token",
        f"not supported with {layers.experts} experts; expected a model without a mixture": layers.experts > 1,
    }
    for fault, is_there in faults.items():
        if is_there:
            raise EstimatorError(f"context={devices}: {fault}")


def check_sequence(layers: Layers, split: Split) -> None:
    """Raises EstimatorError where devices cannot share the tokens of a sequence outside of products."""
    devices, length = split.tensor, layers.sequence_length // split.context
    if length % devices:
        of = f"sequence_length {length}" if split.context == 1 else f"the {length} tokens of context={split.context}"
        raise EstimatorError(f"sequence with tensor={devices}: it does not divide {of}; expected a divisor")
    if layers.experts > 1:
        raise EstimatorError(
            f"sequence with {layers.experts} experts: not supported; expected tensor={devices} without sequence"
        )


def check_experts(layers: Layers, copies: int) -> None:
    """Raises EstimatorError where so many copies of the model cannot share its experts."""
    if layers.experts == 1:
        raise EstimatorError(
            f"experts={copies}: the model has no mixture; expected 'experts' of 2 or more in its layers.yaml"
        )
    if layers.experts % copies:
        raise EstimatorError(f"experts={copies}: it does not divide the {layers.experts} experts; expected a divisor")


def divided_layers(profile: Profile, layers: Layers, split: Split, end: End | None = None) -> Profile:
    """The profile of one of the devices that share products, tokens and experts of these layers.

    ``end``: stage of a pipeline, whose blocks these are. Raises EstimatorError where they cannot be divided so.
    """
    from estimator.profiles.layers.step import ops_of  # only where there are layers: start-up

    if split.stage_devices == split.experts == 1 and end is None:
        return profile
    _check_shares(layers, split)
    part = shard(layers, split.tensor)
    size, ops = parameters.total(part, split.experts, end), ops_of(part, split, end)
    facts = {
        "parameters": size.count,
        "variables": size.tensors,
        "frozen_parameters": parameters.frozen(part, end) or None,
    }
    workload = profile.workload.model_copy(update=facts)
    marked = _marked(ops, _marks(layers, ops, split))
    return dataclasses.replace(profile, ops=ops.assign(attributes=marked), workload=workload)


def _check_shares(layers: Layers, split: Split) -> None:
    """Raises EstimatorError where devices cannot share tokens or experts of these layers so."""
    if split.context > 1:
        check_context(layers, split.context)
    if split.sequence:
        check_sequence(layers, split)
    if split.experts > 1:
        check_experts(layers, split.experts)


def _marks(layers: Layers, ops: pd.DataFrame, split: Split) -> list[Mark]:
    """What devices that share these layers send each other."""
    of_tensor = _marks_of_sequence(layers, ops, split) if split.sequence else _MARKS
    parts = ((of_tensor, split.tensor), (_CONTEXT, split.context), (_EXPERTS, split.experts))
    return [mark for marks, devices in parts if devices > 1 for mark in marks]


def _gradients(products: Iterable[str]) -> tuple[str, ...]:
    """The ops of the gradients of what these products take."""
    return tuple(f"{name}/grad_a" for name in products)


_INSIDE = (*FEED_FORWARD_PRODUCTS, "feed_forward/activation", "feed_forward/gate")
_EXPERTS: Marks = [
    (EXCHANGED, ("feed_forward/to_experts", "feed_forward/down", "feed_forward/from_experts/grad")),
    (EXCHANGED_BEFORE, ("feed_forward/to_experts/grad",)),
    (EXPERTS_LOAD, tuple(f"{name}{end}" for name in _INSIDE for end in ("", "/grad", "/grad_a", "/grad_b"))),
    (EXPERTS_WEIGHTS, tuple(f"{name}/grad_b" for name in FEED_FORWARD_PRODUCTS)),
]
_ATTENTION = "attention/core/flash"
_CONTEXT: Marks = [(AROUND, (_ATTENTION, f"{_ATTENTION}/grad")), (AROUND_GRADIENTS, (f"{_ATTENTION}/grad",))]
_MARKS: Marks = [(SUMMED, (*SECOND, *_gradients((*FIRST, LOGITS)), TOKENS))]


def _marks_of_sequence(layers: Layers, ops: pd.DataFrame, split: Split) -> Marks:
    """What devices that share the tokens do. Heads but that of every next token take all tokens on each device."""
    logits = (LOGITS,) if layers.head == "next_token" else ()
    head = [name for name in OF_HEADS if ops["op"].eq(name).any()][:1]  # the first stage of a pipeline has none
    gated = {"feed_forward/up": "feed_forward/gated"} if layers.gated else {}  # whose gradients come first
    trained = [name for name in (*FIRST, *logits) if not layers.adapted or name in layers.adapted]
    scattered, gathered = (SCATTERED_DURING, GATHERED_DURING) if split.overlap else (SCATTERED, GATHERED)
    return [
        (scattered, (*SECOND, *_gradients(FIRST))),
        (gathered, (*FIRST, *_gradients(SECOND))),
        (SCATTERED, (TOKENS, *_gradients(logits))),
        (GATHERED, (*head, f"{TOKENS}/grad_table")),
        (GATHERED_BESIDE, _gradients(gated.get(name, name) for name in trained)),
        (SUMMED, () if logits else _gradients([LOGITS])),
    ]


def _marked(ops: pd.DataFrame, marks: Marks) -> pd.Series:
    """The attributes of ops with these marks."""
    marked, names = ops["attributes"].fillna(""), ops["op"].str.removesuffix(AGAIN)
    for mark, ends in marks:
        marked = marked.where(~names.str.endswith(ends), marked + f";{mark}") if ends else marked
    return marked.str.strip(";").replace("", None)
