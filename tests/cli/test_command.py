"""How words become options: several numbers behind one, no value forgotten, faults that say what was found."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.cli.command import spread_numbers
from tests.cli.command_line import read, run

OPTION = ("--devices",)


@pytest.mark.parametrize(
    ("typed", "spread"),
    [
        ("p --devices 1 8 64", "p --devices 1 --devices 8 --devices 64"),
        ("p --devices 1,8,64", "p --devices 1 --devices 8 --devices 64"),
        ("p --devices=1,8 --batch 4", "p --devices 1 --devices 8 --batch 4"),
        ("p --devices 1, 8, 64", "p --devices 1 --devices 8 --devices 64"),
        ("--devices 1 --devices 8 p", "--devices 1 --devices 8 p"),
        ("--devices 8 p 9", "--devices 8 p 9"),
        ("p --devices -1 8", "p --devices -1 --devices 8"),
        ("p --devices 08 16", "p --devices 08 --devices 16"),
        ("p --devices 08", "p --devices 08"),
        ("p --devices x", "p --devices x"),
        ("p --devices 1,024", "p --devices 1,024"),  # a comma between thousands
        ("p --devices=x 8", "p --devices=x --devices 8"),
        ("p --devices", "p --devices"),
        ("p --batch 1,8", "p --batch 1,8"),
    ],
)
def test_several_numbers_may_follow_an_option(typed: str, spread: str) -> None:
    assert list(spread_numbers(typed.split(), OPTION)) == spread.split()


def test_several_numbers_may_be_one_word() -> None:
    assert list(spread_numbers(["--devices", "1 8"], OPTION)) == ["--devices", "1", "--devices", "8"]


@given(st.lists(st.integers(-9, 9999), min_size=1), st.sampled_from([" ", ",", " --devices "]))
def test_every_manner_of_writing_numbers_is_one(numbers: list[int], mark: str) -> None:
    typed = f"--devices {mark.join(map(str, numbers))}"
    assert " ".join(spread_numbers(typed.split(), OPTION)) == " ".join(f"--devices {number}" for number in numbers)


@given(st.lists(st.text(st.characters(codec="ascii"), max_size=6)))
def test_other_words_stay_as_they_are(words: list[str]) -> None:
    assert list(spread_numbers(words, OPTION)) == words


@pytest.mark.parametrize("written", ["--devices 1 8", "--devices 01 08", "--devices 1,8", "--devices 1 --devices 8"])
def test_scale_takes_several_numbers_of_devices(written: str) -> None:
    rows = read("scale", "p1b3", "--system", "dgx-a100", *written.split())["rows"]
    assert [row["devices"] for row in rows] == [1, 8]


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", ["p1b3 --batch 1 8", "--batch 1 8 p1b3", "--batch 1,8 p1b3", "p1b3 --batch 1 --batch 8"]
)
def test_sweep_takes_several_batches_before_or_after_the_profile(words: str) -> None:
    (target,) = read("sweep", *words.split(), "--to", "v100")["targets"]
    assert [row["batch_size"] for row in target["batches"]] == [1, 8]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            "estimate p1b3 --to h100 --to a100",
            "'--to': it is given twice, and estimate takes one; give it once; several",
        ),
        ("estimate p1b3 --to h100 --to a100", "several are for 'estimator compare'"),
        ("estimate p1b3 --to=h100 --batch 1 --batch 2", "several are for 'estimator sweep'"),
        ("memory resnet50 --devices 8 --devices 16", "several are for 'estimator scale'"),
        ("compare p1b3 --to h100 --from v100 --from v100", "'--from': it is given twice"),
        ("devices --sort year --sort fp16", "'--sort': it is given twice"),
        ("measurements show v100 --measurements a.csv --measurements b.csv", "show takes one; give it once"),
        ("report study.yaml -o a -o b", "'-o': it is given twice"),
    ],
)
def test_a_second_value_is_refused_where_it_would_replace_the_first(words: str, sentence: str) -> None:
    assert sentence in run(*words.split(), code=2).stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("estimate", "", "--to", "v100"), "An empty text stands; expected a name, a path or a value"),
        (("fom", ""), "An empty text stands; expected"),
        (("estimate", "p1b3", "--to", ""), "An empty text stands behind --to; expected"),
        (("report", "lecture-example", "-o", ""), "An empty text stands behind -o; expected"),
        (("estimate", "p1b3", "--to="), "An empty text stands behind --to; expected"),
        (("estimate", "p1b3", "-to=v100"), "No such option: -to. Did you mean --to?"),
    ],
)
def test_an_empty_text_and_a_single_dash_are_refused(words: tuple[str, ...], sentence: str) -> None:
    assert sentence in run(*words, code=2).stderr


def test_a_flag_may_be_given_twice() -> None:
    assert run("presets", "ssi", "--json", "--json").stdout.startswith("{")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("estimate p1b3 --to h100 --batch 1,000", "'--batch': found '1,000', expected a whole number without commas"),
        ("sweep p1b3 --to h100 --batch 1,024", "'--batch': found '1,024', expected a whole number without commas"),
        ("sweep p1b3 --to h100 --batch 8 -1", "'--batch': found '-1'; input should be greater than or equal to 1"),
        ("ingest p1b3 --top much", "'--top': found 'much', expected a number"),
    ],
)
def test_a_fault_of_a_value_says_what_was_found(words: str, sentence: str) -> None:
    assert sentence in run(*words.split(), code=2).stderr
