"""The planes of an XPlane dump, each read once where events are in order: first the host's, then each accelerator's."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from estimator.core.types import Integers
from estimator.profiles import wire
from estimator.profiles.columns import UNKNOWN
from estimator.profiles.events import Batch, tally
from estimator.profiles.steps import NO_WINDOWS
from estimator.profiles.wire import Content, Span
from estimator.profiles.xplane import devices, space
from estimator.profiles.xplane.lines import OutOfOrderError
from estimator.profiles.xplane.plane_events import LineSource, PlaneEvents
from estimator.profiles.xplane.reading import Part, Reading
from estimator.profiles.xplane.space import Plane
from estimator.profiles.xplane.step_timeline import kernel_names


def read_planes(content: Content) -> Reading:
    """Read a dump. Events out of order, which profilers do not write, are read again the slow way.

    A dump whose ops ran outside of its steps is read again as well: these are known only when all of it was read.
    """
    spans = [wire.span(value) for number, value in wire.fields(content, 0, len(content)) if number == space.SPACE_PLANE]
    ordered = True
    try:
        reading = _read_in_order(content, spans, ordered)
    except OutOfOrderError:
        ordered = False
        reading = _read_in_order(content, spans, ordered)
    counted = reading.counted()
    return _read_again(content, spans, ordered, reading, counted) if len(counted) else reading


def _read_again(content: Content, spans: list[Span], ordered: bool, before: Reading, counted: Integers) -> Reading:
    """The reading of the ops of these times alone."""
    reading = _read_in_order(content, spans, ordered, counted)
    for part, whole in zip(reading.parts, before.parts, strict=True):
        if part.counted is counted:
            part.outside_ps = round(whole.total.sum_ps - part.total.sum_ps)
    return reading


def _read_in_order(content: Content, spans: list[Span], ordered: bool, counted: Integers = NO_WINDOWS) -> Reading:
    """Read the planes: first the host's, then each accelerator's, whose steps the host may have marked."""
    planes = [space.read_plane(content, span, whole=not ordered) for span in spans]
    space.set_aside(planes)
    accelerators = [plane for plane in planes if plane.device]
    source = LineSource.of(content, planes, ordered)
    reading = Reading(programs=space.programs(content, planes), tool_version=space.tool_version(content, planes))
    with_streams = [
        plane
        for plane in accelerators
        if any(id(line) in source.op_lines and space.is_stream(plane, line) for line in plane.lines)
    ]
    reading.launched = kernel_names(content, with_streams)
    _read_part(source, [plane for plane in planes if not plane.device], reading, Part(counted=counted))
    for plane in accelerators:
        part = _accelerator(source, plane, reading)
        part.counted = part.counted if len(part.counted) else counted
        _read_part(source, [plane], reading, part)
    return reading


def _read_part(source: LineSource, planes: list[Plane], reading: Reading, part: Part) -> None:
    """Read what ran on one accelerator, or on the host, into the reading."""
    reading.parts.append(part)
    nested: list[Iterator[Batch]] = []
    streams: list[Iterator[Batch]] = []
    for plane in planes:
        events = PlaneEvents(source, plane, reading, part)
        for line in plane.lines if len(events.metadata) else []:
            lanes = streams if space.is_stream(plane, line) else nested
            lanes.append(events.batches(line))
    part.total = tally(nested, streams, part.waits)


def _accelerator(source: LineSource, plane: Plane, reading: Reading) -> Part:
    """The part of an accelerator before its ops are read; what the host marked and launched is known by then."""
    content = source.content
    part = Part(plane.name, devices.recorded_name(content, plane), devices.recorded_numbers(content, plane))
    part.steps = devices.read_steps(content, plane, source.base_ns, source.chunk_bytes, source.ordered)
    if len(part.steps):
        part.counted = np.array([[part.steps[0, 0], part.steps[-1, 1]]])
    elif reading.steps.windows and len(reading.host.launches):
        part.counted = reading.steps.find()
        part.completed = np.full(len(part.counted), UNKNOWN)
    return part
