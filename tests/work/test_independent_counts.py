"""Training steps against PyTorch's and XLA's own counts: FLOP by the shapes of layers, and tensors that are kept."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from estimator.core.types import Profile, Workload
from estimator.profiles import read_profile
from estimator.work import count_work
from estimator.work.kept_tensors import kept_tensors
from tests.conftest import make_ops, unpacked

TOY = Workload(name="toy", precision="fp32")
WITHIN = 0.01  # what a matrix-dominated step may spend on all else, which XLA counts too


def total(*rows: Mapping[str, object]) -> float:
    work, warnings = unpacked(count_work(make_ops(*rows), TOY))
    assert not warnings
    return float(work["flop"].sum())


def text(*shapes: Any) -> str:
    return ";".join("x".join(map(str, shape)) or "1" for shape in shapes)


class TestTorch:
    """Against torch.utils.flop_counter, op by op, as PyTorch dispatches them."""

    @pytest.fixture
    def torch(self) -> Any:
        return pytest.importorskip("torch")

    def counted(self, torch: Any, step: Any) -> tuple[float, float]:
        """FLOP by torch's counter, and by us from the operands that its dispatcher shows."""
        from torch.utils._python_dispatch import TorchDispatchMode
        from torch.utils.flop_counter import FlopCounterMode

        rows: list[dict[str, object]] = []

        class Recorder(TorchDispatchMode):  # type: ignore[misc]
            def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                name = func._schema.name
                if any(part in name for part in ("mm", "convolution", "attention")):
                    rows.append(self.row(name, args))
                return func(*args, **(kwargs or {}))

            def row(self, name: str, args: Any) -> dict[str, object]:
                shapes = text(*(tuple(a.shape) if torch.is_tensor(a) else () for a in args))
                attributes = None
                if "convolution" in name:
                    at = 4 if "backward" in name else 3
                    stride, pads, dilation, transposed, _, groups = args[at : at + 6]
                    attributes = f"strides={text(stride)};pads={text(pads)};dilations={text(dilation)};groups={groups}"
                    attributes += f";transposed={int(transposed)}"
                if "backward" in name and "convolution" in name and not args[-1][0]:
                    attributes = f"{attributes};pass=grad_weights"
                return {"op_type": name, "shapes": shapes, "attributes": attributes}

        with FlopCounterMode(display=False) as counter, Recorder():
            step()
        return counter.get_total_flops(), total(*rows)

    @pytest.mark.parametrize("case", ["dense", "batched", "1d", "2d", "3d", "transposed", "grouped", "depthwise"])
    def test_a_step(self, torch: Any, case: str) -> None:
        nn = torch.nn
        models = {
            "dense": (nn.Sequential(nn.Linear(30, 20), nn.ReLU(), nn.Linear(20, 5)), (8, 30)),
            "batched": (lambda x: x @ x.transpose(-1, -2), (4, 32, 16)),
            "1d": (nn.Conv1d(4, 6, 5, stride=2, padding=2), (2, 4, 50)),
            "2d": (nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 4, 3, stride=2)), (2, 3, 17, 16)),
            "3d": (nn.Conv3d(2, 4, 3, dilation=2, padding=1), (2, 2, 9, 10, 11)),
            "transposed": (nn.ConvTranspose2d(8, 3, 4, stride=2, padding=1), (2, 8, 7, 7)),
            "grouped": (nn.Conv2d(6, 9, 3, groups=3), (2, 6, 11, 11)),
            "depthwise": (nn.Conv2d(6, 6, 3, groups=6, padding=1), (2, 6, 11, 11)),
        }  # fmt: skip
        model, shape = models[case]

        def step() -> None:
            result = model(torch.randn(*shape, requires_grad=True)).sum()
            if case not in ("grouped", "depthwise"):  # whose weights' gradient torch's counter takes for ungrouped
                result.backward()

        theirs, ours = self.counted(torch, step)
        assert ours == theirs > 0

    def test_attention(self, torch: Any) -> None:
        from torch.utils.flop_counter import sdpa_backward_flop_count, sdpa_flop_count

        q, k, v = (torch.randn(2, 4, size, 16, requires_grad=True) for size in (32, 24, 24))

        def step() -> None:
            torch.nn.functional.scaled_dot_product_attention(q, k, v).sum().backward()

        _, ours = self.counted(torch, step)
        assert ours == sdpa_flop_count(q.shape, k.shape, v.shape) + sdpa_backward_flop_count(
            q.shape, q.shape, k.shape, v.shape
        )


