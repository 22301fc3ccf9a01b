"""Places of calls in a step, as the column ``places`` of OPS writes them: '3;17f@2'."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

NO_BLOCK = 0
PLACE = re.compile(r"(?P<number>[0-9]{1,15})(?P<frozen>f?)(@(?P<block>[0-9]{1,15}))?")


class Place(NamedTuple):
    """A call's number among the calls whose tensors training keeps, in their order.

    ``frozen``: whether it is a product whose weights are not trained; ``block``: the number of the block that it is
    in, where a checkpoint runs that again.
    """

    number: int
    frozen: bool = False
    block: int = NO_BLOCK


def show_places(places: Iterable[Place]) -> str:
    """The text of a row's places."""
    return ";".join(f"{number}{'f' * frozen}{f'@{block}' * (block != NO_BLOCK)}" for number, frozen, block in places)


def parse_places(text: str) -> list[Place]:
    """The places of a row. Raises ValueError where the text is unreadable, or a number stands twice."""
    matches = [PLACE.fullmatch(each) for each in text.split(";")]
    places = [
        Place(int(each["number"]), bool(each["frozen"]), int(each["block"] or NO_BLOCK)) for each in matches if each
    ]
    if len({place.number for place in places}) < len(matches):
        raise ValueError(text)
    return places
