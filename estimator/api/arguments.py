"""What callers give: names, paths or loaded things → Profile, SystemSpec, RunPlan; faults in one sentence."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ParamSpec, TypeAlias, TypeVar

from estimator.core import library
from estimator.core.errors import EstimatorError, suggestion, within
from estimator.core.files import place
from estimator.core.interval import enough_draws
from estimator.core.parallel import Split, read_split
from estimator.core.types import DeviceSpec, Profile, RunPlan, SystemSpec, whole_number
from estimator.devices.specs.catalogue import DEVICE_FILES, load_device, load_system
from estimator.profiles import read_profile

Place: TypeAlias = str | os.PathLike[str]  # a shipped name, or a path
Device: TypeAlias = DeviceSpec | Place | RunPlan  # a plan names its device
Given = TypeVar("Given")
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
DEFAULTS = {field.name: field.default for field in dataclasses.fields(RunPlan)}


def in_one_sentence(verb: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The verb, which raises EstimatorError for keywords that it does not have, and for missing arguments."""
    signature = inspect.signature(verb)

    @functools.wraps(verb)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            raise EstimatorError(_misuse(verb.__name__, str(error), list(signature.parameters))) from None
        return verb(*args, **kwargs)

    return call


def _misuse(verb: str, problem: str, names: list[str]) -> str:
    """What is wrong with a call, and what is expected."""
    unknown = re.fullmatch(r"got an unexpected keyword argument '(.*)'", problem)
    fault = f"'{unknown[1]}' is no keyword that it has" if unknown else problem
    hint = suggestion(unknown[1], names) if unknown else ""
    return f"{verb}: {fault}; expected {', '.join(names)}.{hint}"


def profile_of(given: Profile | Place) -> Profile:
    """A profile that is given, or read by its name or path. Raises EstimatorError where it cannot be."""
    return given if isinstance(given, Profile) else read_profile(place("profile", given, "a Profile"))


def profiles_of(given: Profile | Place | Iterable[Profile | Place]) -> list[Profile]:
    """One profile or several. Raises EstimatorError where there are none, or one cannot be read."""
    several: list[Profile | Place] = _several("profiles", given, Profile)
    return [profile_of(each) for each in several]


def system_of(given: SystemSpec | Place, nodes: int | None = None) -> SystemSpec:
    """A machine that is given, or read by its name or path; of so many ``nodes`` where that is asked for.

    Raises EstimatorError where it or its device cannot be read, and for nodes that are no whole number of at least 1.
    """
    system = given if isinstance(given, SystemSpec) else load_system(place("system", given, "a SystemSpec"))
    with within(f"system {system.name}"):
        load_device(system.device)
    if nodes is None:
        return system
    count = whole_number(nodes)
    if count is None or count < 1:
        raise EstimatorError(f"nodes is {nodes!r}; expected a whole number of at least 1")
    return system.of_nodes(count)


def plan_of(device: Device, **options: Any) -> RunPlan:
    """How a profile is to run on a device.

    Args:
        device: the target; or a whole plan, beside which no option may be given.
        options: fields of the plan, the source as a device.

    Raises EstimatorError for values that they cannot have, and for a device that bears the name of another one.
    """
    if isinstance(device, RunPlan):
        more = [name for name, value in options.items() if value != DEFAULTS[name]]
        if more:
            raise EstimatorError(f"'{more[0]}' is given beside a RunPlan, which says how to run; put it into the plan")
        return device
    target, source, measured = device, options.pop("source", None), options.pop("measurements", None)
    named = [each for each in (target, source) if isinstance(each, DeviceSpec)]
    plan = RunPlan(
        _device_name("device", target),
        source=None if source is None else _device_name("source", source),
        measurements=None if measured is None else place("measurements", measured),
        given={spec.name: spec for spec in named if not _is_shipped(spec)},
        **options,
    )
    try:
        enough_draws(plan.draws)
    except ValueError as error:
        raise EstimatorError(f"draws {error}") from None
    return plan


def plans_of(devices: Device | Iterable[Device], **options: Any) -> list[RunPlan]:
    """A plan for one device or for each of several; as :func:`plan_of`."""
    several: list[Device] = _several("devices", devices, DeviceSpec, RunPlan)
    return [plan_of(device, **options) for device in several]


def study_given(given: Place | Mapping[str, Any]) -> str | Mapping[str, Any]:
    """A study's name or path, or its content. Raises EstimatorError for anything else."""
    return given if isinstance(given, Mapping) else place("study", given, "a mapping such as its file holds")


def counts_of(given: int | Iterable[int]) -> list[int]:
    """One number of devices or several. Raises EstimatorError for anything but whole numbers."""
    items = _items(given)
    counts = [whole_number(count) for count in ([given] if items is None else items)]
    if None in counts:
        raise EstimatorError(f"devices is {given!r}; expected whole numbers such as [1, 8, 64]")
    return [count for count in counts if count is not None]


def splits_of(given: str | Iterable[str]) -> list[Split]:
    """One way to divide a training or several. Raises EstimatorError for words that are not known."""
    words: list[str] = _several("parallel", given)
    return [read_split(word) for word in words]


def _several(what: str, given: Given | Iterable[Given], *single: type) -> list[Given]:
    """What is given, as a list of at least one; a text, a path and an object of these types are one."""
    several = None if isinstance(given, single) else _items(given)
    if several is None:
        return [given]  # type: ignore[list-item]
    if not several:
        raise EstimatorError(f"{what} is empty; expected at least one")
    return several


def _items(given: object) -> list[Any] | None:
    """The items of what is given; None of a text, of a path, and of what has none, as numpy's array of one number."""
    if isinstance(given, str | bytes | os.PathLike):
        return None
    try:
        items = iter(given)  # type: ignore[call-overload]
    except TypeError:
        return None
    return list(items)


def _device_name(what: str, given: DeviceSpec | Place) -> str:
    return given.name if isinstance(given, DeviceSpec) else place(what, given, "a DeviceSpec")


def _is_shipped(spec: DeviceSpec) -> bool:
    """Whether a device is one of the library.

    Raises EstimatorError where it only bears such a name, as what was measured there would be taken for it.
    """
    if spec.name not in library.names("devices", DEVICE_FILES):
        return False
    shipped = load_device(spec.name)
    differing = [name for name in type(spec).model_fields if getattr(spec, name) != getattr(shipped, name)]
    if differing:
        differ = "differs from that" if len(differing) == 1 else "differ from those"
        raise EstimatorError(
            f"device {spec.name}: its {' and '.join(differing)} {differ} of the catalogue's device of this name; "
            "give yours a name of its own, such as by model_copy(update={'name': 'mine', …})"
        )
    return True
