"""Reader of ``layers.yaml``: a workload given as layers, of which nothing ran → Profile without times."""

from __future__ import annotations

import re

from estimator.core import yaml_files
from estimator.core.errors import EstimatorError
from estimator.core.types import Optimizer, Profile, Workload
from estimator.profiles.dump import Dump, decode_head
from estimator.profiles.layers import parameters
from estimator.profiles.layers.model import Layers, LayersProfile

__all__ = ["Layers", "profile_of", "read", "recognises"]

FORMAT = "layers.yaml (a transformer given as layers)"
VIEWS = True  # so that several are refused: they are no ranks of one run
FRAMEWORK = "PyTorch"  # whose names the ops have, unless the workload names another
KEYS = re.compile(r"^(kind|blocks|hidden_size|heads|vocabulary|sequence_length)\s*:", re.MULTILINE)
LEAST_KEYS = 3  # of those that every such file has


def recognises(head: bytes) -> bool:
    """Whether a file has the keys that every description of layers has."""
    return len(set(KEYS.findall(decode_head(head) or ""))) >= LEAST_KEYS


def read(dumps: list[Dump], workload: Workload) -> Profile:
    """Read one ``layers.yaml``. Raises EstimatorError that lists every fault by line."""
    if len(dumps) > 1:
        names = ", ".join(str(dump.path) for dump in dumps)
        raise EstimatorError(f"expected one description of layers, found {len(dumps)} ({names}); name one of them")
    if workload.mode != "training":
        raise EstimatorError(
            f"{dumps[0].path}: layers are those of a training, and the workload.yaml beside them states 'mode: "
            f"{workload.mode}'; delete it, and ask for the forward pass with --mode inference, or 'mode' of a study"
        )
    document = yaml_files.read_yaml(dumps[0].path)
    layers = yaml_files.check(Layers, document)
    counts = {
        "trained": (parameters.total(layers).count, workload.parameters),
        "frozen": (parameters.frozen(layers), workload.frozen_parameters),
    }
    for kind, (count, stated) in counts.items():
        if stated not in (None, count):
            raise EstimatorError(
                f"{dumps[0].path}: the layers have {count} {kind} parameters and the workload.yaml beside them states "
                f"{stated}; mend one of them"
            )
    return profile_of(layers, workload)


def profile_of(layers: Layers, workload: Workload) -> Profile:
    """The profile of one step of these layers; the workload's batch, where it states one, counts."""
    from estimator.profiles.layers.step import ops_of  # only where there are layers: start-up

    size = parameters.total(layers)
    facts = {
        "framework": workload.framework or FRAMEWORK,
        "batch_size": workload.batch_size or layers.micro_batch,
        "precision": layers.precision,
        "parameters": size.count,
        "frozen_parameters": parameters.frozen(layers) or None,
        "variables": size.tensors,
        "optimizer": Optimizer(name=layers.optimizer),
        "mode": "training",
    }
    workload = workload.model_copy(update=facts)
    return LayersProfile(ops=ops_of(layers), workload=workload, device=None, format="layers", layers=layers)
