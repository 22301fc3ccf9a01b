"""What stands beside a captured dump: ``workload.yaml`` and ``provenance.yaml``, as far as the run tells."""

from __future__ import annotations

import datetime
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

from estimator import __version__
from estimator.collect.capture import machine, tensorflow_import
from estimator.collect.capture.plan import Plan
from estimator.collect.capture.scale import MEANING
from estimator.collect.capture.script import Script
from estimator.collect.capture.training import Training
from estimator.collect.capture.watch import Watch
from estimator.core import units
from estimator.core.files import write_text
from estimator.profiles.tfprof import node_text


def workload(own: Script, run: Training, plan: Plan) -> dict[str, Any]:
    """The fields of ``Workload`` that the run tells; what it cannot, as ``workload.yaml`` beside the file states it."""
    tf, keras = tensorflow_import.import_tensorflow(), tensorflow_import.import_tensorflow("keras")
    model = run.model
    weights = [weight.shape for weight in model.trainable_variables] if model is not None else []
    optimizer = getattr(model, "optimizer", None) or own.get("optimizer")
    policy = model.dtype_policy if hasattr(model, "dtype_policy") else keras.mixed_precision.dtype_policy()
    return {
        "name": own.stated.name,
        "title": _title(own, plan),
        "mode": plan.mode if plan.mode != "training" else None,
        "model": _described(model) if model is not None else None,
        "framework": f"Keras {keras.__version__} on TensorFlow {tf.__version__}",
        "precision": node_text.PRECISION.get(tf.as_dtype(policy.compute_dtype).as_datatype_enum, "fp32"),
        "parameters": sum(tf.TensorShape(shape).num_elements() for shape in weights) or None,
        "variables": len(weights) or None,
        "batch_size": run.batch_size,
        "samples": own.whole("SAMPLES") or run.samples,
        "epochs": own.whole("EPOCHS"),
        "steps_rounding": own.stated.steps_rounding if "steps_rounding" in own.stated.model_fields_set else None,
        "optimizer": {"name": type(optimizer).__name__.lower()} if optimizer and plan.mode == "training" else None,
        "source": f"estimator {__version__} capture of {own.path.name}",
        "notes": [_scale(plan, MEANING)] if plan.scale != 1 else None,
    }


def _title(own: Script, plan: Plan) -> str | None:
    """What the workload is, and what of it ran."""
    title = own.stated.title or str(own.get("__doc__") or "").strip().split("\n")[0]
    told = [title, "inference" * (plan.mode == "inference"), _scale(plan, "scale {:g}")]
    return ", ".join(filter(None, told)) or None


def _scale(plan: Plan, words: str) -> str:
    """The words with the scale in them; none at full size."""
    return words.format(plan.scale) if plan.scale != 1 else ""


def _described(model: Any) -> str:
    kinds = Counter(type(layer).__name__ for layer in model.layers)
    return f"{model.name}: {', '.join(f'{count} {kind}' for kind, count in kinds.items())}"


def provenance(own: Script, run: Training, watch: Watch, how: str, plan: Plan) -> dict[str, Any]:
    """The fields of ``Provenance`` of this capture."""
    low, mid, high = (units.show(float(seconds), "s", 4) for seconds in watch.step_s())
    return {
        "device": machine.device(),
        "processor": machine.processor(),
        "threads": machine.threads(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "batch_size": run.batch_size,
        "steps": watch.profiled,
        "wall_step": mid,
        "wall_step_low": low,
        "wall_step_high": high,
        "repeats": watch.timed,
        "warmup": watch.warmup,
        "profiled_step": units.show(watch.profiled_s(), "s", 4),
        "tool_version": f"TensorFlow {tensorflow_import.import_tensorflow().__version__}",
        "source": f"estimator {__version__} capture of {own.path.name}{_scale(plan, ' at scale {:g}')}: {how}",
    }


def write(path: Path, fields: dict[str, Any]) -> None:
    """Write the fields that are known as YAML."""
    known = {name: value for name, value in fields.items() if value is not None}
    write_text(path, yaml.safe_dump(known, sort_keys=False, allow_unicode=True, width=120))
