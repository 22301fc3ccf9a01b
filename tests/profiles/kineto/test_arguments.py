import pytest

from estimator.profiles.kineto.arguments import Call, Tensor, base_name, read_arguments, read_sizes, read_value


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("aten::addmm_", "addmm"),
        ("mkldnn::_linear_pointwise", "_linear_pointwise"),
        ("aiter::mha_fwd", "aiter::mha_fwd"),
    ],
)
def test_names_without_their_library(name: str, base: str) -> None:
    assert base_name(name) == base


def test_tensors_lists_of_tensors_and_values() -> None:
    call = Call(
        "aten::op", b"[[2, 3], [[4], [5]], []]", b'["float", "TensorList", "Scalar"]', b"", b'["", "", "[1, 2]"]'
    )
    tensors, several, value = read_arguments(call)
    assert [tensor.dims for tensor in (*tensors.tensors, *several.tensors)] == [(2, 3), (4,), (5,)]
    assert read_value({"stride": value}, "stride") == [1, 2]
    assert read_value({}, "stride") is None


def test_unreadable_texts_tell_nothing() -> None:
    assert read_sizes(b"[[2, -3], 'x'") == []
    assert read_sizes(b"[[2, -3]]") == [[(2, -1)]]


def test_a_transposed_matrix_is_written_as_it_lies_in_memory() -> None:
    assert str(Tensor((3, 5), (1, 3)).in_memory()) == "5x3"
    assert str(Tensor((3, 5), (5, 1)).in_memory()) == "3x5"
