"""A step profiled at one batch size → the same step at another, from the one profile: WORK → WORK.

The batch is the rows of a forward product and of its input's gradient, the depth of its weights' gradient, the images
of a convolution, else the leading dimension of what an op reads and writes. What holds it is counted anew; weights,
their updates and the host's work stay.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from estimator.core.errors import EstimatorError
from estimator.core.notes import Note
from estimator.core.schema import CONV_COLUMNS, MATRIX, complete
from estimator.core.types import Names, Workload
from estimator.work.batch_dimension import Batch, like_a_weight, resized, role
from estimator.work.count import count_work
from estimator.work.transformed import Transformed
from estimator.work.weights import read, updates, weight_forms

STAYS = ("host", "collective")  # classes whose ops go with the model, whatever the batch
TEXTS = ["shapes", "output_shapes"]
DIMENSIONS = ("batch", "m", "n", "k")
COUNTS = ("flop", "bytes", "intensity")
CHANGES = [*TEXTS, *DIMENSIONS, "conv_n", "bytes"]
DOUBTS = {  # code: what is said of such rows
    "rebatch-ambiguous": "have sizes in which the batch and a weight are alike: taken for activations, and for rows of "
    "products",
    "rebatch-unmodelled": "have no model: their time is taken to go with the batch",
    "rebatch-unknown": "keep their work and time, as nothing tells how they go with the batch",
}


def rebatch(work: pd.DataFrame, workload: Workload, size: int | None) -> Transformed:
    """WORK of the same step at a batch of ``size`` samples; WORK itself at None and at the profiled batch.

    ``time_s`` stays the source's at the profiled batch, but where no model can speak: there it goes with the batch.
    Raises EstimatorError where the profiled batch is not known, or is 1, as every dimension holds that.
    """
    if size is None or size == workload.batch_size:
        return Transformed(work, changed=False)
    batch = Batch(_profiled(workload), size, weight_forms(work))
    stays = updates(work) | work["op_class"].isin(STAYS)
    roles, unsure = _roles(work, batch)
    out = _recounted(work, _reshaped(work, roles, ~stays, batch), workload, batch)
    stated = work["work_source"] == "reported"
    changed = _changed(work, out) & ~stated
    rows = {
        "rebatch-ambiguous": changed & (unsure | _like_weights(work, batch)),
        "rebatch-unmodelled": changed & out["bytes"].isna(),
        "rebatch-unknown": ~changed & ~stays & (_tells_nothing(work) | (stated & (work["time_s"] > 0))),
    }
    for name in ("time_s", "shared_s"):
        out[name] = out[name].mask(rows["rebatch-unmodelled"], out[name] * batch.after / batch.before)
    notes = (note for code, concerned in rows.items() for note in _notes(work, code, concerned))
    return Transformed(out, changed=True, notes=(_step(batch, int(changed.sum())), *notes))


def _profiled(workload: Workload) -> int:
    """The batch size of the profile. Raises EstimatorError."""
    name, size = workload.name, workload.batch_size
    if size is None:
        raise EstimatorError(f"{name}: the batch size of the profile is not known; add batch_size to workload.yaml")
    if size == 1:
        raise EstimatorError(f"{name}: the profile is of batch 1, which every shape holds; capture another, such as 32")
    return size


def _roles(work: pd.DataFrame, batch: Batch) -> tuple[Names, pd.Series]:
    """The dimension of each row's product that is the batch, else nothing; and whether that is in doubt."""
    products = work[(work["op_class"] == "gemm") & complete(work, DIMENSIONS)]
    sizes = [products[name].astype(int) for name in DIMENSIONS]
    found = [role(*dimensions, batch) for dimensions in zip(*sizes, products["trans_a"].fillna(""), strict=True)]
    table = pd.DataFrame(found, index=products.index, columns=["role", "doubt"]).reindex(work.index)
    roles: Names = table["role"].fillna("").to_numpy(dtype=object)
    return roles, table["doubt"].eq(True)


def _reshaped(work: pd.DataFrame, roles: Names, moves: pd.Series, batch: Batch) -> pd.DataFrame:
    """WORK with the shapes and dimensions of the other batch in the rows that may move."""
    out = work.copy()
    for name in TEXTS:
        rows = moves & work[name].notna()
        texts = zip(work.loc[rows, name], work.loc[rows, "op_class"], strict=True)
        out.loc[rows, name] = [resized(*text, batch) for text in texts]
    held = {name: roles == name for name in DIMENSIONS}
    held["conv_n"] = (work["conv_n"] % batch.before == 0).fillna(False)
    for name, holds in held.items():
        out[name] = out[name].mask(moves & holds, out[name] // batch.before * batch.after)
    return out


def _recounted(work: pd.DataFrame, sized: pd.DataFrame, workload: Workload, batch: Batch) -> pd.DataFrame:
    """WORK of the new shapes. What a row itself states stays, and the FLOP of a convolution go with its images."""
    stated, read_anew = sized["work_source"] == "reported", sized["work_source"].eq("shapes") & sized["shapes"].notna()
    counts = {name: sized[name].where(stated) for name in COUNTS}
    convolved = {column.name: sized[column.name].mask(read_anew) for column in CONV_COLUMNS}
    lengths = sized["row_length"].mask(read_anew)
    blank = sized.assign(**counts, **convolved, row_length=lengths).drop(columns="work_source")
    counted = count_work(blank, workload.model_copy(update={"batch_size": batch.after}), workload.name).work
    images = sized["conv_n"].ne(work["conv_n"]).fillna(False) & ~read_anew & (sized["op_class"] == "convolution")
    flop = counted["flop"].mask(images, work["flop"] / batch.before * batch.after)
    return counted.assign(flop=flop, intensity=(flop / counted["bytes"]).where(counted["bytes"] > 0))


def _changed(work: pd.DataFrame, out: pd.DataFrame) -> pd.Series:
    """Rows that hold the batch."""
    unlike = {name: (out[name].ne(work[name]) & work[name].notna()).fillna(False) for name in CHANGES}
    return pd.DataFrame(unlike).any(axis=1)


def _like_weights(work: pd.DataFrame, batch: Batch) -> pd.Series:
    """Rows of which an operand with a batch could be a weight as well."""
    texts = work["shapes"].mask(work["op_class"].isin(MATRIX)).fillna("")
    alike = {
        text: any((shape := read(item)) and like_a_weight(shape, batch) for item in text.split(";"))
        for text in texts.unique()
    }
    return texts.map(alike).astype(bool)


def _tells_nothing(work: pd.DataFrame) -> pd.Series:
    """Rows that take time, of whose dimensions nothing tells whether they hold the batch."""
    bare = work[TEXTS].isna().all(axis=1) & (work["work_source"] != "workload")
    return (work["time_s"] > 0) & (bare | work["op_class"].isin(MATRIX))


def _step(batch: Batch, count: int) -> Note:
    sized = f"the step is that of batch {batch.after}, from a profile of batch {batch.before}: {count} op(s) go with it"
    return Note("rebatched", f"{sized}; weights, their updates, and what host and idle time there was stay")


def _notes(work: pd.DataFrame, code: str, rows: pd.Series) -> Iterator[Note]:
    """A note on some rows and their share of the time; none where there are none."""
    if rows.any():
        share = float(work.loc[rows, "time_s"].sum() / max(work["time_s"].sum(), np.finfo(float).tiny))
        text = f"{int(rows.sum())} op(s), {100 * share:.1f} % of the source's time, {DOUBTS[code]}"
        yield Note(code, text, share=share)
