"""Names that profilers themselves write, and operators by their own name, as in op tables made by hand."""

from estimator.core.operators import operators
from estimator.work.operators.rule import Family, Rule

AMD = "__amd_rocclr_"  # before the names of kernels by which AMD's runtime copies and fills
COMMUNICATOR = r"(nccl|gloo|mpi|ucc|c10d|_?c10d_functional)::?"  # back ends of distributed PyTorch
# what torch.compile runs: a processor's trace books its kernels here, unless inductor's configuration records each
GENERATED = r"(## Call )?Compiled(Function|FxGraph).*|Torch-Compiled Region.*"

PLAIN = (
    Rule("gemm", r"gemm|mm|bmm|addmm|linear|dot_general"),
    Rule("unmodelled", r"unlisted"),  # time that a profiler's shares imply, but no line lists
    # copies that cross the host's link, not the device's memory
    Rule("input", r"(?i:memcpy[ _]?(HtoD|DtoH|H2D|D2H)\b.*)|Copy(HostToDevice|DeviceToHost)"),
    Rule("input", r"enumerate\(DataLoader\)\S*|Iterator::\S+"),
    Rule("memcpy", rf"(?i:memcpy\b.*|memcpy[ _]?(DtoD|PtoP|D2D|P2P)\b.*)|CopyDeviceToDevice|{AMD}copy\w*(\.kd)?"),
    Rule("memset", rf"(?i:memset\b.*)|{AMD}fill\w*(\.kd)?"),
    Rule("reduce_scatter", rf"{COMMUNICATOR}_?reduce_?scatter\w*"),
    Rule("all_reduce", rf"{COMMUNICATOR}_?all_?reduce\w*"),
    Rule("all_gather", rf"{COMMUNICATOR}_?all_?gather\w*"),
    Rule("all_to_all", rf"{COMMUNICATOR}_?all_?to_?all\w*"),
    Rule("collective_broadcast", rf"{COMMUNICATOR}_?broadcast\w*"),
    Rule("collective_reduce", rf"{COMMUNICATOR}_?reduce_?"),
    Rule("collective_gather", rf"{COMMUNICATOR}_?gather_?"),
    Rule("send_recv", rf"{COMMUNICATOR}_?(send|recv)\w*( \d+->\d+)?"),
    Rule("host", r"_?c10d_functional::wait_tensor"),  # for a message that has its own row
    Rule("collective", rf"{COMMUNICATOR}\w+|record_param_comms"),
    Rule("fused_elementwise", GENERATED),
    Rule("host", r"(autograd::engine|torch::autograd|profiler)::.*|Optimizer\..*|(?!Conv\w+_B)\w+Backward\d*|detach_?"),
    Rule("host", r"TorchDynamo Cache Lookup|AOTDispatcher Runtime Wrapper.*|Pregraph bytecode"),
    Rule("host", r"ProfilerStep\W\d+|(cuda|hip)[A-Z]\w+|cu(Launch|Mem|Stream|Event|Ctx|Module|Func)\w+"),
)
FAMILY = Family("profiler", r"", r"", PLAIN)
OWN_NAMES = Family("", r"", r"", tuple(Rule(name, name) for name in operators()))
