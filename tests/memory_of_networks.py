"""What an A100 held while it trained networks of timm, against ``estimator memory``: python tests/memory_of_networks.py

The truth is GPUMemNet's table of 644 networks at five batches, by nvidia-smi. Of each family of networks, the one of
middle size is traced on a processor at batch 2, and taken to the batches of the table. The table names no
optimizer. Plain SGD is taken: what does not grow with the batch is two to three times the size of the parameters.

    python tests/memory_of_networks.py FOLDER TABLE --capture    traces what FOLDER lacks (needs torch and timm), 15 min
    python tests/memory_of_networks.py FOLDER TABLE              judges the traces in FOLDER, 5 min
"""

import gzip
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from estimator.core.interval import bounds
from estimator.core.types import RunPlan
from estimator.pipeline.memory import memory
from estimator.profiles import read_profile
from estimator.validation.peak_memory import MIB, fit, predict

CARD = "a100-sxm4-40gb"
TRACED_BATCH = 2
MOST_PARAMETERS, MOST_PIXELS = 150e6, 300  # of the traced networks
FULL_MIB = 36_000  # more is the card's end
LEAST_GROWTH = 1.3  # of what a doubled batch adds over what the last doubling added; less is a run out of memory
KEPT_ARGS = (
    "Input Dims", "Input type", "Input Strides", "Concrete Inputs", "Sequence number", "Fwd thread id", "External id",
)  # fmt: skip
NO_TENSORS = ("allocator", "reserve")  # parts of memory


def usable(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of each network up to the batch at which it ran out of memory, with ``held``, what the card held [B]."""
    rows = table.assign(held=table["max_mem_mib"] * MIB).sort_values("batch")
    return pd.concat([_growing(rows) for _, rows in rows.groupby("model")])


def _growing(rows: pd.DataFrame) -> pd.DataFrame:
    held = rows["max_mem_mib"].to_numpy(dtype=float)
    added = np.diff(held, prepend=np.nan)
    grows = (held < FULL_MIB) & ~(added <= 0) & ~(added < LEAST_GROWTH * np.append(np.nan, added[:-1]))
    return rows[np.logical_and.accumulate(grows)]


def judged(folder: Path, table: pd.DataFrame) -> pd.DataFrame:
    """Each usable row of the traced networks, with our interval and what we count of tensors [B]."""
    traced = {path.name.removesuffix(".json.gz"): path for path in sorted(folder.glob("*.json.gz"))}
    rows = usable(table[table["model"].isin(list(traced))])
    actual = [values for model, of_model in rows.groupby("model", sort=False)
             for values in _estimates(traced[str(model)], of_model["batch"])]  # fmt: skip
    return rows.assign(**dict(zip(("low", "mid", "high", "tensors"), np.transpose(actual), strict=True)))


def _estimates(trace: Path, batches: "pd.Series[int]") -> Iterator[tuple[float, ...]]:
    profile = read_profile(trace)
    traced = profile.workload.model_copy(update={"batch_size": TRACED_BATCH})
    for batch in batches:
        use = memory(replace(profile, workload=traced), RunPlan(CARD, batch=int(batch), draws=400))
        low, mid, high = (float(end) for end in bounds(use.total))
        yield low, mid, high, sum(float(each[0]) for part, each in use.parts.items() if part not in NO_TENSORS)


def without_its_half(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows, with the interval from the numbers that the other half of the families gives."""
    half = rows["family"].rank(method="dense").mod(2)
    parts = []
    for judged_half, of_half in rows.groupby(half):
        fitted = fit(rows[half != judged_half].assign(time_s=rows["held"]))
        ends = zip(("low", "mid", "high"), predict(of_half["tensors"].to_numpy(dtype=float), fitted), strict=True)
        parts.append(of_half.assign(**dict(ends)))
    return pd.concat(parts)


def summary(rows: pd.DataFrame) -> str:
    off = (rows["mid"] / rows["held"] - 1.0).abs()
    holds = rows["held"].between(rows["low"], rows["high"])
    return (
        f"{rows['model'].nunique()} networks, {len(rows)} rows: {off.median():.1%} median, {off.mean():.1%} mean, "
        f"{holds.mean():.0%} of the intervals hold"
    )


def chosen(table: pd.DataFrame) -> Iterator[str]:
    """The network of middle size of each family, of those that a processor traces in seconds."""
    import timm  # type: ignore[import-not-found, unused-ignore]
    import torch  # type: ignore[import-not-found, unused-ignore]

    for _, models in table.groupby("family")["model"]:
        sizes = []
        for name in sorted(models.unique()):
            with torch.device("meta"):
                model = timm.create_model(name)
            parameters = sum(each.numel() for each in model.parameters())
            if parameters < MOST_PARAMETERS and model.pretrained_cfg["input_size"][1] <= MOST_PIXELS:
                sizes.append((parameters, name))
        if sizes:
            yield sorted(sizes)[len(sizes) // 2][1]


def capture(name: str, path: Path) -> None:
    """Trace one training step of a network on the processor."""
    import timm  # type: ignore[import-not-found, unused-ignore]
    import torch  # type: ignore[import-not-found, unused-ignore]

    model = timm.create_model(name).train()
    images = torch.randn(TRACED_BATCH, *model.pretrained_cfg["input_size"])
    labels = torch.zeros(TRACED_BATCH, dtype=torch.long)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def step() -> None:
        optimizer.zero_grad()
        out = model(images)
        loss = torch.nn.functional.cross_entropy(out[0] if isinstance(out, tuple | list) else out, labels)
        loss.backward()
        optimizer.step()

    step()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as profiler:
        step()
    with tempfile.TemporaryDirectory() as folder:
        profiler.export_chrome_trace(f"{folder}/trace.json")
        strip(json.loads(Path(folder, "trace.json").read_text()), path)


def strip(trace: dict[str, Any], path: Path) -> None:
    """Write the ops of a trace with their shapes and order, and no names of machines."""
    named = [event for event in trace["traceEvents"] if event.get("cat") in ("cpu_op", "user_annotation")]
    start = min(event["ts"] for event in named)
    events = [
        {
            **event,
            "ts": round(event["ts"] - start, 1),
            "dur": round(event["dur"], 1),
            "args": {key: value for key, value in event.get("args", {}).items() if key in KEPT_ARGS},
        }
        for event in named
    ]
    document = {"schemaVersion": trace["schemaVersion"], "record_shapes": 1, "traceEvents": events}
    text = json.dumps(document, separators=(",", ":"))
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def main() -> None:
    folder, table = Path(sys.argv[1]), pd.read_csv(sys.argv[2])
    if "--capture" in sys.argv:
        for name in chosen(table):
            path = folder / f"{name}.json.gz"
            if not path.exists():
                print(name, flush=True)
                capture(name, path)
    rows = judged(folder, table)
    off = rows["mid"] / rows["held"] - 1.0
    print(off.groupby(rows["model"]).median().sort_values().round(2).to_string())
    print("shipped numbers:", summary(rows))
    fitted = fit(rows.assign(time_s=rows["held"]))
    print(f"fitted to these: reserve {fitted.reserve.mid / 2**30:.3f} GiB, allocator {fitted.allocator.mid:.3f}")
    print("fitted without their half of the families:", summary(without_its_half(rows)))


if __name__ == "__main__":
    main()
