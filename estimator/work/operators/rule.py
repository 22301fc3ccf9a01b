"""Rules from names to operators, with the roles of an op's operands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from estimator.core.operators import Operator, operators

ATTENDED = ("queries", "keys", "values")  # operands of attention
QUANTIFIER = r"(?:[?*+]|\{[^}]*\})"
CLASS = re.compile(rf"(?:\\.|\[[^\]]*\]){QUANTIFIER}?")  # a class of characters, or an escaped character
GROUP = re.compile(rf"\([^()]*\){QUANTIFIER}?")


@dataclass(frozen=True)
class Rule:
    """Names of one framework or library that mean one operator.

    ``names`` is a regular expression of whole names; the first rule that matches decides. ``operands`` gives the role
    of each operand in the framework's order: image, weights and output of a convolution or pool, or their sizes;
    summand, a and b of a product; queries, keys and values of attention; input, state and weights of a recurrent
    layer; "" for others.
    """

    operator: str
    names: str
    operands: tuple[str, ...] = ()
    multiply: str = ""  # transposes of a and b that the name implies: nn as listed, nt with b transposed
    subject: int | None = None  # index of the operand whose size is moved
    positions: int = 2  # of attention: the axis of the keys' positions
    depthwise: bool = False  # convolutions whose groups follow from the shapes
    fused_bias: bool = False  # adds a bias in the same kernel
    counts_padding: bool = False  # a library's convolution, whose FLOP count products with padding
    framework: str = ""

    @property
    def properties(self) -> Operator:
        """The operator's row of operators.csv."""
        return operators()[self.operator]

    @property
    def channels_first(self) -> bool:
        """Whether the framework stores images channels first, and multiplies forward by transposed weights."""
        return self.framework == "torch"


@dataclass(frozen=True)
class Family:
    """The rules of one framework or library, and patterns of what may precede and follow each of its names."""

    framework: str
    before: str
    after: str
    rules: Sequence[Rule]

    def find(self, name: str) -> Rule | None:
        """The first rule that matches a whole name."""
        matches = (
            rule
            for rule, pattern in self.patterns()
            if may_match(rule.names, name) and compiled(pattern).fullmatch(name)
        )
        return next(matches, None)

    def patterns(self) -> list[tuple[Rule, str]]:
        """Each rule with its framework, and its pattern of whole names."""
        return _patterns(self.framework, self.before, self.after, tuple(self.rules))


@cache
def _patterns(framework: str, before: str, after: str, rules: tuple[Rule, ...]) -> list[tuple[Rule, str]]:
    return [(replace(rule, framework=framework), f"{before}({rule.names}){after}") for rule in rules]


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """A compiled pattern. Patterns are compiled on first use, as compiling all takes longer than most profiles."""
    return re.compile(pattern, re.DOTALL)


def may_match(pattern: str, name: str) -> bool:
    """Whether a name holds the plain texts of any alternative of a pattern; every name that matches does."""
    return any(all(text in name for text in texts) for texts in plain_texts(pattern))


@cache
def plain_texts(pattern: str) -> tuple[tuple[str, ...], ...]:
    """The literal texts of each alternative of a pattern: Conv and D in ``(Pad)?Conv[123]D``."""
    rest, inner = CLASS.sub(" ", pattern), ""
    while rest != inner:  # groups within groups
        inner, rest = rest, GROUP.sub(" ", rest)
    return tuple(tuple(re.sub(f".{QUANTIFIER}|[.^$]", " ", each).split()) for each in rest.split("|"))
