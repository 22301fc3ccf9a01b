"""README and docs are short, in short sentences."""

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.docs.pages import Block, blocks, pages, sentences, split

README = ROOT / "README.md"
PAGES = pages()
TWICE = re.compile(r"\b([a-z]+) \1\b", re.I)


def of(text: str, folder: Path) -> Path:
    page = folder / "page.md"
    page.write_text(text, encoding="utf-8")
    return page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_sentence_has_more_than_40_words(page: Path) -> None:
    assert [str(sentence) for sentence in sentences(page) if sentence.words > 40] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_word_stands_twice_in_a_row(page: Path) -> None:
    assert [str(sentence) for sentence in sentences(page) if TWICE.search(sentence.text)] == []


def test_the_readme_is_short() -> None:
    lengths = [sentence.words for sentence in sentences(README)]
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 150
    assert sum(lengths) / len(lengths) <= 18


def test_sentences_are_distinguished() -> None:
    assert split("It is 3.5 % off, e.g. On a K80. See Smith et al. (2017). Is it? Yes: 4 GB.") == [
        "It is 3.5 % off, e.g. On a K80.", "See Smith et al. (2017).", "Is it?", "Yes: 4 GB.",
    ]  # fmt: skip


def test_code_and_equations_are_a_word_and_tables_none(tmp_path: Path) -> None:
    text = "# A title\n\nRun `a b c` with $x + y$.\n\n$$\nx = 1\n$$\n\n| a | b |\n|---|---|\n| c | d |\n\n- one. Two\n"
    assert [(sentence.text, sentence.words) for sentence in sentences(of(text, tmp_path))] == [
        ("Run `code` with equation.", 4), ("one.", 1), ("Two", 1),
    ]  # fmt: skip


def test_blocks_have_their_comment(tmp_path: Path) -> None:
    text = "<!-- not run: needs a GPU -->\n```bash\na\n```\n\n```yaml\nb: 1\n```\n\n```{toctree}\nc\n```\n"
    page = of(text, tmp_path)
    assert list(blocks(page)) == [
        Block(page, 2, "bash", "a\n", not_run="needs a GPU"), Block(page, 6, "yaml", "b: 1\n"),
    ]  # fmt: skip
