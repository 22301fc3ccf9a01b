"""Foreign names of the columns and values of MEASUREMENTS. Patterns match the result of :func:`plain_header`."""

from __future__ import annotations

import re
from decimal import Decimal

from estimator.core.number_formats import read_format
from estimator.core.schema import MEASUREMENTS, PASSES

Names = tuple[tuple[str, str], ...]  # pattern → column

OWN_COLUMNS = frozenset(MEASUREMENTS.names())
SECONDS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), Decimal(1)),
    **dict.fromkeys(("ms", "msec", "msecs", "millisecond", "milliseconds"), Decimal("1e-3")),
    **dict.fromkeys(("us", "usec", "usecs", "µs", "μs", "microsecond", "microseconds"), Decimal("1e-6")),
    **dict.fromkeys(("ns", "nsec", "nsecs", "nanosecond", "nanoseconds"), Decimal("1e-9")),
}
UNIT = re.compile(rf"(.*?)(?:\s*[(\[]\s*({'|'.join(SECONDS)})\s*[)\]]|[\s_]({'|'.join(SECONDS)}))", re.IGNORECASE)
VERSIONS = ("CUDA", "cuBLAS", "cuDNN", "ROCm", "NCCL", "driver")  # columns that belong to the library
ANY: Names = (
    (
        r"precision|((in(put)?|operand|a)_)?(data_?type|dtype|precision)|(in(put)?|operand|a)_type|dtype_(in|a)",
        "precision",
    ),
    (r"device(_name)?|gpu|accelerator", "device"),
    (r"lib(rary)?|backend|framework", "library"),
    (r"((gpu|sm|core|graphics|device)_)?(clocks?|frequency|freq)(_rate)?(_sm)?(_[kmg]?hz)?", "clock"),
    *((rf"{name.lower()}(_?(toolkit_)?version)?", name) for name in VERSIONS),
    (r"pass|direction", "pass"),
    (r"(num_)?(repeats|iterations|iters|reps)", "repeats"),
    (r"pad_kerenels|pad_kernels|padded", "padding"),
    (r"(fwd_)?algo(rithm)?", "kernel"),
    (r"accum(ulate|ulator|ulation)?(_type)?|compute_type", "accumulate"),
    (r"(op|operation)(_class|_type)?", "op_class"),
)
GEMM: Names = (
    (r"m", "m"), (r"n", "n"), (r"k", "k"), (r"batch(_?(count|size))?", "batch"), (r"sparsity", "sparsity"),
    (r"a_t|(trans|transpose|op)_?a|a_transpose", "trans_a"), (r"b_t|(trans|transpose|op)_?b|b_transpose", "trans_b"),
)  # fmt: skip
CONVOLUTION: Names = (
    (r"w|width|input_width", "conv_w"), (r"h|height|input_height", "conv_h"), (r"c|(input_)?channels", "conv_c"),
    (r"n|batch(_?size)?", "conv_n"), (r"k|num_filters|#_of_filters", "conv_k"),
    (r"f_w|s|filter_w(idth)?|s_filter_w", "conv_s"), (r"f_h|r|filter_h(eight)?|r_filter_h", "conv_r"),
    (r"pad_?w", "pad_w"), (r"pad_?h", "pad_h"),
    (r"stride_?w|w_?stride", "stride_w"), (r"stride_?h|h_?stride", "stride_h"),
)  # fmt: skip
RECURRENT: Names = (
    (r"type|cell(_type)?|(recurrent_)?layer_type", "cell"), (r"hidden(_(units|size))?", "hidden"),
    (r"n|batch(_?size)?", "sequences"), (r"t|time_?steps", "timesteps"),
    (r"input(_(width|units|size))?", "input_width"),
)  # fmt: skip
COLLECTIVE: Names = (
    (r"#_of_floats|(num_|n_)?floats|size_#_of_floats", "floats"), (r"bytes(_transferred)?", "bytes"),
    (r"((#|num(ber)?)_(of_)?)?(chips|nodes|ranks|gpus|devices|processors)(_.*)?", "ranks"),
)  # fmt: skip
TABLES: dict[str, tuple[Names, set[str]]] = {  # op class → its names, and the columns that identify it
    "recurrent": (RECURRENT, {"hidden", "timesteps"}),
    "collective": (COLLECTIVE, {"floats"}),
    "convolution": (CONVOLUTION, {"conv_w", "conv_h", "conv_c", "conv_n", "conv_k", "conv_r", "conv_s"}),
    "gemm": (GEMM, {"m", "n", "k"}),
}
TIMES = {  # meaning of a time: of a pass, of the row, its low or high end, or a sum, which is not used
    "forward": r"(fwd|fprop|forward)(_pass)?(_time)?",
    "grad_input": r"((bwd|backward)_(with_|wrt_)?(inputs?|data)|dgrad|grad_input)(_time)?",
    "grad_weights": r"((bwd|backward)_(with_|wrt_)?(params?|weights?|filters?)|wgrad|grad_weights?)(_time)?",
    "backward": r"(bwd|bprop|backward)(_pass)?(_time)?",
    "time_s": r"((kernel|median|mean|avg|average|elapsed|run)_?)?(time|latency|duration|runtime)(_(median|mean|avg))?",
    "time_low_s": r"(min|low|best)_time|(time|latency)_(min|low)",
    "time_high_s": r"(max|high|worst)_time|(time|latency)_(max|high)",
    "total": r"total(_time)?",
}
RATES = {r"t(era)?(fl)?op(s|/s)|tf/s": 1e12, r"g(iga)?(fl)?op(s|/s)|gf/s": 1e9}
UNTIMED = ("", "not supported", "unsupported", "n/a")
_TRANSPOSES = {**dict.fromkeys(("0", "false", "no"), "n"), **dict.fromkeys(("1", "true", "yes"), "t")}
WORDS: dict[str, dict[str, str]] = {  # column → foreign word in lower case → ours
    # int8 always accumulates so
    "accumulate": dict.fromkeys(("int32", "i32", "s32", "torch.int32", "cublas_compute_32i"), ""),
    "precision": {},
    "pass": {},
    "trans_a": _TRANSPOSES,
    "trans_b": _TRANSPOSES,
    "cell": {"rnn": "vanilla"},
    "op_class": {**dict.fromkeys(("matmul", "bmm", "mm"), "gemm"), **dict.fromkeys(("conv", "conv2d"), "convolution")},
    "padding": {**dict.fromkeys(("0", "false", "no"), ""), **dict.fromkeys(("1", "true", "yes"), "padded")},
}