class TestAutograd:
    """Bytes that the forward pass keeps, against torch.autograd.graph.saved_tensors_hooks, from a trace of the step."""

    WITHIN = 0.03  # means and deviations of normalizations, and masks of losses, are not counted

    @pytest.fixture
    def torch(self) -> Any:
        return pytest.importorskip("torch")

    def kept(self, torch: Any, model: Any, batch: Any, folder: Path) -> float:
        """By us, from a trace of a training step on the processor."""
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as profiler:
            model(batch).sum().backward()
        profiler.export_chrome_trace(str(folder / "trace.json"))
        profile = read_profile(folder / "trace.json")
        return float(kept_tensors(count_work(profile.ops, TOY).work, TOY).activations.max())

    def saved(self, torch: Any, model: Any, batch: Any, parameters: list[Any]) -> float:
        """By PyTorch, each storage once, without those of parameters."""
        storages: dict[int, Any] = {}

        def pack(tensor: Any) -> Any:
            storages.setdefault(tensor.untyped_storage().data_ptr(), tensor)
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            model(batch).sum()
        own = {each.untyped_storage().data_ptr() for each in parameters}
        return float(sum(each.untyped_storage().nbytes() for at, each in storages.items() if at not in own))

    @pytest.mark.parametrize("case", ["block", "images", "scaled", "weighted", "picked"])
    def test_what_the_forward_pass_keeps(self, torch: Any, case: str, tmp_path: Path) -> None:
        nn = torch.nn
        block = nn.TransformerEncoderLayer(64, 4, 256, dropout=0.1, batch_first=True)
        block.self_attn.dropout = 0.0  # with it a processor has no fused attention
        images = (nn.Conv2d(8, 16, 3), nn.BatchNorm2d(16), nn.ReLU(inplace=True), nn.Conv2d(16, 16, 3), nn.GELU())
        layers = nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 64))
        weight = nn.Parameter(torch.ones(1))

        def scaled(factor: Any) -> Any:
            return lambda x: layers[2](layers[1](layers[0](x)) * factor * 2.0) * 3.0

        model, shape = {
            "block": (block, (8, 32, 64)),
            "images": (nn.Sequential(*images, nn.Flatten(), nn.Dropout(), nn.Linear(2304, 9)), (8, 8, 16, 16)),
            "scaled": (scaled(0.5), (512, 64)),
            "weighted": (scaled(weight), (512, 64)),
            "picked": (lambda x: layers[0](x).gather(1, torch.zeros(len(x), 8, dtype=torch.int64)), (512, 64)),
        }[case]
        own = [*block.parameters(), *layers.parameters(), weight]
        own += [*model.parameters(), *model.buffers()] if isinstance(model, nn.Module) else []
        batch = torch.randn(*shape)
        ours = self.kept(torch, model, batch, tmp_path)
        assert ours == pytest.approx(self.saved(torch, model, batch, own), rel=self.WITHIN)


