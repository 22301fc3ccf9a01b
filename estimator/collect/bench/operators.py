"""Which memory-bound ops there are, and what each reads, writes and computes."""

from __future__ import annotations

KERNELS = {  # memory-bound op: class, arrays read, arrays written, FLOP per element
    "add": ("elementwise", 2, 1, 1),
    "relu": ("elementwise", 1, 1, 1),
    "gelu": ("elementwise", 1, 1, 8),
    "sigmoid": ("elementwise", 1, 1, 4),
    "tanh": ("elementwise", 1, 1, 4),
    "sigmoid_grad": ("elementwise", 2, 1, 3),
    "tanh_grad": ("elementwise", 2, 1, 3),
    "bias_add": ("elementwise", 1, 1, 1),
    "triad": ("elementwise", 2, 1, 2),
    "sgd_momentum": ("elementwise", 3, 2, 4),
    "adam": ("elementwise", 4, 3, 12),
    "sum": ("reduction", 1, 0, 1),
    "channel_sum": ("reduction", 1, 0, 1),
    "bias_grad": ("reduction", 1, 0, 1),
    "softmax": ("normalization", 1, 1, 8),
    "layer_norm": ("normalization", 1, 1, 8),
    "copy": ("movement", 1, 1, 0),
}
POOLS = ("max_pool", "avg_pool")
SUMS = ("channel_sum", "bias_grad")  # of each column of a matrix; TensorFlow has a kernel of its own for gradients
OF_CHANNELS = ("bias_add", *SUMS)
STANDS_FOR = {"elementwise": "add", "reduction": "sum", "normalization": "layer_norm", "movement": "copy"}
ALONG = {"elementwise": "bias_add", "reduction": "channel_sum"}  # the same where channels are told
LAUNCH = "launch"  # an addition of one element
CAST = "cast"  # from fp32 to a narrower precision
WIDTH = 1024  # of the rows that normalizations run over; channels where they are not told
