"""A step profiled at one batch size → the same step at another batch size: WORK → WORK.

The batch is the rows of a forward product and of its input's gradient, the depth of its weights' gradient, the images
of a convolution, and the leading dimension of other ops' operands and results. Ops that hold it are counted again;
weights, their updates and the host's work stay. A workload given as layers, of which nothing ran, names the batch in
its shapes (-1), and in nothing else.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

import pandas as pd

from estimator.core.attributes import attribute_values
from estimator.core.errors import EstimatorError
from estimator.core.notes import Note
from estimator.core.schema import CONV_COLUMNS, MATRIX, complete, numbers, share_of_time
from estimator.core.table import LARGEST_WHOLE
from estimator.core.types import Names, Workload
from estimator.work.batch_dimension import Batch, may_be_weight, resize_shapes, role
from estimator.work.count import count_work
from estimator.work.messages import with_batch
from estimator.work.shapes import read_shapes
from estimator.work.sliced_batch import slices_of
from estimator.work.stated_batch import contradiction
from estimator.work.transformed import Transformed
from estimator.work.weights import read, updates, weight_forms
from estimator.work.xla_convolution import sample_places

STAYS = ("host", "collective")  # classes whose shapes do not depend on the batch
TEXTS = ["shapes", "output_shapes"]
DIMENSIONS = ("batch", "m", "n", "k")
COUNTS = ("flop", "bytes", "intensity")
NAMED = r"(?<![^;x])-1(?![^;x])"  # a dimension of a shape
ROUNDING = 1e-9  # of a ratio
CHANGES = [*TEXTS, *DIMENSIONS, "conv_n", "sequences", "bytes"]
AMBIGUOUS = Note(  # and the rest of a sentence on the rows concerned
    "rebatch-ambiguous",
    "have a size that may be the batch or a weight's: it is taken for the batch, in products for their rows",
)
UNMODELLED = Note("rebatch-unmodelled", "have no model: their time is scaled with the batch")
UNKNOWN = Note("rebatch-unknown", "keep their work and time: how they depend on the batch is not known")


class TooLargeError(EstimatorError):
    """A batch of which an op is too large to be counted."""


def rebatch(work: pd.DataFrame, workload: Workload, size: int | None) -> Transformed:
    """WORK of the same step at a batch of ``size`` samples; WORK itself for None and for the profiled batch.

    ``time_s`` stays the source's at the profiled batch; ``growth`` says how much more each op does.
    Raises EstimatorError where the profiled batch is unknown, is 1, which divides every dimension, or is not that of
    the ops.
    """
    if size is None or size == workload.batch_size:
        return Transformed(work, changed=False)
    if names_batch(work):
        return _at_batch(work, workload, size)
    if problem := contradiction(work, workload):
        raise EstimatorError(f"{workload.name}: {problem}; another batch needs that of the profile, so correct it")
    batch = Batch(_profiled(workload), size, weight_forms(work))
    stays = updates(work) | work["op_class"].isin(STAYS)
    roles, ambiguous = _roles(work, batch)
    out = _recount(work, _reshape(work, roles, ~stays, batch), workload, batch)
    out = with_batch(out, batch.after / batch.before)
    states_work = work["work_source"] == "reported"
    changed = _changed(work, out) & ~states_work
    unmodelled = changed & out["bytes"].isna()
    lacks_dimensions = _lacks_dimensions(work) | (states_work & (work["time_s"] > 0))
    rows = {
        AMBIGUOUS: changed & (ambiguous | _may_be_weights(work, batch)),
        UNMODELLED: unmodelled,
        UNKNOWN: ~changed & ~stays & lacks_dimensions,
    }
    growth = numbers(work, "growth") * _growth(work, out).mask(unmodelled, batch.after / batch.before)
    out["growth"] = growth.where((growth - 1.0).abs() > ROUNDING)
    notes = (note for problem, concerned in rows.items() for note in _notes(work, problem, concerned))
    return Transformed(out, changed=True, notes=(_step_note(batch, int(changed.sum())), *notes))


def names_batch(work: pd.DataFrame) -> bool:
    """Whether all shapes name the batch where they hold it, as those of a workload given as layers do."""
    return not (work["time_s"] > 0).any() and bool(_named(work["shapes"]).any())


def _named(texts: pd.Series) -> pd.Series:
    return texts.str.contains(NAMED).fillna(False).astype(bool)


def _at_batch(work: pd.DataFrame, workload: Workload, size: int) -> Transformed:
    """WORK counted at another batch. Raises TooLargeError where an op is then too large to be counted."""
    rows = _named(work["shapes"]) | _named(work["output_shapes"])
    texts = {name: work[name].str.replace(NAMED, str(size), regex=True) for name in TEXTS}
    counted = work["work_source"] == "shapes"
    blank = {name: work[name].mask(counted) for name in (*DIMENSIONS, *COUNTS, "row_length")}
    sized = work.assign(**texts, **blank).drop(columns="work_source")
    out = count_work(sized, workload.model_copy(update={"batch_size": size}), workload.name).work
    lost = rows & out["bytes"].isna() & work["bytes"].notna()
    if lost.any():
        raise TooLargeError(_too_large(work[lost], workload.name, size))
    text = f"ops are those of batch {size}: {int(rows.sum())} grow with it; weights and their updates stay"
    return Transformed(out, changed=True, notes=(Note("rebatched", text),))


def _too_large(lost: pd.DataFrame, name: str, size: int) -> str:
    """The sentence on a batch at which these rows cannot be counted, with the largest one at which their shapes can."""
    of_all = pd.concat([lost[column] for column in TEXTS]).dropna().str.split(";").explode()
    of_sample = [math.prod(shape) for text in of_all[_named(of_all)] for shape in read_shapes(text, 1) if shape]
    op, most = lost["op"].iloc[0], LARGEST_WHOLE // max(of_sample, default=1)
    expected = f"expected at most {most}" if most < size else "expected a smaller one"
    return f"{name}: batch {size} of one device makes '{op}' too large to be counted; {expected}"


def known_batch(workload: Workload) -> int:
    """The batch size of the profile. Raises EstimatorError where it is not known."""
    if workload.batch_size is None:
        raise EstimatorError(
            f"{workload.name}: the batch size of the profile is not known; write batch_size: N to workload.yaml beside "
            "it"
        )
    return workload.batch_size


def _profiled(workload: Workload) -> int:
    """The batch size of the profile. Raises EstimatorError where it is not known, or 1."""
    size = known_batch(workload)
    if size == 1:
        raise EstimatorError(
            f"{workload.name}: the profile is of batch 1, which every shape holds; capture another, such as 32"
        )
    return size


def _roles(work: pd.DataFrame, batch: Batch) -> tuple[Names, pd.Series]:
    """The batch dimension of each row's product, empty for other rows; and whether it is ambiguous."""
    products = work[(work["op_class"] == "gemm") & complete(work, DIMENSIONS)]
    sizes = [products[name].astype(int) for name in DIMENSIONS]
    batches = [batch.of_slices(count) for count in slices_of(products)]
    pairs = [role(*each) for each in zip(*sizes, products["trans_a"].fillna(""), batches, strict=True)]
    table = pd.DataFrame(pairs, index=products.index, columns=["role", "ambiguous"]).reindex(work.index)
    roles: Names = table["role"].fillna("").to_numpy(dtype=object)
    return roles, table["ambiguous"].eq(True)


