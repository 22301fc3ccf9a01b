"""Published steps predicted by coefficients that are fitted without the family of their device."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from estimator.core.files import write_text
from estimator.core.schema import MEASUREMENTS
from estimator.devices import load_device
from estimator.model import coefficients
from estimator.model.coefficients import Coefficients
from estimator.validation.protocol import FittedPredictor, Method

if TYPE_CHECKING:
    import pandas as pd


def by_family(
    truth: pd.DataFrame, rows: pd.DataFrame, method: Method, predict: Callable[[pd.DataFrame], pd.DataFrame]
) -> pd.DataFrame:
    """What ``predict`` makes of the rows of each family, with the column ``family``.

    Args:
        truth: rows that coefficients are fitted to, with their ``family``.
        rows: published steps, with their ``device``.
        method: fits coefficients.
        predict: takes the rows of one family, in place of the shipped coefficients.
    """
    import pandas as pd

    families = rows["device"].map({str(name): load_device(str(name)).family for name in rows["device"].unique()})
    frames = []
    for family in sorted(set(families)):
        with coefficients.replaced(fitted_without(family, truth, method)):
            frames.append(predict(rows[families == family]).assign(family=family))
    return pd.concat(frames, ignore_index=True)


def fitted_without(family: str, truth: pd.DataFrame, method: Method) -> Coefficients:
    """The coefficients that a method fits to the rows of other families. Raises TypeError where it has none."""
    fitted = method(truth[truth["family"] != family])
    if not isinstance(fitted, FittedPredictor):
        raise TypeError("the judged method has no coefficients to predict steps by")
    return fitted.coefficients


def unmeasured(rows: pd.DataFrame, predict: Callable[[Mapping[str, Any], str], Mapping[str, float]]) -> pd.DataFrame:
    """The rows with what ``predict`` says of each [s]; it gets the row and a table without any measurement."""
    with TemporaryDirectory() as folder:
        nothing = Path(folder) / "unmeasured.csv"
        write_text(nothing, ",".join(MEASUREMENTS.names()) + "\n")
        predicted = [predict(row, str(nothing)) for row in rows.to_dict("records")]
    return rows.assign(**{name: [step[name] for step in predicted] for name in predicted[0]})