def translate_word(column: str, text: str) -> str:
    """A value of a column in our words; unknown ones in lower case."""
    text = WORDS[column].get(text.lower(), text.lower())
    if column == "pass":
        return next((which for which in PASSES if re.fullmatch(TIMES[which], plain_header(text))), text)
    return read_format(text) if column in ("precision", "accumulate") else text


def plain_header(header: str) -> str:
    """A header in lower case, words joined by one underscore."""
    return re.sub(r"[^\w#/]+", "_", header.lower()).strip("_")


def name_and_unit(header: str) -> tuple[str, Decimal | None]:
    """The plain name in a header, and its unit of time in seconds, if any."""
    match = UNIT.fullmatch(header.strip())
    return (plain_header(match[1]), SECONDS[(match[2] or match[3]).lower()]) if match else (plain_header(header), None)


def column_of(header: str, names: Names = ()) -> str | None:
    """The column of MEASUREMENTS that a header stands for; ``names`` are those of the table's op class."""
    name = plain_header(header)
    column = next((column for pattern, column in (*names, *ANY) if re.fullmatch(pattern, name)), None)
    return name if name in OWN_COLUMNS and column is None else column


def clock_unit(header: str) -> str | None:
    """The unit of frequency in a header, if any."""
    match = re.search(r"_([kmg]?)hz$", plain_header(header))
    return f"{match[1].replace('m', 'M').replace('g', 'G')}Hz" if match else None


def time_of(header: str) -> str | None:
    """The meaning of a header's time, a key of TIMES; None where it is no time."""
    name = name_and_unit(header)[0]
    return next((which for which, pattern in TIMES.items() if re.fullmatch(pattern, name)), None)


def rate_of(header: str) -> float | None:
    """The unit of a header's rate [FLOP/s]; None where it is no rate."""
    return next((scale for pattern, scale in RATES.items() if re.fullmatch(pattern, plain_header(header))), None)


def op_class_of(headers: list[str]) -> str | None:
    """The op class of a table with these headers; None where they match none."""
    for op_class, (names, needed) in TABLES.items():
        if needed <= {column_of(header, names) for header in headers}:
            return op_class
    return None
