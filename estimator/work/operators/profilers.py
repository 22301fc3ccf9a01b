"""Names that profilers themselves write, and operators by their own name, as in op tables made by hand."""

from estimator.core.operators import operators
from estimator.work.operators.rule import Family, Rule

PLAIN = (
    Rule("gemm", r"gemm|mm|bmm|addmm|linear|dot_general"),
    Rule("unmodelled", r"unlisted"),  # time that a profiler's shares imply, but no line lists
    Rule("input", r"(?i:memcpy[ _]?(HtoD|DtoH|H2D|D2H)\b.*)"),  # crosses the host's link, not the device's memory
    Rule("input", r"enumerate\(DataLoader\)\S*|Iterator::\S+"),
    Rule("memcpy", r"(?i:memcpy\b.*|memcpy[ _]?(DtoD|PtoP|D2D|P2P)\b.*)"),
    Rule("memset", r"(?i:memset\b.*)"),
    Rule("collective", r"(nccl|gloo|mpi|ucc|c10d|_?c10d_functional)::?\w+|record_param_comms"),
    Rule("host", r"(autograd::engine|torch::autograd|profiler)::.*|Optimizer\..*|\w+Backward\d*|detach_?"),
    Rule("host", r"ProfilerStep\W\d+|(cuda|hip)[A-Z]\w+|cu(Launch|Mem|Stream|Event|Ctx|Module|Func)\w+"),
)
FAMILY = Family("profiler", r"", r"", PLAIN)
OWN_NAMES = Family("", r"", r"", tuple(Rule(name, name) for name in operators()))
