"""Every shipped workload once: python tests/collect/capture/workload_runs.py FOLDER SCALES

SCALES is a JSON object by name. FOLDER/<name> holds a capture at that scale, for some FOLDER/bf16/<name> one in bf16,
and FOLDER/inference/<name> one of the forward pass alone, and FOLDER/parameters.json the parameters at full size,
on variables that take no memory.
"""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras

from estimator.collect.capture import Plan, capture, script
from estimator.core.types import Mode

NARROW = ("p1b3", "nt3", "p2b1", "p3b2", "p3b3")  # one of each kind of layer
FORWARD = ("nt3", "p3b3")


def main(folder: Path, scales: Mapping[str, float]) -> None:
    for name, scale in scales.items():
        run(name, folder / name, scale, "training")
    for name in NARROW:
        run(name, folder / "bf16" / name, scales[name], "training", "mixed_bfloat16")
    for name in FORWARD:
        run(name, folder / "inference" / name, scales[name], "inference")
    keras.Model.compile = lambda self, **options: None  # an optimizer's variables would take memory
    (folder / "parameters.json").write_text(json.dumps({name: parameters(name) for name in scales}))


def run(name: str, folder: Path, scale: float, mode: Mode, policy: str = "float32") -> None:
    keras.mixed_precision.set_global_policy(policy)
    plan = Plan(steps=1, warmup=1, profiled=1, scale=scale, mode=mode)
    capture(script.locate(name), folder, plan)
    keras.backend.clear_session()


def parameters(name: str) -> dict[str, int]:
    """The parameters of the whole model and of every model inside it."""
    with keras.StatelessScope(initialize_variables=False), script.load_script(script.locate(name)) as own:
        model: Any = own.names["build"]()
    inside = [layer for layer in model.layers if isinstance(layer, keras.Model)]
    return {part.name: int(part.count_params()) for part in (model, *inside)}


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
