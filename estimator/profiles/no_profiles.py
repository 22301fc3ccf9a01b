"""Files that profilers write and that are no profiles: what each is, and what to give in its place."""

from __future__ import annotations

import re

KINDS = (  # what the beginning of the file holds, and what it is
    (
        re.compile(rb"^PK\x03\x04|^.{257}ustar", re.DOTALL),
        "this is an archive of files (zip or tar); expected a dump or a folder of dumps, so unpack it first",
    ),
    (
        re.compile(rb'"schema"\s*:\s*"[\d.]+[^"]*".{0,400}?"nodes"\s*:', re.DOTALL),
        "this is an execution trace of PyTorch, a graph of ops without times; expected a profile, so record a Kineto "
        "trace with torch.profiler",
    ),
    (
        re.compile(rb'"rocprofiler-sdk-tool"\s*:'),
        "this is the JSON of rocprofv3, which no reader of rocprof knows; expected a Kineto trace or XPlane, so record "
        "one with torch.profiler, or convert this to an op table (CSV)",
    ),
    (
        re.compile(
            rb'^\s*\[?\s*\{\s*"(cols|byCategory\w*|byProgram\w*|podStats\w+|memoryProfilePerAllocator|deviceType)"\s*:'
        ),
        "this is not a profile, but a page that XProf made of one; expected the xplane.pb from which it was made, so "
        "give that",
    ),
)


def reason(head: bytes) -> str | None:
    """What a file is that is no profile, and what to give in its place; None where it is nothing known."""
    return next((text for pattern, text in KINDS if pattern.search(head)), None)
