"""What the words in a kernel's name tell of its work, where no rule knows the name.

Libraries of kernels grow faster than any list of their names, but name what they compute: ``fusedQKNormRopeKernel``
normalizes, and ``moe_permute_row_map`` moves. A name is read as words in small letters, its own ones first, then those
of its namespaces and its template's arguments: ``kentry<MoeSortingKernel>`` sorts.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from estimator.work.operators.plain_names import plain_name

WORD_ENDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[^A-Za-z0-9]+")  # of camel and snake case
FUSION = re.compile(r"triton_[a-z]+_fused_|(loop|input|wrapped)_")  # by compilers, named after what they fuse
GRADIENT = r"\b(bwd|backward|bprop|dq|dkdv)"
ATTENDS = r"\w*(attn|attention|sdpa)\b|flash(?! ?infer)|f?mha|mla\b|sparse prefill|(paged )?mqa\b|hstu|gqa\b|nsa\b"
VERBS = "set|store|get|load|save|write|append|copy|concat|transpose|permute|repack|pack|swap|fill|build|create|transfer"
MESSAGES = (  # of these, and of OPERATORS, the first whose words a name has decides
    ("custom_all_reduce", r"\b(\w+ )?all ?reduce|cross device reduce|quickreduce"),
    ("all_to_all", r"all ?to ?all|\ba2 ?a\b|\b(deep ep|pplx|mori)\b.* (dispatch|combine)|\bep (dispatch|combine)"),
    ("all_gather", r"\ball ?gather"),
    ("reduce_scatter", r"\breduce ?scatter"),
    ("collective", r"\b(nccl|rccl|msccl)|nv ?shmem|roc ?shmem|deep ep|user ?buffers|symmetric memory|\bsend ?recv\b"),
    ("collective", r"\bbarrier|\bcollective (permute|broadcast)"),
)
OPERATORS = (
    ("elementwise", r"\b(m?rope|rotary)|\b(pre|post) ?process|\bprepare|\bpre compute\b|prologue|\bepilogue"),
    ("elementwise", r"do o\b|\bconvert d(q|kv)"),  # of attention's gradient
    ("elementwise", r"^(per (token|tensor|group|block)|k?(silu|gelu|swiglu|geglu|act|(de)?quant\w*))\b"),  # of products
    ("split_k_sum", r"(reduc|combine).* split ?k\b|split ?k reduc"),
    ("reduction", r"\b(merge(?! \d)|combine)\b|\b(mla|attn|attention)( v\d)? reduc"),
    ("movement", rf"^(fused )?({VERBS}|interleave|track)\b|\bappend\b|\band (maybe dequant )?cache|\bstore\b"),
    ("movement", r"\bmeta ?(data)?\b|\bcu seqlens|\b(indices|slots?|offsets|positions?|alloc|tree|locs?|args|hash)\b"),
    ("movement", r"\b(page|block) table|align block|count and sort|reorder|\bschedule\b|\b(token|request) ids\b"),
    ("attention_grad", rf"\b({ATTENDS}).*{GRADIENT}"),
    ("attention", rf"\b({ATTENDS})|with (\w+ )?kv cache"),
    ("recurrent", r"\b(rnn|lstm|gru)\b.* persist|persist ?(rnn|lstm|gru)|persist .*(rnn|lstm|gru)"),
    ("recurrent_cell", r"\b(rnn|lstm|gru)"),
    ("elementwise", r"selective scan|state passing|recurrent|delta rule update|\bwkv"),
    ("elementwise", r"(causal|short|kv) conv|\bconv (1d )?(windows?|state|update|finish|gating)"),
    ("cumsum", r"cum ?sum"),
    ("gemm", r"\bchunk .*\b(fwd|bwd|kkt)|recompute w u|solve tril|\bmerge .*inverse"),  # of linear attention
    ("movement", r"(im|vol) ?2 ?col|col ?2 ?(im|vol)|image to column|\b(nchw|nhwc|cnhw) ?\w*(2|to)|repack"),
    ("convolution_grad_weights", r"\b(wgrad|wrw)|\bconv.*(bwd|backward|grad) ?weight"),
    ("convolution_grad_input", r"\bdgrad|\bconv.*(bwd|backward) ?data"),
    ("convolution", r"\bconv(?!er|rot)|convol|winograd|fprop|implicit gemm|\bigemm|mi ?open cv|depthwise"),
    ("resize", r"upsample|interpolat|grid ?sampl|\broi\b"),
    ("sum", r"\bfinalize"),
    ("gemm", r"(?<!fb)gemm(?!a)|gemv|mat ?mul|\b(b|add)?mm\b|scaled mm|flatmm|int4mm|\bgmm|\bfmoe|\blora"),
    ("gemm", r"fused (moe|experts|mlp)\b(?! dispatch)|\bproj|[sb]gmv|cijk|split ?k\b|\btrs[mv]\b|contraction"),
    ("gemm", r"scatter2scatter|\b[sd][sd]d\b|linear kernel|\bfc\b|\bdot\b(?! reduce)|weight only"),
    ("softmax", r"(soft|sparse) ?max"),
    ("fused_cross_entropy", r"entropy|\bce\b|\bjsd|\bkl ?div|\bloss|\bctc"),
    ("normalization", r"norm(?!al\b)|\b(ln|bn|lrn)\b|\bbn ?(fw|bw)|welford|gamma beta|fused params|internal gradients"),
    ("normalization", r"^cu compute grad"),
    ("embedding", r"embed|lookup|\bindex|gather|scatter|\btake\b|search ?sorted|grad weight"),
    ("sort", r"sort|radix|one ?sweep|unique"),
    ("reduction", r"reduc|\bsum|\bscan\b|\btop ?k|\barg ?max|\b(re)?sampl(e|ing)\b|multinomial|histogram|\bamax\b"),
    ("reduction", r"\b(max|mean|median)\b|moment|\bstat(s|istics)\b|\bnrm2|\basum|\bcounts?\b|run length|\bsegment"),
    ("reduction", r"\bgat(e|ing)\b|\brout(e|er|ing)\b|\blse\b|penalt"),
    ("pooling", r"pool|adaptive average"),
    ("optimizer_update", r"\badam|\bsgd|\blamb|optimizer|adagrad"),
    ("elementwise", r"element ?wise|point ?wise|\b(un|bin)ary|activat|silu|[gr]elu|sigmoid|tanh|\w*glu\b|swish|\bmul"),
    ("elementwise", r"\badd\b|\bbias|\bscal|quant|\bcast|convert|\bcvt|\bto (fp|bf|float|bfloat)|\bdrop ?out|axpy"),
    ("elementwise", r"rand|philox|\brng|three ?fry|\bdistribution|\bmask|clamp|\bneuron|\bop\w* (\w+ )?tensor"),
    ("elementwise", r"soft ?(cap|plus)|hadamard|\bfor ?each|\bparallel for\b|\blogits|\bger\b|\bfus(ed|ion)"),
    ("movement", r"copy|memcpy|transpos|permut|concat|\bcat|\bsplit|\bpad|pack|reshape|cache|swizzle|shuffle"),
    ("movement", r"\brows?\b|\bflip|\breverse|\broll\b|tri[lu]\b|\bfill|zero|memset|\bslice|\balign|layout|reformat"),
    ("movement", r"\btransform|expand|stitch|bucketize|jagged|one ?hot|transfer|\bset\b|\bselect|compact"),
    ("movement", r"partition|repeat"),
    ("gemm", r"cutlass|tensor ?op|xmma|wgmma|cublas"),  # libraries of products
)


@lru_cache(maxsize=2**16)
def operator_of_words(kernel: str) -> str | None:
    """The operator that the words in a kernel's name tell; None where they tell none."""
    function, arguments = parts(kernel)
    texts = (words(text) for text in (function.rpartition("::")[2], function, arguments))
    return next((operator for text in texts if (operator := _first(OPERATORS, text))), None)


@lru_cache(maxsize=2**16)
def operator_of_message(kernel: str) -> str | None:
    """The operator of a kernel that sends messages, whatever else it does; None where its name tells of none.

    A generated kernel sends none: ``triton_poi_fused_all_reduce_lift_fresh_0`` fills what another one sends.
    """
    return None if FUSION.match(kernel) else _first(MESSAGES, words(parts(kernel)[0]))


def _first(operators: tuple[tuple[str, str], ...], text: str) -> str | None:
    """The first operator whose pattern is in a text; None where none is."""
    return next((operator for operator, pattern in operators if _compiled(pattern).search(text)), None)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """A pattern, compiled when a kernel first needs it: most profiles have none."""
    return re.compile(pattern)


def parts(kernel: str) -> tuple[str, str]:
    """A kernel's function with its namespaces, and its template's arguments."""
    function, _, arguments = plain_name(kernel).replace("(anonymous namespace)::", "").partition("<")
    return function.partition("(")[0].removeprefix("void "), arguments.partition("(")[0]


def words(name: str) -> str:
    """The words in a name, in small letters, with spaces between: ``RMSNormKernel`` has rms norm kernel."""
    return WORD_ENDS.sub(" ", name).strip().lower()
