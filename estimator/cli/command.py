"""A command whose words are read as people write them: several numbers behind one option, no value forgotten."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, get_args

import typer
from typer.core import TyperCommand, TyperOption

if TYPE_CHECKING:
    from typer._click import Context
    from typer._click.core import Parameter

RAISED = "Value error, "  # before pydantic's message of a ValueError
NUMBER = r"[-+]?\d+"
THOUSANDS = r"(?!,0\d)"  # behind a comma alone, no number begins with 0: 1,024 may be one number
NUMBERS = re.compile(rf"{NUMBER}(?:{THOUSANDS}[,\s]+{NUMBER})*,?")  # 8, or 1,8,64, or '1 8 64'


class EstimatorCommand(TyperCommand):
    """A command that takes numbers in a list, and refuses a second value where it takes one."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Parse the words after the command's name."""
        words = list(spread_numbers(args, {name for param in self.params if _is_list(param) for name in param.opts}))
        if not ctx.resilient_parsing:
            self._refuse_empty(ctx, words)
            self._refuse_single_dashes(ctx, words)
            self._refuse_repeated(ctx, words)
        with _found_and_expected():
            return super().parse_args(ctx, words)

    def _refuse_empty(self, ctx: Context, words: Sequence[str]) -> None:
        """Raise UsageError for an empty word, which as a path would be the working folder."""
        before = next((name for name, word in pairwise(["", *words]) if not word), None)
        unfilled = next((word for word in words if word.startswith("--") and word.endswith("=")), before)
        if unfilled is not None:
            behind = f" behind {unfilled.removesuffix('=')}" if unfilled else ""
            ctx.fail(f"An empty text stands{behind}; expected a name, a path or a value, so give one or leave it out.")

    def _refuse_single_dashes(self, ctx: Context, words: Sequence[str]) -> None:
        """Raise UsageError where an option of several letters has one dash: each letter would be an option."""
        options = {name for param in self.params for name in param.opts}
        for word in words[: words.index("--")] if "--" in words else words:
            name = word.partition("=")[0]
            if f"-{name}" in options and name not in options and len(name) > len("-o"):
                ctx.fail(f"No such option: {name}. Did you mean -{name}?")

    def _refuse_repeated(self, ctx: Context, words: Sequence[str]) -> None:
        """Raise UsageError where an option that takes one value is given twice, whose first value would be lost."""
        _, _, given = self.make_parser(ctx).parse_args(args=list(words))
        for param in dict.fromkeys(param for param in given if isinstance(param, TyperOption)):
            if given.count(param) > 1 and not (param.multiple or param.is_flag):
                takers = " and ".join(f"'estimator {name}'" for name in _takers_of_several(ctx, param))
                advice = f"give it once; several are for {takers}" if takers else "give it once"
                raise typer.BadParameter(f"it is given twice, and {ctx.info_name} takes one; {advice}", ctx, param)


def _is_list(param: Parameter) -> bool:
    """Whether an option takes several numbers."""
    descriptor = getattr(param, "type_descriptor", None)
    return param.multiple and descriptor is not None and get_args(descriptor.annotation) in ((int,), (float,))


def _takers_of_several(ctx: Context, param: Parameter) -> list[str]:
    """The commands that take several values of an option of the same name."""
    commands = getattr(ctx.find_root().command, "commands", {})
    names = set(param.opts)
    return [name for name, other in commands.items() if any(p.multiple and names & {*p.opts} for p in other.params)]


def spread_numbers(words: Sequence[str], options: Collection[str]) -> Iterator[str]:
    """Yield the words, and repeat an option of these before each of the numbers behind it.

    ``--devices 1 8 64`` and ``--devices=1,8,64`` become ``--devices 1 --devices 8 --devices 64``.
    """
    option, waits = "", False  # whose numbers may follow; whether none has yet
    for word in words:
        name, equals, value = word.partition("=")
        if name in options and not waits:
            option, waits = name, not equals
            numbers = _numbers(value) if equals else []
            yield from ([part for number in numbers for part in (name, number)] if numbers or not equals else [word])
        elif option and (numbers := _numbers(word)):
            waits = False
            yield from (part for number in numbers for part in (option, number))
        else:
            yield from (option, word) if waits else (word,)
            option, waits = "", False
    if waits:
        yield option


def _numbers(word: str) -> list[str]:
    """The numbers of a word; none where it is no list of them, as 1,024 with a comma between thousands may be."""
    return re.findall(NUMBER, word) if NUMBERS.fullmatch(word) else []


@contextmanager
def _found_and_expected() -> Iterator[None]:
    """Say in a fault of an option's value what was found; typer says what was expected."""
    try:
        yield
    except typer.BadParameter as error:
        from pydantic import ValidationError

        from estimator.core.yaml_files import EXPECTED, expected

        if isinstance(error.__cause__, ValidationError):
            fault = error.__cause__.errors()[0]
            kind, value = fault["type"], str(fault["input"])
            problem = f"; {fault['msg'][0].lower()}{fault['msg'][1:]}"
            error.message = f"found {value!r}{f', expected {expected(kind, value)}' if kind in EXPECTED else problem}"
            if fault["msg"].startswith(RAISED):
                error.message = fault["msg"].removeprefix(RAISED)
        raise
