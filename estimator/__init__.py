"""Predict how fast a training workload would run on a machine nobody can touch yet; roll it up to a figure of merit.

The public names, each loaded when it is first used::

    from estimator import compare, estimate, figure_of_merit, write_report

    result = estimate("p1b3", "h100", precision="bf16")
    result.step_s.mid                                   # seconds a step, at nominal inputs
    result.ops.nlargest(5, "target_time_s")             # a DataFrame
    compare("p1b3", ["v100", "h100"]).plot().savefig("parts.png")
    write_report(figure_of_merit("study.yaml"), "out")
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing is not imported: Ctrl-C is handled only when this module has been
if TYPE_CHECKING:
    from estimator.api.compare import CompareResult, compare
    from estimator.api.estimate import EstimateResult, estimate
    from estimator.api.merit import FigureOfMeritResult, figure_of_merit, write_report
    from estimator.api.scale import ScaleResult, scale
    from estimator.core.errors import EstimatorError
    from estimator.core.types import DeviceSpec, Interval, Profile, RunPlan, SystemSpec
    from estimator.devices import load_device, load_system
    from estimator.profiles import read_profile

__version__ = "0.1.0"
__all__ = [
    "CompareResult",
    "DeviceSpec",
    "EstimateResult",
    "EstimatorError",
    "FigureOfMeritResult",
    "Interval",
    "Profile",
    "RunPlan",
    "ScaleResult",
    "SystemSpec",
    "__version__",
    "compare",
    "estimate",
    "figure_of_merit",
    "load_device",
    "load_system",
    "read_profile",
    "scale",
    "write_report",
]
_NAMES = {  # by the module that each is loaded from
    "estimator.api.compare": ("CompareResult", "compare"),
    "estimator.api.estimate": ("EstimateResult", "estimate"),
    "estimator.api.merit": ("FigureOfMeritResult", "figure_of_merit", "write_report"),
    "estimator.api.scale": ("ScaleResult", "scale"),
    "estimator.core.errors": ("EstimatorError",),
    "estimator.core.types": ("DeviceSpec", "Interval", "Profile", "RunPlan", "SystemSpec"),
    "estimator.devices": ("load_device", "load_system"),
    "estimator.profiles": ("read_profile",),
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    for module, names in _NAMES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module 'estimator' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__