class TestAllocator:
    """The most that a step holds at once, against what PyTorch's allocator gave it, with and without checkpoints."""

    WITHIN = 0.1  # the result of a block that runs again, and what sums of gradients hold, are not counted
    WITHIN_COMPILED = 0.25  # as the kernels that torch.compile generates are not seen

    @pytest.fixture
    def torch(self) -> Any:
        return pytest.importorskip("torch")

    def network(self, torch: Any, blocks: str) -> Any:
        """A function of the data that runs six blocks, each as its letter says."""
        layers = [torch.nn.TransformerEncoderLayer(64, 4, 256, dropout=0.0, batch_first=True) for _ in blocks]
        run_again = torch.utils.checkpoint.checkpoint

        def run(x: Any) -> Any:
            for letter, layer in zip(blocks, layers, strict=True):
                x = layer(x) if letter == "k" else run_again(layer, x, use_reentrant=letter == "f")
            return x.square().sum()

        return run

    @pytest.mark.parametrize("blocks", ["kkkkkk", "nnnnnn", "ffffff", "nknknk"])  # k: kept, f: a function, n: numbered
    def test_the_most_that_a_step_holds(self, torch: Any, blocks: str, tmp_path: Path) -> None:
        self.check(torch, self.network(torch, blocks), self.WITHIN, tmp_path)

    def test_adapters_of_weights_that_are_not_trained(self, torch: Any, tmp_path: Path) -> None:
        nn = torch.nn
        frozen = [nn.Linear(64, 64).requires_grad_(False) for _ in range(12)]
        adapters = [nn.Sequential(nn.Linear(64, 2, bias=False), nn.Linear(2, 64, bias=False)) for _ in range(6)]

        def network(x: Any) -> Any:
            for first, second, adapter in zip(frozen[::2], frozen[1::2], adapters, strict=True):
                x = second(nn.functional.gelu(first(x) + adapter(x))).tanh()
            return x.square().sum()

        profile = self.check(torch, network, self.WITHIN, tmp_path)
        assert profile.workload.frozen_parameters == 12 * 64 * 64
        assert profile.workload.parameters == 6 * 2 * 64 * 2 + 64**3  # the data has a gradient here

    def test_the_most_that_generated_code_holds(self, torch: Any, tmp_path: Path) -> None:
        compiled = torch.compile(self.network(torch, "kkkkkk"))
        compiled(torch.randn(64, 64, 64, requires_grad=True)).backward()
        self.check(torch, compiled, self.WITHIN_COMPILED, tmp_path)

    def check(self, torch: Any, network: Any, within: float, tmp_path: Path) -> Profile:
        batch = torch.randn(64, 64, 64, requires_grad=True)
        activities = [torch.profiler.ProfilerActivity.CPU]
        with torch.profiler.profile(activities=activities, record_shapes=True, profile_memory=True) as profiler:
            network(batch).backward()
        profiler.export_chrome_trace(str(tmp_path / "trace.json"))
        events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
        memory = [event["args"] for event in events if event["name"] == "[memory]"]
        held = max(each["Total Allocated"] for each in memory) - memory[0]["Total Allocated"] + memory[0]["Bytes"]
        profile = read_profile(tmp_path / "trace.json")
        tensors = kept_tensors(count_work(profile.ops, TOY).work, TOY)
        ours = (tensors.activations + tensors.gradients + tensors.workspace).max() - 4 * batch.numel()  # it was there
        assert ours == pytest.approx(held, rel=within)
        return profile


