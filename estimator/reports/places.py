"""Where a sentence of a report holds, in few names (machines and units → names)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from estimator.core.notes import Kind
from estimator.core.types import StudyResult, pair_id

EVERYWHERE = "every machine and unit"
Pair = tuple[str, str]


def headline_places(result: StudyResult) -> dict[str, list[str]]:
    """What a study leaves open, without details, and where."""
    return _places(
        result, ((note.headline, place) for note, place in result.located_notes() if note.kind == "left-open")
    )


def sentence_places(result: StudyResult, *kinds: Kind) -> dict[str, list[str]]:
    """Each sentence of a study's notes of some kinds, and where it holds."""
    return _places(result, ((note.text, place) for note, place in result.located_notes() if note.kind in kinds))


def _places(result: StudyResult, texts: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    places: dict[str, list[str]] = {}
    for text, place in texts:
        places.setdefault(text, []).append(place)
    return {text: shortened(of_text, list(result.estimates)) for text, of_text in places.items()}


def shortened(places: Iterable[str], pairs: Sequence[Pair]) -> list[str]:
    """Places in few names: a machine, or a unit, stands for all of its pairs.

    Args:
        places: ids of pairs, or names of machines and other estimates.
        pairs: every machine and unit that is estimated.
    """
    asked = dict.fromkeys(places)
    held = [pair for pair in pairs if pair_id(pair) in asked]
    others = [place for place in asked if place not in set(map(pair_id, pairs))]
    if len(pairs) > 1 and len(held) == len(pairs):
        return [EVERYWHERE, *others]
    return list(dict.fromkeys((*others, *_names(held, pairs))))


def _names(held: Sequence[Pair], pairs: Sequence[Pair]) -> Iterator[str]:
    """The name of each pair: its machine where all of that holds, else its unit where all of that does."""
    for pair in held:
        whole = (all(other in held for other in pairs if other[side] == pair[side]) for side in (0, 1))
        yield next((pair[side] for side, holds in enumerate(whole) if holds), pair_id(pair))
