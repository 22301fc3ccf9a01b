"""Which evidence tells a step's tensors, and how they go with the batch."""

import pytest

from estimator.core.types import Workload
from estimator.profiles import read_profile
from estimator.work import count_work, step_tensors, tensors_at_two_batches
from estimator.work.step_tensors import FAR, LARGE
from tests.profiles.layers.models import profile as layers_profile


def test_the_strongest_evidence_is_taken() -> None:
    profile = read_profile("p1b3/amd-epyc.xplane")
    work = count_work(profile.ops, profile.workload).work
    without_flow = work.assign(inputs=None)
    bare = without_flow.assign(shapes=None)
    layers = Workload(name="own", batch_size=10, layer_outputs=(100,))
    assert step_tensors(work, profile.workload).evidence == "flow"
    assert step_tensors(without_flow, profile.workload).evidence == "rules"
    assert step_tensors(bare, layers).evidence == "layers"
    nothing = step_tensors(bare, profile.workload)
    assert nothing.evidence == "none"
    assert [float(part.sum()) for part in (nothing.activations, nothing.gradients, nothing.workspace)] == [0, 0, 0]


@pytest.mark.slow
def test_activations_grow_with_the_batch_and_halve_in_half_the_width() -> None:
    profile = read_profile("cnn")
    work = count_work(profile.ops, profile.workload).work
    (first, one), (second, two) = tensors_at_two_batches(work, profile.workload, 64, None)
    assert (first, second) == (64, FAR * 64)
    assert two.activations.max() == pytest.approx(FAR * one.activations.max(), rel=0.01)
    narrow = step_tensors(work, profile.workload, "bf16").activations.max()
    assert 0.5 < narrow / one.activations.max() < 0.75  # the ops of normalizations stay in fp32
    _, (_, narrow_two) = tensors_at_two_batches(work, profile.workload, 64, "bf16")
    assert narrow_two.activations.max() < 0.75 * two.activations.max()


def test_an_unknown_batch_gives_one_moment_alone() -> None:
    profile = read_profile("cnn")
    unknown = profile.workload.model_copy(update={"batch_size": None})
    work = count_work(profile.ops, profile.workload).work
    assert [batch for batch, _ in tensors_at_two_batches(work, unknown, None, None)] == [0]


@pytest.mark.slow
@pytest.mark.parametrize("batch", [LARGE - 1, LARGE, 10**9])
def test_a_large_batch_is_compared_to_one_that_can_be_counted(batch: int) -> None:
    profile = read_profile("cnn")
    work = count_work(profile.ops, profile.workload).work
    (first, one), (second, two) = tensors_at_two_batches(work, profile.workload, batch, None)
    assert (first, second) == (batch, FAR * batch if batch < LARGE else batch // FAR)
    assert two.activations.max() / one.activations.max() == pytest.approx(second / first, rel=1e-3)


def test_layers_have_two_batches_also_from_a_batch_of_one() -> None:
    read = layers_profile(micro_batch=1)
    work = count_work(read.ops, read.workload).work
    (first, one), (second, two) = tensors_at_two_batches(work, read.workload, None, None)
    assert (first, second) == (1, FAR)
    assert two.activations.max() == pytest.approx(FAR * one.activations.max())
