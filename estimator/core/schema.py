"""The tables that travel between stages, each declared once: validation, documentation and labels follow from it.

Tables are extended, never rewritten: WORK has every column of OPS, PREDICTION every column of WORK.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from estimator.core.number_formats import read_format
from estimator.core.quantities import LONGEST_S
from estimator.core.table import Column, Table
from estimator.core.types import ITEMSIZE, Flags, Floats

if TYPE_CHECKING:
    import pandas as pd

OP_CLASSES = (
    "gemm", "convolution", "attention", "recurrent", "elementwise", "reduction", "pooling", "normalization",
    "embedding", "movement", "collective", "input", "host", "unmodelled",
)  # fmt: skip
MATRIX = ("gemm", "convolution", "attention", "recurrent")  # classes that the matrix units run
STREAMING = (  # classes that memory binds
    "elementwise", "reduction", "pooling", "normalization", "embedding", "movement",
)  # fmt: skip
UNPOOLED = tuple(name for name in STREAMING if name != "pooling")  # compared by the bytes that they move
PHASES = ("forward", "backward", "optimizer", "input", "other", "unknown")
PRECISIONS = tuple(ITEMSIZE)
PASSES = ("forward", "grad_input", "grad_weights", "backward")  # backward: both gradients in one op
METHODS = {  # the ladder of evidence, strongest first, and how each method gives a time
    "measured": "the very shape was timed on the target: calls × that time × its step factor, 1 where unknown; or "
    "the profile was taken on it: the profiled time",
    "interpolated": "the model's time, corrected by the target's own measured ops of like shapes",
    "scaled": "the model's time × the ratio of measured to modelled time of the target's few ops of other shapes, of "
    "products in another 16-bit format, or of those of a device of its architecture",
    "transferred": "the model's time × the source's ratio of the time in the step to the time by itself (one library "
    "timed both, or both run kernels of one vendor)",
    "roofline": "calls × launch latency + a kernel model's time from specifications: tiles, waves, traffic",
    "proportional": "no usable shapes: the source's time × a ratio of the devices' rates, or that of the modelled ops",
    "dispatch": "no op's time: waits for launches, at a pace that is assumed for the target's framework",
    "carried": "the source's own host or input time, scaled or widened for another host",
    "unchanged": "the source's own time: host and input time",
    "none": "no time: the scenario of the host or of input leaves it out",
}
TRANSPOSES = ("n", "t")
MODELLED = ("interpolated", "scaled", "transferred", "roofline")  # those whose times are a model's, and hold launches
COPIES = "data"  # value of ``among``: all copies of the model
# and copies that have the same experts, that share states, and that have the same share of them
AMONG_COPIES = (COPIES, "like_experts", "shards", "like_shards")
LATER_RESULTS = ":1"  # behind the name of an op among ``inputs``: its results behind the first
HOST_CLASSES = ("host", "input")  # op classes that a host runs
SHAPED_BY = {  # columns that the work of an op needs; all others have a default
    "gemm": ("m", "n", "k"),
    "convolution": ("conv_n", "conv_c", "conv_h", "conv_w", "conv_k", "conv_r", "conv_s"),
    "recurrent": ("cell", "hidden", "sequences", "timesteps"),
}


def on_processor(rows: pd.DataFrame) -> Flags:
    """Rows that a processor ran, as far as their placement tells."""
    return np.asarray(rows["placement"].str.contains("cpu", case=False).fillna(False), dtype=bool)


def among_copies(rows: pd.DataFrame) -> Flags:
    """Messages among copies of the model: of WORK those that a profile recorded, of MESSAGES those that are made."""
    return np.asarray(rows["among"].isin(AMONG_COPIES), dtype=bool)


def are_sized(rows: pd.DataFrame, op_class: str) -> pd.Series:
    """Whether each row is an op of this class all of whose dimensions are known."""
    return (rows["op_class"] == op_class) & complete(rows, SHAPED_BY[op_class])


def share_of_time(rows: pd.DataFrame, chosen: pd.Series) -> float:
    """The share of the time of all ops that the chosen ones take; 0 where no op takes any."""
    return float(rows.loc[chosen, "time_s"].sum() / max(rows["time_s"].sum(), np.finfo(float).tiny))


def complete(rows: pd.DataFrame, names: Iterable[str]) -> Flags:
    """Whether each row has a value in all named columns."""
    missing = [np.asarray(rows[name].array.isna()) for name in names]  # several times as fast as on the Series
    return np.asarray(~np.logical_or.reduce(missing), dtype=bool)


GEMM_COLUMNS = (
    Column("batch", "integer", "products in one call", above=0, default=1),
    Column("m", "integer", "rows of C", above=0),
    Column("n", "integer", "columns of C", above=0),
    Column("k", "integer", "the summed dimension", above=0),
    Column("trans_a", "text", "whether A is stored as [k, m] (t) or [m, k] (n)", choices=TRANSPOSES),
    Column("trans_b", "text", "whether B is stored as [n, k] (t) or [k, n] (n)", choices=TRANSPOSES),
)
CONV_COLUMNS = (
    Column("conv_n", "integer", "images in one call", above=0),
    Column("conv_c", "integer", "input channels; given alone, the channels of bias_add and channel sums", above=0),
    Column("conv_h", "integer", "input height", above=0),
    Column("conv_w", "integer", "input width", above=0),
    Column("conv_k", "integer", "output channels", above=0),
    Column("conv_r", "integer", "kernel height", above=0),
    Column("conv_s", "integer", "kernel width", above=0),
    Column("stride_h", "integer", "stride along the height", above=0, default=1),
    Column("stride_w", "integer", "stride along the width", above=0, default=1),
    Column("pad_h", "integer", "padding above and below", minimum=0, default=0),
    Column("pad_w", "integer", "padding left and right", minimum=0, default=0),
    Column("groups", "integer", "groups of channels", above=0, default=1),
    Column("pass", "text", "forward, or the gradient that is computed; backward is both", choices=PASSES),
    Column("conv_d", "integer", "input depth of a 3D convolution", above=0, default=1),
    Column("conv_t", "integer", "kernel depth", above=0, default=1),
    Column("conv_z", "integer", "output depth; from the other sizes where missing", above=0),
    Column(
        "conv_p", "integer", "output height; from the other sizes where missing, as padding may differ by side", above=0
    ),
    Column("conv_q", "integer", "output width; from the other sizes where missing", above=0),
    Column("stride_d", "integer", "stride along the depth", above=0, default=1),
    Column("pad_d", "integer", "padding before and behind", minimum=0, default=0),
    Column("dilation_d", "integer", "distance of the kernel's points along the depth", above=0, default=1),
    Column("dilation_h", "integer", "distance of the kernel's points along the height", above=0, default=1),
    Column("dilation_w", "integer", "distance of the kernel's points along the width", above=0, default=1),
)
GATES = {"vanilla": 1, "lstm": 4, "gru": 3}  # products of the width that each kind of cell makes at a step
RECURRENT_COLUMNS = (
    Column("cell", "text", "kind of recurrent layer", choices=tuple(GATES)),
    Column("hidden", "integer", "width of a recurrent layer", above=0),
    Column("sequences", "integer", "sequences in one call of a recurrent layer", above=0),
    Column("timesteps", "integer", "length of each sequence", above=0),
    Column(
        "input_width",
        "integer",
        "width of the input, where a recurrent layer multiplies it with weights (DeepBench's does not)",
        minimum=0,
        default=0,
    ),
)
OPERATOR = Column("operator", "text", "what the op computes, one of core/operators.csv")
RANKS = (
    Column("ranks", "integer", "devices that take part in a collective", above=0),
    Column("ranks_per_node", "integer", "of these, devices of one node; as many as a node has where missing", above=0),
    Column("groups_at_once", "integer", "collectives at once that share a node's network", above=0, default=1),
)
BYTES_OF_OP = (
    "traffic of a memory-bound op; of a collective the message: what a rank reduces, sends, or has gathered at last"
)
ROW_LENGTH = Column("row_length", "integer", "length of the rows that a softmax or layer norm runs over", above=0)
FORMATS = (*PRECISIONS, "other")

OPS = Table(
    "OPS",
    (
        Column("op", "text", "the op's name in the dump, or its type where rows are aggregates", required=True),
        Column("op_type", "text", "the framework's op type, untouched"),
        Column("kernel", "text", "the kernel that really ran"),
        Column("placement", "text", "device or processor the op ran on"),
        Column("stream", "text", "stream or thread"),
        Column("rank", "integer", "process of a parallel run", minimum=0),
        Column("phase", "text", "part of the step", choices=PHASES),
        Column(
            "block", "integer", "the repeated block of the model that it belongs to; missing outside blocks", minimum=0
        ),
        Column("precision", "text", "number format of the operands", choices=PRECISIONS, read=read_format),
        Column("shapes", "text", "operand shapes, '100x50;50x1'; -1 is an unknown dimension, 1/3 a share of the first"),
        Column("output_shapes", "text", "result shapes, written alike"),
        Column(
            "inputs", "text", "ops and variables whose results it reads, 'a;b', or 'a:1' for later results, if known"
        ),
        Column("attributes", "text", "what shapes do not tell, 'strides=2x2;padding=SAME;layout=NHWC'"),
        Column("calls", "number", "how often the op ran in one step", "1/step", minimum=0, default=1),
        Column(
            "places",
            "text",
            "when its calls that training keeps tensors of ran, as places among all such calls of one pass, '3;17'; "
            "'17f@2' is a product whose weights are not trained, in block 2, which a checkpoint runs again",
        ),
        Column("time_s", "number", "self time of all calls", "s/step", required=True, minimum=0, maximum=LONGEST_S),
        Column("shared_s", "number", "that time, each instant divided among the ops that ran", "s/step", minimum=0),
        Column("time_spread_s", "number", "spread of the time over steps or ranks", "s/step", minimum=0),
        Column("reported_flop", "number", "FLOP as the profiler counted", "FLOP/step", minimum=0),
        Column("reported_bytes", "number", "bytes as the profiler counted (often allocations)", "B/step", minimum=0),
    ),
)
WORK = OPS.extend(
    "WORK",
    Column("op_class", "text", "what kind of work the op is", choices=OP_CLASSES),
    OPERATOR,
    *GEMM_COLUMNS,
    *CONV_COLUMNS,
    *RECURRENT_COLUMNS,
    ROW_LENGTH,
    *RANKS,
    Column(
        "among", "text", "of a recorded collective: copies of the model, or parts of one", choices=("data", "model")
    ),
    Column("from_precision", "text", "number format that a cast reads", choices=FORMATS, read=read_format),
    Column("to_precision", "text", "number format that a cast writes", choices=FORMATS, read=read_format),
    Column("flop", "number", "arithmetic of all calls, a multiply-add counted as 2", "FLOP/step", minimum=0),
    Column("bytes", "number", "compulsory traffic of all calls", "B/step", minimum=0),
    Column("intensity", "number", "flop / bytes", "FLOP/B", minimum=0),
    Column("work_source", "text", "where flop and bytes come from", choices=("shapes", "workload", "reported", "none")),
    Column("growth", "number", "the op's work over what it did in the profile", minimum=0, default=1.0),
)
CACHES = ("cold", "warm")
FLAGS = ("beats_bound", "above_peak")
MEASUREMENTS = Table(
    "MEASUREMENTS",
    (
        Column("device", "text", "the device measured"),
        Column("op_class", "text", "what kind of work was timed", required=True, choices=OP_CLASSES),
        OPERATOR,
        Column("kernel", "text", "the kernel that ran"),
        Column(
            "precision", "text", "number format of the operands", required=True, choices=PRECISIONS, read=read_format
        ),
        *GEMM_COLUMNS,
        *CONV_COLUMNS,
        ROW_LENGTH,
        Column("sparsity", "number", "share of zeros in A of a sparse product", minimum=0, default=0),
        *RECURRENT_COLUMNS,
        *RANKS,
        Column("bytes", "number", BYTES_OF_OP, "B", minimum=0),
        Column("flop", "number", "arithmetic of a memory-bound op", "FLOP", minimum=0),
        Column("time_s", "number", "median time of one call", "s", required=True, above=0, maximum=LONGEST_S),
        Column("time_low_s", "number", "low end of the time", "s", above=0, maximum=LONGEST_S),
        Column("time_high_s", "number", "high end of the time", "s", above=0, maximum=LONGEST_S),
        Column("repeats", "integer", "how often it was timed", above=0),
        Column("library", "text", "library and versions"),
        Column("clock", "text", "clock during the measurement"),
        Column("threads", "integer", "threads of the processor that took part", above=0),
        Column(
            "accumulate",
            "text",
            "number format of the sums, where it is not the operands'",
            choices=PRECISIONS,
            read=read_format,
        ),
        Column("padding", "text", "what the shape was padded to before it was timed"),
        Column("cache", "text", "whether the operands lay in the cache before a call", choices=CACHES),
        Column(
            "flag",
            "text",
            "beats_bound: faster than memory or direct arithmetic allow; above_peak: impossible",
            choices=FLAGS,
        ),
        Column("source", "text", "where the figure was published"),
    ),
)
SHAPES = Table("SHAPES", tuple(replace(c, required=c.name in ("op_class", "precision")) for c in MEASUREMENTS.columns))
TIMED_STEPS = Table(
    "TIMED_STEPS",
    (
        Column("devices", "integer", "devices that trained together", required=True, above=0),
        Column(
            "step_s", "number", "time of one step, the median of many", "s", required=True, minimum=1e-9, maximum=1e9
        ),
        Column("local_batch", "integer", "samples of each copy of the model; as predicted where missing", above=0),
        Column("global_batch", "integer", "samples of all copies, where local_batch is missing", above=0),
        Column("parallel", "text", "how the devices shared it; as predicted where missing, others are left out"),
    ),
)
PREDICTION = WORK.extend(
    "PREDICTION",
    Column("bound", "text", "what limits the op on the target", choices=("compute", "memory", "latency")),
    Column("method", "text", "the evidence the time stands on", choices=tuple(METHODS)),
    Column("resembling", "text", "whose measured products correct the time, where its own were not measured"),
    Column("source_efficiency", "number", "attainable over measured time on the source", minimum=0),
    Column("target_time_s", "number", "time of all calls on the target, at nominal inputs", "s/step", minimum=0),
    Column("low_s", "number", "low end of the interval of target_time_s", "s/step", minimum=0),
    Column("high_s", "number", "high end of the interval of target_time_s", "s/step", minimum=0),
)
HOST = "host"  # the lane of the processor that launches
TIMELINE = Table(
    "TIMELINE",
    (
        Column("op", "integer", "row of OPS that ran; missing where the host waits", minimum=0),
        Column("lane", "text", "stream of a device, or thread of a host", required=True),
        Column("start_s", "number", "start since the host began the step", "s", required=True),
        Column("duration_s", "number", "duration", "s", required=True, minimum=0),
        Column("launch_s", "number", "when the host launched it; missing where it was not launched", "s"),
        Column("after", "integer", "row of TIMELINE that had to end first", minimum=0),
        Column("delay_s", "number", "least time from its launch to its start", "s", minimum=0, default=0),
        Column(
            "lag_s", "number", "part of its wait before its start that nothing else explains", "s", minimum=0, default=0
        ),
    ),
)
REPLAYED = Table(
    "REPLAYED",
    (
        Column("op", "text", "the op that ran; missing where the host waits"),
        Column("row", "integer", "its row in PREDICTION", minimum=0),
        Column("op_class", "text", "what kind of work it is", choices=OP_CLASSES),
        Column("lane", "text", "stream of a device, or thread of a host", required=True),
        Column("start_s", "number", "start since the first event of the step", "s", required=True),
        Column("end_s", "number", "end since then", "s", required=True),
        Column("critical_s", "number", "by how much the step is longer for it", "s", required=True, minimum=0),
    ),
)
MESSAGES = Table(
    "MESSAGES",
    (
        Column("operator", "text", "the collective, one of core/operators.csv", required=True),
        Column("bytes", "number", "the whole message, as of a collective in WORK", "B", required=True, minimum=0),
        Column("ready", "integer", "row of WORK that must have ended; missing: none", minimum=0),
        Column("needed", "integer", "row of WORK that waits for it; missing: the step's end", minimum=0),
        Column(
            "among",
            "text",
            "copies of the model, parts of products or of tokens, stages of blocks, or copies that share experts or "
            "states or have the same of them",
            choices=("tensor", "context", "stages", "experts", *AMONG_COPIES),
        ),
        Column("bucket", "integer", "part of the gradients or weights, as they are made; missing: none", minimum=0),
        Column(
            "holds",
            "text",
            "results of ops, weights, gradients, or those that each rank chose: then bytes are of one rank's",
            choices=("results", "weights", "gradients", "chosen"),
        ),
    ),
)
DEFAULTS = {
    c.name: c.default for c in (*MEASUREMENTS.columns, *PREDICTION.columns, *TIMELINE.columns) if c.default is not None
}


def numbers(rows: pd.DataFrame, name: str) -> Floats:
    """A column of any table as numbers; missing values become its default, or NaN without a default."""
    missing = DEFAULTS.get(name, np.nan)
    if name not in rows:
        return np.full(len(rows), missing)
    return np.asarray(rows[name].to_numpy(dtype=float, na_value=missing))
