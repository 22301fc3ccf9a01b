"""Predict how fast a training workload would run on a machine nobody can touch yet; roll it up to a figure of merit.

The public verbs, loaded when they are first used::

    profile = read_profile("p1b3")
    estimate(profile, RunPlan(target="v100")).step.total[0]      # seconds per step, at nominal inputs
    result = figure_of_merit("study.yaml")
    write_report(result, Path("out"))
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"
_VERBS = {
    "read_profile": ("estimator.profiles", "read_profile"),
    "load_device": ("estimator.devices", "load_device"),
    "load_system": ("estimator.devices", "load_system"),
    "RunPlan": ("estimator.core.types", "RunPlan"),
    "estimate": ("estimator.pipeline", "estimate"),
    "figure_of_merit": ("estimator.studies.run", "run_study"),
    "write_report": ("estimator.reports.html", "write_report"),
}
__all__ = ["__version__", *_VERBS]


def __getattr__(name: str) -> Any:
    if name not in _VERBS:
        raise AttributeError(f"module 'estimator' has no attribute '{name}'")
    module, verb = _VERBS[name]
    return getattr(import_module(module), verb)


def __dir__() -> list[str]:
    return __all__
