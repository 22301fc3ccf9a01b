"""One device's part of a transformer whose products are divided among several: tensor parallelism.

The first product of attention and of the feed-forward layer is divided by columns, the second by rows, so that the sum
of all devices' results is needed behind the second, and in the backward pass behind the gradient of the first (Shoeybi
et al., Megatron-LM, 2019, section 3). Embedding and logits are divided by the vocabulary. Norms, dropouts and sums of
whole activations run on every device.
"""

from __future__ import annotations

import dataclasses

from estimator.core import yaml_files
from estimator.core.errors import EstimatorError
from estimator.core.parallel import SUMMED, Split
from estimator.core.types import Profile
from estimator.profiles.layers import parameters
from estimator.profiles.layers.model import Layers
from estimator.profiles.layers.step import AGAIN, ops_of

OF_PIPELINES = ("data", "zero1", "zero2")
ENDS = (
    "attention/output", "feed_forward/down", "attention/query_key_value/grad_a", "feed_forward/up/grad_a",
    "embeddings/tokens", "head/logits/grad_a",
)  # fmt: skip


def layers_of(profile: Profile) -> Layers:
    """The layers that a profile was made from. Raises EstimatorError for any other profile."""
    if profile.format != "layers":
        raise EstimatorError(
            f"{profile.where}: tensor and pipeline parallelism need to know the model's blocks; expected a workload "
            "given as layers (layers.yaml), not a profile"
        )
    return yaml_files.check(Layers, yaml_files.read_yaml(profile.files[0]))


def shard(layers: Layers, devices: int) -> Layers:
    """The part of each of so many devices. Raises EstimatorError where they do not divide heads or widths."""
    for name, count in (("heads", layers.heads), ("feed_forward_size", layers.feed_forward)):
        if count % devices:
            raise EstimatorError(
                f"tensor={devices}: it does not divide {name} {count}; expected a divisor of both heads "
                f"{layers.heads} and feed_forward_size {layers.feed_forward}"
            )
    part = {
        "head_width": layers.head_size,
        "heads": layers.heads // devices,
        "key_value_heads": max(1, layers.groups // devices),
        "feed_forward_size": layers.feed_forward // devices,
        "vocabulary": -(-layers.vocabulary // devices),
    }
    return layers.model_copy(update=part)


def divided(profile: Profile, split: Split) -> Profile:
    """The profile of one device's part of a step. Ops behind which results are added up are marked.

    Raises EstimatorError where the model is not known as layers, or its blocks or widths cannot be divided so.
    """
    if split.model_devices == 1:
        return profile
    layers = layers_of(profile)
    check_stages(split, layers)
    return divided_layers(profile, layers, split.tensor)


def check_stages(split: Split, layers: Layers) -> None:
    """Raises EstimatorError where the stages of a pipeline cannot share the blocks, or weights are divided too."""
    if layers.blocks % split.pipeline:
        raise EstimatorError(
            f"pipeline={split.pipeline}: it does not divide the {layers.blocks} blocks; expected a divisor"
        )
    if split.pipeline > 1 and split.data not in OF_PIPELINES:
        raise EstimatorError(
            f"{split.data} with pipeline={split.pipeline}: not supported; expected {' or '.join(OF_PIPELINES)}"
        )


def divided_layers(profile: Profile, layers: Layers, devices: int) -> Profile:
    """The profile of one of so many devices that share the products of these layers."""
    if devices == 1:
        return profile
    part = shard(layers, devices)
    size, ops = parameters.total(part), ops_of(part)
    ends = ops["op"].str.removesuffix(AGAIN).str.endswith(ENDS)
    marked = ops["attributes"].fillna("").where(~ends, ops["attributes"].fillna("") + f";{SUMMED}").str.strip(";")
    workload = profile.workload.model_copy(update={"parameters": size.count, "variables": size.tensors})
    return dataclasses.replace(profile, ops=ops.assign(attributes=marked.replace("", None)), workload=workload)
