"""``python tests/compare_held_out.py OLD.csv NEW.csv``: is any problem worse on what both held-out tables judge?

Of kernels, the groups (data set, device) that stand in both tables; a figure is the unweighted mean over them, max the
largest. Of whole models, the runs from one device to another that stand in both ``held_out_pairs.csv`` beside them, all
pooled. Ends with 1 where the median, mean or p90 of a problem grew by more than 0.5 percentage point; ``--groups``
prints each group too, ``--method`` names another method than ours.
"""

import argparse
import sys
from pathlib import Path

import pandas as pd

FIGURES = ["median", "mean", "p90"]
OVER_GROUPS = {**dict.fromkeys(FIGURES, "mean"), "max": "max", "n": "sum", "groups": "sum"}
PAIRS = "held_out_pairs.csv"
WORSE = 0.5  # percentage points


def groups_of(path: Path, method: str = "ours") -> pd.DataFrame:
    """FIGURES, max, n and groups of each problem's (data set, device) of kernels."""
    table = pd.read_csv(path)
    of_groups = table[(table["method"] == method) & table["device"].notna() & (table["op_class"] != "whole model")]
    return of_groups.set_index(["problem", "data_set", "device"])[list(OVER_GROUPS)]


def pairs_of(folder: Path) -> pd.Series:
    """Signed error [%] of ours by problem, source, target and model; nothing where the folder lacks the table."""
    path, keys = folder / PAIRS, ["problem", "source", "target", "model"]
    table = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=[*keys, "error"])
    return table.set_index(keys)["error"].astype(float)


def over_groups(groups: pd.DataFrame) -> pd.DataFrame:
    """One line per problem: each group counts equally."""
    return groups.groupby("problem", sort=False).agg(OVER_GROUPS)


def over_pairs(pairs: pd.Series, *by: str) -> pd.DataFrame:
    """One line per problem, or for each value of some keys too: all pairs pooled."""
    error = pairs.abs().groupby([pairs.index.get_level_values(key) for key in ("problem", *by)], sort=False)
    figures = error.agg(["median", "mean", "max"]).assign(p90=error.quantile(0.9), n=error.size(), groups=1)
    return figures[list(OVER_GROUPS)]


def side_by_side(old: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    """Each figure of the first table, of the second, and the difference."""
    names = [*FIGURES, "max"]
    tables = {"of": new[["groups", "n"]], "old": old[names], "new": new[names], "new - old": new[names] - old[names]}
    return pd.concat(tables, axis=1)


def main(old: Path, new: Path, method: str, show_groups: bool) -> bool:
    """Print the comparison; whether any problem is worse."""
    one, two = groups_of(old, method), groups_of(new, method)
    both, added = one.index.intersection(two.index), two.index.difference(one.index)
    pairs_one, pairs_two = pairs_of(old.parent), pairs_of(new.parent)
    pairs_both = pairs_one.index.intersection(pairs_two.index)
    kernels, models = both, pairs_both if method == "ours" else pairs_both[:0]
    before, after = (
        pd.concat([over_groups(groups.loc[kernels]), over_pairs(pairs[models])])
        for groups, pairs in ((one, pairs_one), (two, pairs_two))
    )
    actual = side_by_side(before, after)
    print(f"On what both judge, {method} [%]:\n{actual.round(2).to_string()}\n")
    if changed := int((one.loc[both, "n"] != two.loc[both, "n"]).sum()):
        print(f"{changed} groups hold another number of rows than before\n")
    for since in (two.loc[added], over_pairs(pairs_two.drop(pairs_both), "target")):
        if len(since):
            print(f"Judged since:\n{since.round(2).to_string()}\n")
    if show_groups:
        print(side_by_side(one.loc[both], two.loc[both]).round(2).to_string())
    worse = actual["new - old"][FIGURES].max(axis=1).gt(WORSE)
    print(f"worse by more than {WORSE}: {', '.join(worse.index[worse]) or 'none'}")
    return bool(worse.any())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--method", default="ours")
    parser.add_argument("--groups", action="store_true")
    given = parser.parse_args()
    sys.exit(main(given.old, given.new, given.method, given.groups))