def _reshape(work: pd.DataFrame, roles: Names, scales: pd.Series, batch: Batch) -> pd.DataFrame:
    """WORK with the shapes and dimensions of the wanted batch in the rows that may scale with it."""
    out, slices = work.copy(), slices_of(work)
    for name, places in _sample_places(work).items():
        rows = scales & work[name].notna()
        columns = (work.loc[rows, name], work.loc[rows, "op_class"], slices[rows], places[rows])
        texts = zip(*(column.tolist() for column in columns), strict=True)
        out.loc[rows, name] = [resize_shapes(*text, batch.of_slices(count), at) for *text, count, at in texts]
    held = {name: roles == name for name in DIMENSIONS}
    held |= {name: (work[name] % batch.before == 0).fillna(False) for name in ("conv_n", "sequences")}
    for name, holds in held.items():
        out[name] = out[name].mask(
            scales & holds, out[name] * slices // batch.before * (batch.after // slices).clip(lower=1)
        )
    return out


def _sample_places(work: pd.DataFrame) -> dict[str, pd.Series]:
    """Where the operands and results of each row hold the samples, as the labels of XLA's convolutions state it."""
    labels = attribute_values(work, "labels").fillna("")
    passes = work["pass"].fillna("")
    stated = [sample_places(*each) if each[0] else () for each in zip(labels.tolist(), passes.tolist(), strict=True)]
    return {
        "shapes": pd.Series([places[:2] for places in stated], work.index, dtype=object),
        "output_shapes": pd.Series([places[2:] for places in stated], work.index, dtype=object),
    }


