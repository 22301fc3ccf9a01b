"""The column ``attributes`` of OPS, such as ``bias=1;turn=once``: words that several stages know, and who has one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from estimator.core.types import Flags

if TYPE_CHECKING:
    import pandas as pd

DISPATCH = "dispatch=1"  # a wrapper: an op inside it did the work and has its own row
HELPER = "helper=1"  # a kernel that helps the kernel that does the op's work
INSIDE = "inside=1"  # a kernel that a library launches within another op, which costs the host nothing
ACROSS_LINK = "memory=host"  # a copy from or to the host's memory, or the wait for it
TRAINED = "trained=1"  # a layer with gradients
ONCE_A_TURN, OFTEN_A_TURN = "turn=once", "turn=often"  # in a loop around forward and backward pass
OF_PARAMETERS = "makes=gradients"  # it makes gradients of parameters, where a workload tells which ops do
# what devices of a divided product do: add up its results; add them up, each keeping those of its tokens; gather the
# tokens that it takes; gather, while it runs, those that the next op takes
SUMMED, SCATTERED, GATHERED, GATHERED_BESIDE = "sum=tensor", "scatter=tensor", "gather=tensor", "gather_beside=tensor"
# the same of scattering and gathering, part by part while the product itself runs
SCATTERED_DURING, GATHERED_DURING = "scatter_during=tensor", "gather_during=tensor"
# a mixture of experts: copies of the model exchange the tokens that the op has made, or that it takes; its time goes by
# the tokens that a copy's experts get; it makes gradients of experts' weights
EXCHANGED, EXCHANGED_BEFORE = "exchange=experts", "exchange_before=experts"
EXPERTS_LOAD, EXPERTS_WEIGHTS = "load=experts", "weights=experts"
# attention whose tokens are divided: while it runs, keys and values go around; their gradients do too
AROUND, AROUND_GRADIENTS = "around=context", "around_gradients=context"


def with_attribute(attributes: pd.Series, added: pd.Series) -> pd.Series:
    """The column ``attributes`` with another one of each row behind its own; NA adds none."""
    return attributes.str.cat(added, sep=";").fillna(added).fillna(attributes)


def has_attribute(rows: pd.DataFrame, attribute: str) -> Flags:
    """Which rows have this attribute, such as ``bias=1``."""
    return np.asarray((";" + rows["attributes"].fillna("") + ";").str.contains(f";{attribute};", regex=False))


def attribute_values(rows: pd.DataFrame, name: str, form: str = "[^;]*") -> pd.Series:
    """The value of each row's attribute of a name, where it has this form (a regular expression); NA for all others."""
    return rows["attributes"].str.extract(f"(?:^|;){name}=({form})(?=;|$)", expand=False)
