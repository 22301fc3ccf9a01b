"""The files beside a captured dump: ``workload.yaml`` and ``provenance.yaml``."""

from __future__ import annotations

import datetime
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

from estimator import __version__
from estimator.collect.bench.machine import processor
from estimator.collect.capture import machine, tensorflow_import
from estimator.collect.capture.plan import Plan
from estimator.collect.capture.scale import MEANING
from estimator.collect.capture.script import Script
from estimator.collect.capture.training import Training
from estimator.collect.capture.watch import Watch
from estimator.core import units
from estimator.core.files import write_text
from estimator.profiles.tfprof import node_text


def workload(user_script: Script, run: Training, plan: Plan) -> dict[str, Any]:
    """The fields of ``Workload`` from the run; the others from ``workload.yaml`` beside the file."""
    tf, keras = tensorflow_import.import_tensorflow(), tensorflow_import.import_tensorflow("keras")
    model = run.model
    weights = [weight.shape for weight in model.trainable_variables] if model is not None else []
    optimizer = getattr(model, "optimizer", None) or user_script.get("optimizer")
    policy = model.dtype_policy if hasattr(model, "dtype_policy") else keras.mixed_precision.dtype_policy()
    return {
        "name": user_script.stated.name,
        "title": _title(user_script, plan),
        "mode": plan.mode if plan.mode != "training" else None,
        "model": _describe_model(model) if model is not None else None,
        "framework": f"Keras {keras.__version__} on TensorFlow {tf.__version__}",
        "precision": node_text.PRECISION.get(tf.as_dtype(policy.compute_dtype).as_datatype_enum, "fp32"),
        "parameters": sum(tf.TensorShape(shape).num_elements() for shape in weights) or None,
        "variables": len(weights) or None,
        "batch_size": run.batch_size,
        "samples": user_script.count("SAMPLES") or run.samples,
        "epochs": user_script.count("EPOCHS"),
        "steps_rounding": user_script.stated.steps_rounding
        if "steps_rounding" in user_script.stated.model_fields_set
        else None,
        "optimizer": {"name": type(optimizer).__name__.lower()} if optimizer and plan.mode == "training" else None,
        "source": f"estimator {__version__} capture of {user_script.path.name}",
        "notes": [_scale_text(plan, MEANING)] if plan.scale != 1 else None,
    }


def _title(user_script: Script, plan: Plan) -> str | None:
    """The title of the workload, with mode and scale."""
    title = user_script.stated.title or str(user_script.get("__doc__") or "").strip().split("\n")[0]
    parts = [title, "inference" * (plan.mode == "inference"), _scale_text(plan, "scale {:g}")]
    return ", ".join(filter(None, parts)) or None


def _scale_text(plan: Plan, words: str) -> str:
    """The text with the scale inserted; empty at full size."""
    return words.format(plan.scale) if plan.scale != 1 else ""


def _describe_model(model: Any) -> str:
    kinds = Counter(type(layer).__name__ for layer in model.layers)
    return f"{model.name}: {', '.join(f'{count} {kind}' for kind, count in kinds.items())}"


def provenance(user_script: Script, run: Training, watch: Watch, how: str, plan: Plan) -> dict[str, Any]:
    """The fields of ``Provenance`` of this capture."""
    scale = _scale_text(plan, " at scale {:g}")
    times_s = (*watch.step_s(), watch.profiled_s())
    low, mid, high, profiled = (units.write(float(seconds), "s", 4) for seconds in times_s)
    return {
        "device": machine.device(),
        "processor": processor(),
        "threads": machine.threads(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "batch_size": run.batch_size,
        "steps": watch.profiled,
        "wall_step": mid,
        "wall_step_low": low,
        "wall_step_high": high,
        "repeats": watch.timed,
        "warmup": watch.warmup,
        "profiled_step": profiled,
        "tool_version": f"TensorFlow {tensorflow_import.import_tensorflow().__version__}",
        "source": f"estimator {__version__} capture of {user_script.path.name}{scale}: {how}",
    }


def write(path: Path, fields: dict[str, Any]) -> None:
    """Write the known fields as YAML."""
    known = {name: value for name, value in fields.items() if value is not None}
    write_text(path, yaml.safe_dump(known, sort_keys=False, allow_unicode=True, width=120))