def _recount(work: pd.DataFrame, sized: pd.DataFrame, workload: Workload, batch: Batch) -> pd.DataFrame:
    """WORK of the new shapes. Amounts that a row states stay; a convolution's FLOP scale with its images."""
    stated, from_shapes = sized["work_source"] == "reported", sized["work_source"].eq("shapes")
    is_read_again = from_shapes & sized["shapes"].notna() & sized["hidden"].isna()  # recurrent layers have their sizes
    counts = {name: sized[name].where(stated) for name in COUNTS}
    convolved = {column.name: sized[column.name].mask(is_read_again) for column in CONV_COLUMNS}
    lengths = sized["row_length"].mask(is_read_again)
    blank = sized.assign(**counts, **convolved, row_length=lengths).drop(columns="work_source")
    counted = count_work(blank, workload.model_copy(update={"batch_size": batch.after}), workload.name).work
    images = sized["conv_n"].ne(work["conv_n"]).fillna(False) & ~is_read_again & (sized["op_class"] == "convolution")
    flop = counted["flop"].mask(images, work["flop"] / batch.before * batch.after)
    return counted.assign(flop=flop, intensity=(flop / counted["bytes"]).where(counted["bytes"] > 0))


def _changed(work: pd.DataFrame, out: pd.DataFrame) -> pd.Series:
    """Whether the batch changed each row."""
    differs = {name: (out[name].ne(work[name]) & work[name].notna()).fillna(False) for name in CHANGES}
    return pd.DataFrame(differs).any(axis=1)


def _growth(work: pd.DataFrame, out: pd.DataFrame) -> pd.Series:
    """How many times what it did each op does, by its FLOP, else by its bytes; 1 where nothing tells."""
    ratios = [(out[name] / work[name]).where(work[name] > 0) for name in ("flop", "bytes")]
    return ratios[0].fillna(ratios[1]).fillna(1.0).astype(float)


def _may_be_weights(work: pd.DataFrame, batch: Batch) -> pd.Series:
    """Whether an operand of each row that begins with the batch could be a weight as well."""
    texts = work["shapes"].mask(work["op_class"].isin(MATRIX)).fillna("")
    by_text = {
        text: any((shape := read(item)) and may_be_weight(shape, batch) for item in text.split(";"))
        for text in texts.unique()
    }
    return texts.map(by_text).astype(bool)


def _lacks_dimensions(work: pd.DataFrame) -> pd.Series:
    """Whether each row takes time but has no dimensions that could hold the batch."""
    bare = work[TEXTS].isna().all(axis=1) & (work["work_source"] != "workload")
    return (work["time_s"] > 0) & (bare | work["op_class"].isin(MATRIX))


def _step_note(batch: Batch, count: int) -> Note:
    sized = f"ops are those of batch {batch.after}, from a profile of batch {batch.before}: {count} scale with it"
    return Note("rebatched", f"{sized}; weights, their updates, and host and idle time stay")


def _notes(work: pd.DataFrame, problem: Note, rows: pd.Series) -> Iterator[Note]:
    """Yield a note on these rows and their share of the time; nothing without rows."""
    if rows.any():
        share = share_of_time(work, rows)
        text = f"{int(rows.sum())} op(s), {100 * share:.1f} % of the source's time, {problem.text}"
        yield dataclasses.replace(problem, text=text, share=share)
