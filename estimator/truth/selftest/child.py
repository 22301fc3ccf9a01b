"""The process that runs workloads in a setting: python -m estimator.truth.selftest.child PLAN.json

PLAN.json: ``workloads`` (name → file, scale), ``precision``, and how many ``steps`` of each kind to run. A capture of
each comes to lie beside it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

POLICY = {"bf16": "mixed_bfloat16"}


def main(path: Path) -> None:
    """Capture every workload of a plan, in one process, as frameworks take long to start."""
    plan = json.loads(path.read_text(encoding="utf-8"))
    import keras

    from estimator.profiles.capture import Plan, capture

    if policy := POLICY.get(plan["precision"]):
        keras.mixed_precision.set_global_policy(policy)
    for name, (file, scale) in plan["workloads"].items():
        capture(Path(file), path.with_name(name), Plan(scale=scale, **plan["steps"]))
        keras.backend.clear_session()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
