"""A tiny training run, profiled: python -m tests.profiles.kineto.torch_training FILE made tests/data/kineto_cpu."""

import gzip
import sys
from importlib import import_module
from pathlib import Path


def profile_training(path: Path) -> float:
    """Write the Kineto trace of two steps; return the FLOP of one step as PyTorch counts them.

    They count matrix products and forward convolutions, but no transposed convolutions.
    """
    torch, profiling = import_module("torch"), import_module("torch.profiler")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    layers = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, stride=2, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
        torch.nn.Conv2d(8, 12, 3, groups=2), torch.nn.ConvTranspose2d(12, 4, 3, stride=2), torch.nn.Flatten(),
        torch.nn.Linear(4 * 13 * 13, 16), torch.nn.Tanh(), torch.nn.Linear(16, 5, bias=False),
    )  # fmt: skip
    optimizer = torch.optim.SGD(layers.parameters(), lr=0.01)
    images, classes = torch.randn(4, 3, 16, 16), torch.randint(0, 5, (4,))
    steps, cpu = profiling.schedule(wait=1, warmup=1, active=2), [profiling.ProfilerActivity.CPU]
    with profiling.profile(activities=cpu, schedule=steps, record_shapes=True, with_flops=True) as profiler:
        for _ in range(4):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(layers(images), classes).backward()
            optimizer.step()
            profiler.step()
    profiler.export_chrome_trace(str(path))
    counted = ("aten::conv2d", "aten::addmm", "aten::mm")
    return float(sum(event.flops for event in profiler.key_averages() if event.key in counted)) / 2


if __name__ == "__main__":
    target = Path(sys.argv[1])
    print(profile_training(target))
    target.with_suffix(".json.gz").write_bytes(gzip.compress(target.read_bytes(), mtime=0))
