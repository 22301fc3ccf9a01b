"""What the words in a kernel's name tell of its work, where no rule knows the name.

Libraries of kernels grow faster than any list of their names, but name what they compute: ``fusedQKNormRopeKernel``
normalizes, and ``moe_permute_row_map`` moves. A name is read as words in small letters, its own ones first, then those
of its namespaces and its template's arguments: ``kentry<MoeSortingKernel>`` sorts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from estimator.work.operators.plain_names import plain_name

WORD_ENDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[^A-Za-z0-9]+")  # of camel and snake case
GRADIENT = r"\b(bwd|backward|bprop|dq|dkdv)"
ATTENDS = r"\w*(attn|attention|sdpa)\b|flash(?! ?infer)|f?mha|mla\b|sparse prefill|(paged )?mqa\b|hstu|nsa\b"
MESSAGES = (  # of these and of OPERATORS, the first whose words a name has decides
    ("custom_all_reduce", r"\b(\w+ )?all ?reduce|cross device reduce|quickreduce"),
    ("all_to_all", r"all ?to ?all|\ba2 ?a\b|\b(deep ep|pplx|mori)\b.* (dispatch|combine)"),
    ("all_gather", r"\ball ?gather"),
    ("reduce_scatter", r"\breduce ?scatter"),
    ("collective", r"\b(nccl|rccl|msccl)|nv ?shmem|roc ?shmem|deep ep|user ?buffers|symmetric memory|\bsend ?recv\b"),
    ("collective", r"\bbarrier|\bcollective (permute|broadcast)"),
)
OPERATORS = (
    ("elementwise", r"\b(rope|rotary)|\b(pre|post) ?process|\bprepare|do o\b|\bconvert d(q|kv)|\bepilogue"),
    ("movement", r"meta ?data|\bcu seqlens|\b(indices|slot|offsets|position|alloc|tree|loc)\b"),
    ("movement", r"^(set|store|append|copy|concat|transpose|permute|repack|swap|fill)\b|\band (maybe dequant )?cache"),
    ("attention_grad", rf"\b({ATTENDS}).*{GRADIENT}"),
    ("attention", rf"\b({ATTENDS})"),
    ("recurrent", r"\b(rnn|lstm|gru)\b.* persist|persist ?(rnn|lstm|gru)|persist .*(rnn|lstm|gru)"),
    ("recurrent_cell", r"\b(rnn|lstm|gru)"),
    ("elementwise", r"selective scan|causal conv ?1d|state passing|recurrent|delta rule update|\bwkv"),
    ("cumsum", r"cum ?sum"),
    ("gemm", r"\bchunk .*\b(fwd|bwd|kkt)|recompute w u|solve tril|\bmerge .*inverse"),  # of linear attention
    ("movement", r"(im|vol) ?2 ?col|col ?2 ?(im|vol)|image to column|\b(nchw|nhwc|cnhw) ?\w*(2|to)|repack"),
    ("convolution_grad_weights", r"\b(wgrad|wrw)|\bconv.*(bwd|backward|grad) ?weight"),
    ("convolution_grad_input", r"\bdgrad|\bconv.*(bwd|backward) ?data"),
    ("convolution", r"\bconv(?!er)|convol|winograd|fprop|implicit gemm|\bigemm|mi ?open cv|depthwise"),
    ("resize", r"upsample|interpolat|grid ?sampl|\broi\b"),
    ("elementwise", r"^k?(silu|gelu|swiglu|geglu|act|(de)?quant\w*)\b"),  # also where it serves a product
    ("sum", r"\bfinalize"),
    ("gemm", r"(?<!fb)gemm|gemv|mat ?mul|\b(b|add)?mm\b|scaled mm|flatmm|int4mm|\bgmm|\bfmoe|\blora"),
    (
        "gemm",
        r"fused (moe|experts|mlp)\b|[sb]gmv|cijk|split ?k\b|\btrs[mv]\b|contraction|scatter2scatter|\b[sd][sd]d\b",
    ),
    ("gemm", r"linear\b|\bfc\b|\bdot\b(?! reduce)|weight only"),
    ("softmax", r"soft ?max"),
    ("fused_cross_entropy", r"entropy|\bjsd|\bkl ?div|\bloss|\bctc"),
    ("normalization", r"norm(?!al\b)|\b(ln|bn|lrn)\b|\bbn ?(fw|bw)|welford|gamma beta|fused params|internal gradients"),
    ("normalization", r"^cu compute grad"),
    ("embedding", r"embed|lookup|\bindex|gather|scatter|\btake\b|search ?sorted|grad weight"),
    ("sort", r"sort|radix|one ?sweep|unique"),
    ("reduction", r"reduc|\bsum|\bscan\b|\btop ?k|\barg ?max|\bsampl|multinomial|histogram|\b(max|mean|median|amax)\b"),
    ("reduction", r"\bnrm2|\basum|\bgat(e|ing)\b|\brouting|\bcounts?\b|\bmerge\b|\bsegment|run length|greedy|penalt"),
    ("pooling", r"pool|adaptive average"),
    ("optimizer_update", r"adam|\bsgd|\blamb|optimizer|adagrad"),
    ("elementwise", r"element ?wise|point ?wise|\bunary|\bbinary|activ|silu|[gr]elu|sigmoid|\w*glu\b|swish|\bmul"),
    ("elementwise", r"\badd\b|\bbias|\bscal|quant|\bcast|convert|\bcvt|\bto (fp|bf|float|bfloat)|\bdrop ?out|axpy"),
    ("elementwise", r"rand|philox|\brng|three ?fry|\bdistribution|\bmask|clamp|\bneuron|\bop\w* (\w+ )?tensor"),
    ("elementwise", r"\bfor ?each|\bger\b|\bfus(ed|ion)"),
    ("movement", r"copy|memcpy|transpos|permut|concat|\bcat|\bsplit|\bpad|pack|reshape|cache|swizzle|shuffle"),
    ("movement", r"\brows?\b|\bflip|\breverse|\broll\b|tri[lu]\b|\bfill|zero|memset|\bslice|\balign|layout|reformat"),
    ("movement", r"\btransform|expand|stitch|bucketize|jagged|one ?hot|reorder|transfer|\bset\b|\bselect|compact"),
    ("movement", r"partition|repeat"),
    ("gemm", r"cutlass|tensor ?op|xmma|wgmma|cublas"),  # libraries of products
)


def patterns_of(operators: Iterable[tuple[str, str]]) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Operators with their patterns compiled."""
    return tuple((operator, re.compile(pattern)) for operator, pattern in operators)


OF_MESSAGES, OF_WORK = patterns_of(MESSAGES), patterns_of(OPERATORS)


@lru_cache(maxsize=2**16)
def operator_of_words(kernel: str) -> str | None:
    """The operator that the words in a kernel's name tell; None where they tell none."""
    function, _, arguments = plain_name(kernel).replace("(anonymous namespace)::", "").partition("<")
    function = function.partition("(")[0].removeprefix("void ")
    own_name = function.rpartition("::")[2]
    texts = (words(text) for text in (own_name, function, arguments.partition("(")[0]))
    pairs = ((words(function), OF_MESSAGES), *((text, OF_WORK) for text in texts))
    return next((operator for text, patterns in pairs for operator, pattern in patterns if pattern.search(text)), None)


def words(name: str) -> str:
    """The words in a name, in small letters, with spaces between: ``RMSNormKernel`` has rms norm kernel."""
    return WORD_ENDS.sub(" ", name).strip().lower()
