"""``layers.yaml``: defaults of each kind, and one sentence for every fault."""

from fractions import Fraction
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from estimator.core.errors import EstimatorError
from estimator.core.yaml_files import check, read_yaml
from estimator.profiles import read_profile
from estimator.profiles.layers.model import Layers
from tests.profiles.layers.models import SMALL, small


def read(folder: Path, **values: object) -> Layers:
    path = folder / "layers.yaml"
    path.write_text(yaml.safe_dump({key: value for key, value in {**SMALL, **values}.items() if value is not None}))
    return check(Layers, read_yaml(path))


def test_a_kind_sets_what_is_not_given() -> None:
    gpt, bert, llama = (small(kind=kind) for kind in ("gpt", "bert", "llama"))
    assert (gpt.causal, gpt.norm_first, gpt.attention, gpt.head) == (True, True, "fused", "next_token")
    assert (bert.causal, bert.norm_first, bert.attention, bert.head) == (False, False, "unfused", "masked")
    assert (llama.activation, llama.gated, llama.norm, llama.bias) == ("silu", True, "rms_norm", False)
    assert small(kind="llama", norm="layer_norm").norm == "layer_norm"


def test_derived_sizes() -> None:
    layers = small(key_value_heads=2)
    assert layers.head_size == 16
    assert layers.attention_width == (4 + 2 * 2) * 16
    assert layers.feed_forward == 4 * 64
    assert small(kind="bert").predicted == 5  # 15 % of 32 tokens
    assert small(experts=6, experts_per_token=2).tokens_per_expert == Fraction(32, 3)  # of 32 · 2 / 6


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"blcks": 3}, "'blcks' is not a key that is known here. Did you mean blocks?"),
        ({"blocks": None}, "'blocks' is missing; add it"),
        ({"kind": "gtp"}, "kind is 'gtp'; input should be 'gpt', 'bert' or 'llama'"),
        ({"blocks": 0}, "blocks is 0; input should be greater than or equal to 1"),
        ({"blocks": True}, "blocks is True, as YAML reads yes and no"),
        ({"hidden_size": 2.5}, "hidden_size is 2.5"),
        ({"hidden_size": 10**9}, "hidden_size is 1000000000; input should be less than or equal to 1000000"),
        ({"heads": 5}, "hidden_size 64 is no multiple of heads 5; change one of them"),
        ({"key_value_heads": 3}, "heads 4 is no multiple of key_value_heads 3"),
        ({"experts_per_token": 2}, "experts_per_token 2 is above experts 1"),
        ({"max_positions": 8}, "sequence_length 32 is above max_positions 8"),
        ({"kind": "bert", "predictions": 33}, "predictions 33 is above sequence_length 32"),
        ({"predictions": 3}, "predictions are those of a 'head: masked'"),
        ({"positions": "rotary", "hidden_size": 60}, "rotary, which need an even head size, and it is 15"),
        ({"pooler": True}, "pooler is that of 'kind: bert', and kind is gpt; change one of them"),
        ({"kind": "llama", "pooler": True}, "pooler is that of 'kind: bert', and kind is llama"),
        ({"lora_layers": "all"}, "lora_layers is given without lora_rank; change one of them"),
        ({"lora_rank": 4, "experts": 4}, "lora_rank is not supported with experts 4; change one of them"),
        ({"lora_rank": 4, "lora_layers": "head"}, "lora_layers is 'head'"),
        ({"lora_rank": 0}, "lora_rank is 0; input should be greater than or equal to 1"),
        ({"vocabulary": 1}, "vocabulary is 1; input should be greater than or equal to 2"),
        ({"dropout": 1.0}, "dropout is 1.0; input should be less than 1"),
        ({"recompute": "some"}, "recompute is 'some'"),
        ({"precision": "fp8"}, "precision is 'fp8'"),
    ],
)
def test_every_fault_is_one_sentence(tmp_path: Path, values: dict[str, object], words: str) -> None:
    with pytest.raises(EstimatorError) as caught:
        read(tmp_path, **values)
    assert words in str(caught.value)
    assert "layers.yaml:" in str(caught.value)


def test_all_faults_are_reported_together(tmp_path: Path) -> None:
    with pytest.raises(EstimatorError) as caught:
        read(tmp_path, blocks=0, vocabulary="many", heads=-1)
    assert len(str(caught.value).splitlines()) == 3


ODD = st.one_of(
    st.integers(-2, 10**19), st.floats(), st.booleans(), st.none(), st.text(max_size=8),
    st.sampled_from([*Layers.model_fields, "full", "fused", "rotary", "silu", "lamb", "span", "fp16"]),
    st.lists(st.integers(), max_size=2), st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(changed=st.dictionaries(st.sampled_from([*Layers.model_fields, "x"]), ODD, min_size=1, max_size=4))
def test_whatever_is_written_is_read_or_refused_in_sentences(
    tmp_path_factory: pytest.TempPathFactory, changed: dict[str, object]
) -> None:
    folder = tmp_path_factory.mktemp("odd")
    text = yaml.safe_dump({**SMALL, **changed}, allow_unicode=True)
    (folder / "layers.yaml").write_text(text, encoding="utf-8")
    try:
        read_profile(folder)
    except EstimatorError as error:
        assert str(error)
        assert "Traceback" not in str(error)


@settings(max_examples=60, deadline=None)
@given(cut=st.integers(0, 120), put=st.text(alphabet=":{}[]&*!|>'\"%@`#-\n\t a1", max_size=6))
def test_broken_yaml_is_refused_in_sentences(tmp_path_factory: pytest.TempPathFactory, cut: int, put: str) -> None:
    folder = tmp_path_factory.mktemp("broken")
    text = yaml.safe_dump(SMALL)
    (folder / "layers.yaml").write_text(text[:cut] + put + text[cut + 1 :])
    try:
        read_profile(folder)
    except EstimatorError as error:
        assert str(error)
