"""What a rule of names says: the operator, and what the name tells of an op's operands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from estimator.core.operators import Operator, operators

QUANTIFIER = r"(?:[?*+]|\{[^}]*\})"
CLASS = re.compile(rf"(?:\\.|\[[^\]]*\]){QUANTIFIER}?")  # of characters, or one that is escaped
GROUP = re.compile(rf"\([^()]*\){QUANTIFIER}?")


@dataclass(frozen=True)
class Rule:
    """Names of one framework or library that mean one operator.

    ``names`` is a regular expression of whole names, and the first rule that fits decides. ``operands`` gives the role
    of each operand in the order in which the framework lists them: image, weights and output of a convolution or pool,
    or the sizes of one; summand, a and b of a product; queries, keys and values of attention; input and weights of a
    recurrent layer; "" for others.
    """

    operator: str
    names: str
    operands: tuple[str, ...] = ()
    multiply: str = ""  # how the name says that a and b multiply: nn as listed, nt with b transposed
    subject: int | None = None  # place of the operand that tells how much is moved
    positions: int = 2  # of attention: the axis of the keys' positions
    depthwise: bool = False  # convolutions whose groups the shapes alone tell
    fused_bias: bool = False  # adds a bias in the same kernel
    counts_padding: bool = False  # a library's convolution, whose FLOP count products with padding
    framework: str = ""

    @property
    def of(self) -> Operator:
        """The operator's row of operators.csv."""
        return operators()[self.operator]

    @property
    def channels_first(self) -> bool:
        """Whether the framework stores images channels first, and multiplies forward by transposed weights."""
        return self.framework == "torch"


@dataclass(frozen=True)
class Family:
    """The rules of one framework or library, and what may stand before and behind each of its names."""

    framework: str
    before: str
    behind: str
    rules: Sequence[Rule]

    def find(self, name: str) -> Rule | None:
        """The first rule that fits a whole name."""
        fitting = (
            rule for rule, pattern in self.patterns() if may_fit(rule.names, name) and compiled(pattern).fullmatch(name)
        )
        return next(fitting, None)

    def patterns(self) -> list[tuple[Rule, str]]:
        """Each rule, with its framework, and the whole pattern."""
        return _patterns(self.framework, self.before, self.behind, tuple(self.rules))


@cache
def _patterns(framework: str, before: str, behind: str, rules: tuple[Rule, ...]) -> list[tuple[Rule, str]]:
    return [(replace(rule, framework=framework), f"{before}({rule.names}){behind}") for rule in rules]


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern, compiled when a name may first fit it: all together take longer than most profiles."""
    return re.compile(pattern, re.DOTALL)


def may_fit(pattern: str, name: str) -> bool:
    """Whether a name holds the plain text of any alternative of a pattern, as all names do that fit it."""
    return any(all(text in name for text in texts) for texts in plain_texts(pattern))


@cache
def plain_texts(pattern: str) -> tuple[tuple[str, ...], ...]:
    """Of each alternative of a pattern the texts that stand for themselves: Conv and D in ``(Pad)?Conv[123]D``."""
    rest, inner = CLASS.sub(" ", pattern), ""
    while rest != inner:  # groups within groups
        inner, rest = rest, GROUP.sub(" ", rest)
    return tuple(tuple(re.sub(f".{QUANTIFIER}|[.^$]", " ", each).split()) for each in rest.split("|"))
