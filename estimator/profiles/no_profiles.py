"""Files that profilers write and that are no profiles: what each is, and what to give in its place."""

from __future__ import annotations

import re

from estimator.profiles.dump import decode_head
from estimator.profiles.tfprof.text import TABLE_OF_AVERAGES

EXECUTION_TRACE = (
    "this is an execution trace of PyTorch, a graph of ops without times; expected a profile, so record a Kineto trace "
    "with torch.profiler"
)
ROCPROF = (
    "which no reader of rocprof knows; expected a Kineto trace or XPlane, so record one with torch.profiler, or "
    "convert this to an op table (CSV)"
)
MEMORY = (
    "this is a snapshot of PyTorch's memory, not a profile; expected ops with their times, so record a Kineto trace "
    "with torch.profiler"
)
AVERAGES = (
    "this is a table of averages of PyTorch's profiler, with names cut short and no steps; expected a trace, so write "
    "one with export_chrome_trace"
)
LEGACY = (
    "this is a trace of PyTorch's profiler before Kineto, without operands and kernels; expected a Kineto trace, so "
    "record one with torch.profiler"
)
PAGE = (
    "this is not a profile, but a page that XProf made of one; expected the xplane.pb from which it was made, so give "
    "that"
)
OWN = "this is {} for {}; expected a profiler dump or a shipped profile ('estimator ingest --list' lists them)"
ENCODING = "expected text in UTF-8, found other bytes; save it as UTF-8"
UTF_16, OP_TABLE = (b"\xff\xfe", b"\xfe\xff"), re.compile(rb"\W{0,4}op(_type)?\W*,")
PAGE_KEYS = (
    rb"byCategory|byProgram|byCategoryExcludeIdle|podStatsSequence|podStatsMap|memoryProfilePerAllocator|peakHeapMib|"
    rb"heapSizes|maxHeapBySize|logicalBufferSpans"
)
KINDS = (  # what the beginning of the file holds, and what it is
    (re.compile(rb'"schema"\s*:\s*"[\d.]+[^"]*".{0,400}?"nodes"\s*:', re.DOTALL), EXECUTION_TRACE),
    (
        re.compile(rb"^PK\x03\x04|^.{257}ustar", re.DOTALL),
        "this is an archive of files (zip or tar); expected a dump or a folder of dumps, so unpack it first",
    ),
    (
        re.compile(rb'^\s*\{.{0,400}?"nodes"\s*:\s*\[.{0,2000}?"(ctrl_deps|fw_parent|rf_id)"', re.DOTALL),
        EXECUTION_TRACE,
    ),
    (
        re.compile(rb"^(\xfd7zXZ\x00|BZh\d1AY|\x28\xb5\x2f\xfd)"),
        "this is compressed by xz, bzip2 or zstd; expected a plain file or gzip, so unpack it first",
    ),
    (
        re.compile(rb"^version https://git-lfs"),
        "this is a pointer of Git LFS to a file that was not downloaded; expected that file, so run 'git lfs pull'",
    ),
    (
        re.compile(rb"^SQLite format 3"),
        "this is a database (SQLite), as Nsight Systems and rocprof write; expected a Kineto trace or XPlane, so "
        "record one with torch.profiler, or convert this to an op table (CSV)",
    ),
    (re.compile(rb'"rocprofiler-sdk-tool"\s*:'), f"this is the JSON of rocprofv3, {ROCPROF}"),
    (
        re.compile(rb'^"?Kind"?,"?Agent_Id|^"?Name"?,"?Calls"?,"?TotalDuration|^"?Index"?,"?KernelName'),
        f"this is a table of rocprof, {ROCPROF}",
    ),
    (re.compile(rb"(?i)rocprof(v\d|iler)"), f"this is a file of rocprof, {ROCPROF}"),
    (TABLE_OF_AVERAGES, AVERAGES),
    (re.compile(rb'"pid"\s*:\s*"(CPU|CUDA) functions"'), LEGACY),
    (re.compile(rb'^\s*\{\s*"(segments|device_traces|external_annotations)"\s*:'), MEMORY),
    (re.compile(rb'^\s*[\[{].{0,4000}?"(%b)"\s*:' % PAGE_KEYS, re.DOTALL), PAGE),
    (re.compile(rb"(?m)^(units_of_work|figure_of_merit):"), OWN.format("a study", "'estimator fom' or 'report'")),
    (re.compile(rb"(?m)^(peak|memory_bandwidth):"), OWN.format("a device", "--to or --on")),
    (
        re.compile(rb'^\s*\{\s*"title".{0,400}?"estimator_version"\s*:', re.DOTALL),
        OWN.format("a result", "people and programs to read"),
    ),
    (re.compile(rb"(?i)^\s*<(!doctype|html)"), "this is a page for a browser; expected a profiler dump, so give that"),
    (re.compile(rb"^%PDF-"), "this is a PDF; expected a profiler dump, so give that"),
    (re.compile(rb'^\s*\[?\s*\{\s*("p"\s*:\s*\{[^}]*\}\s*,)?\s*"(cols|rows)"\s*:', re.DOTALL), PAGE),
)


def reason(head: bytes) -> str | None:
    """What a file is that is no profile, and what to give in its place; None where it is nothing known."""
    if head.startswith(UTF_16) or (OP_TABLE.match(head) and decode_head(head) is None):
        return ENCODING
    return next((text for pattern, text in KINDS if pattern.search(head)), None)
