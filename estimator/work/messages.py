"""Messages among ranks that a profile recorded: their bytes, how many ranks take part, and what they are for.

Copies of a model exchange gradients, or weights, which are as large whatever the number of copies. All other messages
belong to the model, whose parts are on several devices: sums of results (Shoeybi et al., Megatron-LM, 2019), tokens of
experts or embeddings, and what stages of a pipeline pass on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from estimator.core.attributes import attribute_values
from estimator.core.notes import Note
from estimator.core.schema import COPIES, among_copies, numbers, on_processor, share_of_time
from estimator.core.types import Flags, Profile, Workload, itemsizes
from estimator.work import shapes
from estimator.work.tensors import in_phase
from estimator.work.transformed import Transformed

MODEL = "model"  # value of ``among``: parts of a model
REDUCES = ("collective", "all_reduce", "custom_all_reduce", "reduce_scatter", "collective_reduce", "parameter_server")
SPREADS = ("all_gather", "collective_broadcast")


def count_messages(work: pd.DataFrame, parsed_ops: shapes.ParsedOps, workload: Workload) -> pd.DataFrame:
    """WORK with the bytes and ranks of its collectives, and with what they are for."""
    rows = work["op_class"] == "collective"
    if not rows.any():
        return work
    work = work.copy()
    bytes_ = work["reported_bytes"].where(work["reported_bytes"] > 0).fillna(_by_shapes(work, parsed_ops, rows))
    is_open = rows & work["bytes"].isna() & bytes_.notna()
    source = np.where(work["reported_bytes"] > 0, "reported", "shapes")
    work["flop"] = work["flop"].mask(is_open, 0.0)
    work["bytes"] = work["bytes"].mask(is_open, bytes_)
    work["work_source"] = work["work_source"].mask(is_open, pd.Series(source, index=work.index))
    ranks = attribute_values(work, "ranks", r"\d+").where(rows).astype("float64").astype("Int64")
    work["ranks"] = work["ranks"].fillna(ranks)
    work["among"] = work["among"].fillna(_among(work, rows, workload))
    return work


@dataclass(frozen=True)
class RecordedRanks:
    """The ranks of a profiled run: all of them, how many copies of the model these are, and the most that exchange
    messages among parts of one.
    """

    world: int = 1
    copies: int = 1
    parts: int = 1

    @property
    def of_copy(self) -> int:
        """Ranks that hold one copy of the model together."""
        return max(self.world // self.copies, 1)


def recorded_ranks(work: pd.DataFrame, profile: Profile) -> RecordedRanks:
    """The ranks of a profiled run, by the messages in WORK that its devices sent; one where it recorded none.

    Where copies exchange nothing, as in inference, all parts are of one copy.
    """
    of_copies, parts = (int(ranks.max()) if len(ranks) else 1 for ranks in _ranks_by_use(work))
    if of_copies == parts == 1:
        return RecordedRanks()
    world = max(run_ranks(profile) or 1, of_copies, parts)
    return RecordedRanks(world, of_copies if of_copies > 1 else max(world // parts, 1), parts)


def with_parameters(workload: Workload, work: pd.DataFrame) -> Workload:
    """The workload with as many parameters as gradients are reduced among copies, where nothing else tells them."""
    reduced = work[sent_by_devices(work) & among_copies(work) & work["operator"].isin(REDUCES).to_numpy(dtype=bool)]
    elements = float((reduced["bytes"] / itemsizes(reduced["precision"])).sum())
    if workload.parameters or not elements >= 1.0:
        return workload
    return workload.model_copy(update={"parameters": round(elements)})


def states_ranks(ops: pd.DataFrame) -> bool:
    """Whether any row of OPS states how many ranks exchange a message."""
    return "ranks" in ops or bool(ops["attributes"].str.contains("ranks=", regex=False).fillna(False).any())


def run_ranks(profile: Profile) -> int | None:
    """Ranks of the run: as the dump states, else those that it holds, where these are several."""
    return profile.world_size or (profile.ranks if profile.ranks > 1 else None)


def sent_by_devices(work: pd.DataFrame) -> Flags:
    """Recorded messages of several ranks that took a device's time; a host's op only begins one."""
    sent = (work["op_class"] == "collective") & (work["time_s"] > 0) & (work["ranks"] > 1).fillna(False)
    return np.asarray(sent & ~on_processor(work), dtype=bool)


def _ranks_by_use(work: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """The ranks of messages of devices: among copies of the model, and among parts of one."""
    sent = work[sent_by_devices(work)]
    copies = among_copies(sent)
    return sent.loc[copies, "ranks"], sent.loc[~copies, "ranks"]


def among_all(work: pd.DataFrame, ranks: int | None) -> Transformed:
    """WORK in which all ranks of the run exchange the messages of which nothing tells who does.

    A kernel that sends has another rank: where the run states one alone, such as that of its process, nothing tells.
    """
    rows = (work["op_class"] == "collective") & work["ranks"].isna()
    if ranks == 1:
        rows &= on_processor(work) | ~(work["time_s"] > 0)
    if not ranks or not rows.any():
        return Transformed(work, changed=False)
    share = share_of_time(work, rows)
    text = (
        f"the ranks that exchange {int(rows.sum())} kind(s) of messages are not known: all {ranks} of the run are taken"
    )
    known = work.assign(ranks=work["ranks"].mask(rows, ranks))
    return Transformed(known, changed=False, notes=(Note("ranks-assumed", text, share=share),))


def with_batch(work: pd.DataFrame, factor: float) -> pd.DataFrame:
    """WORK at another batch: messages among parts of a model hold activations, which go with it."""
    parts = work["among"].eq(MODEL).fillna(False) & work["bytes"].notna()
    return work.assign(bytes=work["bytes"].mask(parts, work["bytes"] * factor)) if parts.any() else work


def _by_shapes(work: pd.DataFrame, parsed_ops: shapes.ParsedOps, rows: pd.Series) -> pd.Series:
    """Bytes of all calls by the operands and results: the larger of both."""
    elements = parsed_ops.spread(parsed_ops.read_each(rows, _elements, "message"), lambda each: each)
    return pd.Series(elements * itemsizes(work["precision"]) * numbers(work, "calls"), index=work.index)


def _elements(op: shapes.Op) -> float | None:
    """Elements of a message; None where no operand is known. Of an engine's kernel only the first operand is sent."""
    operands = [shape for shape in op.operands if shape]
    given = operands[:1] if op.operator.operator == "custom_all_reduce" else operands
    sizes = [sum(float(np.prod(shape)) for shape in tensors if shape) for tensors in (given, op.outputs)]
    return max(sizes) or None


def _among(work: pd.DataFrame, rows: pd.Series, workload: Workload) -> pd.Series:
    """For each collective, whether copies of the model exchange it, or parts of one; NA for other rows.

    In training these are of copies: what is reduced outside the forward pass, unless a message of the same size and
    group is in the forward pass too, as sums of results are; and what such a group spreads: buffers, or weights, where
    nothing is reduced in its forward pass.
    """
    operator, forward = work["operator"], in_phase(work, "forward")
    group = attribute_values(work, "group").fillna("") + " of " + work["ranks"].astype("string").fillna("")
    size = (work["bytes"] / work["calls"].where(work["calls"] > 0)).round().astype("string").fillna("")
    message = group + ": " + size
    reduces = rows & operator.isin(REDUCES)
    gradient = reduces & ~forward & ~message.isin(message[reduces & forward])
    copies = set(group[gradient])
    buffer = rows & (operator == "collective_broadcast") & group.isin(copies)
    weights = rows & operator.isin(SPREADS) & group.isin(copies - set(group[reduces & forward]))
    by_copies = (gradient | buffer | weights) & (workload.mode == "training")
    return pd.Series(np.where(by_copies, COPIES, MODEL), index=work.index, dtype="string[python]").where(rows)
