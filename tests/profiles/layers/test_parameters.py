"""Parameters against published counts, and against the weights of the step's own products."""

from typing import Any

import pytest

from estimator.core.parallel import End
from estimator.profiles.layers.model import Layers
from estimator.profiles.layers.parameters import experts_share, of_block, outside_blocks, total
from tests.profiles.layers.models import small

BERT = {"kind": "bert", "vocabulary": 30522, "sequence_length": 512}
WITHOUT_HEADS = {"head": "next_token"}  # of pre-training: the tables, the blocks and the pooler
GPT2 = {"kind": "gpt", "vocabulary": 50257, "sequence_length": 1024}
GPT3 = {"kind": "gpt", "vocabulary": 50257, "sequence_length": 2048}
LLAMA = {"kind": "llama", "vocabulary": 32000, "sequence_length": 4096}
ENDS: tuple[End | None, ...] = ("first", "last", None)
PUBLISHED = [
    # openai-community/gpt2 on Hugging Face; Radford et al., 2019, table 2, prints 117M, which its authors corrected
    ({**GPT2, "blocks": 12, "hidden_size": 768, "heads": 12}, 124_439_808),
    ({**GPT2, "blocks": 48, "hidden_size": 1600, "heads": 25}, 1_557_611_200),  # gpt2-xl there
    # transformers' BertForPreTraining of bert-large-uncased and bert-base-uncased; Devlin et al., 2019: 340M and 110M
    ({**BERT, "blocks": 24, "hidden_size": 1024, "heads": 16}, 336_226_108),
    ({**BERT, "blocks": 12, "hidden_size": 768, "heads": 12}, 110_106_428),
    # meta-llama/Llama-2-7b-hf and -13b-hf on Hugging Face; Touvron et al., 2023: 7B and 13B
    ({**LLAMA, "blocks": 32, "hidden_size": 4096, "heads": 32, "feed_forward_size": 11008}, 6_738_415_616),
    ({**LLAMA, "blocks": 40, "hidden_size": 5120, "heads": 40, "feed_forward_size": 13824}, 13_015_864_320),
]


@pytest.mark.parametrize(("given", "count"), PUBLISHED)
def test_counts_are_the_published_ones(given: dict[str, Any], count: int) -> None:
    assert total(Layers.model_validate(given)).count == count


def test_gpt3_has_what_its_table_rounds() -> None:
    """Brown et al., Language Models are Few-Shot Learners, 2020, table D.1: 174,600 million."""
    given = {**GPT3, "blocks": 96, "hidden_size": 12288, "heads": 96}
    assert total(Layers.model_validate(given)).count == pytest.approx(174_600e6, rel=1e-4)


def test_shared_keys_and_experts() -> None:
    """Mixtral 8x7B: 46.7B parameters (Jiang et al., Mixtral of Experts, 2024, section 1, prints 47B)."""
    given = {
        "kind": "llama", "blocks": 32, "hidden_size": 4096, "heads": 32, "key_value_heads": 8,
        "feed_forward_size": 14336, "vocabulary": 32000, "sequence_length": 4096, "experts": 8, "experts_per_token": 2,
    }  # fmt: skip
    assert total(Layers.model_validate(given)).count == 46_702_792_704


def test_blocks_and_the_rest_add_up() -> None:
    three, four = total(small(blocks=3)), total(small(blocks=4))
    assert four.count - three.count == of_block(small()).count
    assert four.tensors - three.tensors == of_block(small()).tensors == 12
    assert three.count == 3 * of_block(small()).count + outside_blocks(small()).count


def test_untied_embeddings_have_a_table_of_their_own() -> None:
    assert outside_blocks(small(tied_embeddings=False)).count - outside_blocks(small()).count == 1000 * 64


@pytest.mark.parametrize("kind", ["gpt", "bert", "llama"])
def test_the_ends_of_a_pipeline_have_all_that_is_outside_blocks_and_both_a_tied_table(kind: str) -> None:
    layers = small(kind=kind)
    first, last, whole = (outside_blocks(layers, end) for end in ENDS)
    assert first.count + last.count - whole.count == layers.tied_embeddings * 1000 * 64
    assert first.tensors + last.tensors - whole.tensors == layers.tied_embeddings
    assert total(layers, end="last").count == layers.blocks * of_block(layers).count + last.count


def test_experts_are_more_of_a_stage_than_of_the_whole_model() -> None:
    layers = small(experts=4)
    first, last, whole = (experts_share(layers, 2, end) for end in ENDS)
    assert last == pytest.approx(2 / 3, abs=0.1)
    assert whole < min(first, last)


def test_a_span_head_has_no_vocabulary() -> None:
    spans = small(kind="bert", head="span", pooler=False)
    assert outside_blocks(spans).count == (1000 + 32 + 2) * 64 + 2 * 64 + 64 * 2 + 2
