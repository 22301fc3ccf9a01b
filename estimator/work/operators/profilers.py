"""Names that profilers themselves write, and operators by their own name, as in op tables made by hand."""

from estimator.core.operators import operators
from estimator.work.operators.rule import Family, Rule

AMD = "__amd_rocclr_"  # before the names of kernels by which AMD's runtime copies and fills

PLAIN = (
    Rule("gemm", r"gemm|mm|bmm|addmm|linear|dot_general"),
    Rule("unmodelled", r"unlisted"),  # time that a profiler's shares imply, but no line lists
    # copies that cross the host's link, not the device's memory
    Rule("input", r"(?i:memcpy[ _]?(HtoD|DtoH|H2D|D2H)\b.*)|Copy(HostToDevice|DeviceToHost)"),
    Rule("input", r"enumerate\(DataLoader\)\S*|Iterator::\S+"),
    Rule("memcpy", rf"(?i:memcpy\b.*|memcpy[ _]?(DtoD|PtoP|D2D|P2P)\b.*)|CopyDeviceToDevice|{AMD}copy\w*(\.kd)?"),
    Rule("memset", rf"(?i:memset\b.*)|{AMD}fill\w*(\.kd)?"),
    Rule("collective", r"(nccl|gloo|mpi|ucc|c10d|_?c10d_functional)::?\w+|record_param_comms"),
    Rule("host", r"(autograd::engine|torch::autograd|profiler)::.*|Optimizer\..*|\w+Backward\d*|detach_?"),
    Rule("host", r"ProfilerStep\W\d+|(cuda|hip)[A-Z]\w+|cu(Launch|Mem|Stream|Event|Ctx|Module|Func)\w+"),
)
FAMILY = Family("profiler", r"", r"", PLAIN)
OWN_NAMES = Family("", r"", r"", tuple(Rule(name, name) for name in operators()))