class TestXla:
    """Against cost_analysis of the compiled step, which counts elementwise work too."""

    @pytest.fixture
    def jax(self) -> Any:
        return pytest.importorskip("jax")

    def theirs(self, jax: Any, function: Any, *shapes: tuple[int, ...]) -> float:
        arguments = [jax.numpy.ones(shape) for shape in shapes]
        analysis = jax.jit(function).lower(*arguments).compile().cost_analysis()
        return float((analysis[0] if isinstance(analysis, list) else analysis)["flops"])

    def test_dense_layers(self, jax: Any) -> None:
        def loss(weights: Any, x: Any) -> Any:
            for w in weights:
                x = jax.nn.relu(x @ w)
            return x.sum()

        layers, batch = [(512, 256), (256, 128)], 64
        theirs = self.theirs(jax, lambda x, *weights: jax.grad(loss)(weights, x), (batch, 512), *layers)
        rows: list[dict[str, object]] = []
        for i, (a, b) in enumerate(layers):
            rows.append(
                {"op_type": "dot", "shapes": text((batch, a), (a, b)), "attributes": "contract_a=1;contract_b=0"}
            )
            rows.append(
                {"op_type": "dot", "shapes": text((batch, a), (batch, b)), "attributes": "contract_a=0;contract_b=0"}
            )
            if i:
                rows.append(
                    {"op_type": "dot", "shapes": text((batch, b), (a, b)), "attributes": "contract_a=1;contract_b=1"}
                )
        assert total(*rows) == pytest.approx(theirs, rel=WITHIN)

    def test_attention_scores(self, jax: Any) -> None:
        theirs = self.theirs(
            jax, lambda q, k: jax.numpy.einsum("btnh,bsnh->bnts", q, k), (4, 64, 8, 32), (4, 48, 8, 32)
        )
        attributes = "contract_a=3;contract_b=3;batch_a=0x2;batch_b=0x2"
        row = {"op_type": "dot", "shapes": "4x64x8x32;4x48x8x32", "attributes": attributes}
        assert total(row) == pytest.approx(theirs, rel=WITHIN)

    @pytest.mark.parametrize("stride", [1, 2, 3])
    @pytest.mark.parametrize("padding", ["SAME", "VALID"])
    @pytest.mark.parametrize(("dilation", "groups"), [(1, 1), (2, 1), (1, 4)])
    def test_convolutions_and_their_gradients(
        self, jax: Any, stride: int, padding: str, dilation: int, groups: int
    ) -> None:
        """Each as the general convolution that JAX lowers it to, before XLA compiles it."""

        def convolve(x: Any, w: Any) -> Any:
            return jax.lax.conv_general_dilated(
                x, w, (stride, stride), padding, rhs_dilation=(dilation, dilation), feature_group_count=groups,
                dimension_numbers=("NHWC", "HWIO", "NHWC"),
            )  # fmt: skip

        x, w = jax.numpy.ones((2, 17, 15, 16)), jax.numpy.ones((3, 3, 16 // groups, 24))
        for function in (convolve, *(jax.grad(lambda *a: convolve(*a).sum(), argnums=n) for n in (0, 1))):
            equations = [e for e in jax.make_jaxpr(function)(x, w).eqns if e.primitive.name == "conv_general_dilated"]
            for equation in equations[-1:]:
                theirs = self.lowered(jax, equation)
                assert total(row_of(equation)) == theirs

    def lowered(self, jax: Any, equation: Any) -> float:
        """XLA's count of one convolution alone."""
        operands = [jax.numpy.ones(v.aval.shape) for v in equation.invars]
        analysis = jax.jit(lambda *a: equation.primitive.bind(*a, **equation.params)).lower(*operands).cost_analysis()
        return float(analysis["flops"])


def row_of(equation: Any) -> dict[str, object]:
    """One conv_general_dilated of a jaxpr as a row of OPS."""
    p = equation.params
    lhs, rhs, out = p["dimension_numbers"]
    labels = "_".join(named(spec, letters) for spec, letters in ((lhs, "bf"), (rhs, "oi")))
    pads = "x".join(f"{low}_{high}" for low, high in p["padding"])
    attributes = {
        "labels": f"{labels}->{named(out, 'bf')}",
        "strides": text(p["window_strides"]), "pads": pads, "lhs_dilations": text(p["lhs_dilation"]),
        "rhs_dilations": text(p["rhs_dilation"]), "groups": p["feature_group_count"],
        "batch_groups": p["batch_group_count"],
    }  # fmt: skip
    return {
        "op_type": "convolution",
        "shapes": text(*(v.aval.shape for v in equation.invars)),
        "output_shapes": text(equation.outvars[0].aval.shape),
        "attributes": ";".join(f"{key}={value}" for key, value in attributes.items()),
    }


def named(spec: Any, letters: str) -> str:
    places = {**dict(zip(spec[:2], letters, strict=True)), **{axis: str(i) for i, axis in enumerate(spec[2:])}}
    return "".join(places[i] for i in range(len(spec)))


def test_one_step_of_a_table() -> None:
    """The figures hold where neither framework is at hand: a dense layer's three products."""
    shapes = ("8x30;30x20", "8x30;8x20", "8x20;30x20")
    work = count_work(
        pd.DataFrame({"op": ["a", "b", "c"], "op_type": "MatMul", "shapes": shapes, "time_s": 1.0}), TOY
    ).work
    assert work["flop"].sum() == 3 * 2 * 8 * 30 * 20
