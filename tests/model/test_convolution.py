"""Laws of the convolution model, whatever its coefficients."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.core import physics
from estimator.core.types import Floats
from estimator.devices import load_device
from estimator.model.coefficients import shipped
from estimator.model.convolution import Library, convolution_times, library_of
from estimator.model.convolution_coefficients import ConvolutionCoefficients, Shares
from estimator.model.convolution_passes import PASSES, conv_passes
from estimator.model.hardware import Hardware
from tests.conftest import make_device
from tests.model.convolution_rows import row

SHIPPED = shipped().convolution
WORST = ConvolutionCoefficients(
    source="none of these is fitted", streaming=1.0, staging=1.0, half_tile=0.0, start=0.0, in_flight=0.0, idle=0.0,
    columns=0.0, partial_sums=0.0, attained=1.0, hyperparameters=SHIPPED.hyperparameters,
    **{name: Shares(forward=1.5, weights=1.5) for name in ("implicit", "fused_winograd", "winograd", "fft")},
)  # fmt: skip
COEFFICIENTS = st.sampled_from([SHIPPED, WORST])  # the second: no overhead at all, all else faster than the peak
DIRECTION, PRECISION = st.sampled_from(PASSES), st.sampled_from(["fp32", "fp16"])
SIZE, CHANNELS = st.integers(7, 64), st.integers(1, 300)
LEAST_SHARE = 4 / 36  # Winograd's tiles of 4×4 outputs of 3×3 windows: 36 products for 144, of 2×2 of 5×5 for 100
WINDOW = st.sampled_from([(1, 0, 1), (1, 0, 2), (3, 1, 1), (3, 1, 2), (5, 2, 1), (7, 3, 2)])  # side, padding, stride


def device(scale: float = 1.0, tensor: bool = False) -> Hardware:
    peak, bandwidth, no = (np.array([v]) for v in (15.7e12 * scale, 0.9e12 * scale, np.nan))
    quoted = np.array([False])
    return Hardware(peak, np.array([tensor]), quoted, bandwidth, no, no, no, no, quoted, quoted, np.ones_like(peak), no)


def windowed(window: tuple[int, int, int]) -> dict[str, int]:
    side, pad, stride = window
    return {
        "conv_r": side, "conv_s": side, "pad_h": pad, "pad_w": pad, "stride_h": stride, "stride_w": stride,
    }  # fmt: skip


def time(
    rows: pd.DataFrame, coefficients: ConvolutionCoefficients, scale: float = 1.0, *, transforms: bool = True,
    lanes: float = 5120.0,
) -> Floats:  # fmt: skip
    tensor = rows["precision"].eq("fp16").to_numpy()
    hardware, library = device(scale, bool(tensor[0])), Library(np.array([lanes]), np.array([transforms]))
    return convolution_times(conv_passes(rows, tensor), hardware, 0.95 * hardware.peak, library, coefficients)


@pytest.mark.slow
@given(COEFFICIENTS, DIRECTION, PRECISION, WINDOW, SIZE, CHANNELS, CHANNELS, st.booleans())
def test_no_time_is_below_what_the_fastest_algorithm_allows(
    coefficients: ConvolutionCoefficients, direction: str, precision: str, window: tuple[int, int, int], size: int,
    channels: int, outputs: int, transforms: bool,
) -> None:  # fmt: skip
    shape = {"conv_h": size, "conv_w": size, "conv_c": channels, "conv_k": outputs, **windowed(window)}
    rows = row(precision=precision, **{"pass": direction}, **shape)
    side, pad, stride = window
    point, itemsize = float(physics.conv_output(size, side, stride, pad)), 4 if precision == "fp32" else 2
    work = physics.conv_flop(8, channels, outputs, point, point, side, side)
    traffic = physics.conv_bytes(8, channels, size, size, outputs, point, point, side, side, itemsize)
    least = LEAST_SHARE if transforms and side > 1 and stride == 1 else 1.0
    actual = time(rows, coefficients, transforms=transforms)
    assert actual >= max(work * least / 15.7e12, traffic / 0.9e12) * (1 - 1e-12)


@pytest.mark.slow
@given(COEFFICIENTS, DIRECTION, PRECISION, WINDOW, SIZE, CHANNELS)
def test_doubling_peak_and_bandwidth_halves_the_time(
    coefficients: ConvolutionCoefficients,
    direction: str,
    precision: str,
    window: tuple[int, int, int],
    size: int,
    channels: int,
) -> None:
    rows = row(
        precision=precision, conv_h=size, conv_w=size, conv_c=channels, **{"pass": direction}, **windowed(window)
    )
    assert time(rows, coefficients, scale=2.0) == pytest.approx(time(rows, coefficients) / 2)


@pytest.mark.slow
@given(COEFFICIENTS, DIRECTION, PRECISION, WINDOW, SIZE, CHANNELS, st.floats(1.0, 8.0))
def test_more_units_as_fast_as_the_rest_never_take_longer(
    coefficients: ConvolutionCoefficients, direction: str, precision: str, window: tuple[int, int, int], size: int,
    channels: int, more: float,
) -> None:  # fmt: skip
    """Of as fast a memory for each of them. At one peak more units may take longer: each of them is slower."""
    rows = row(
        precision=precision, conv_h=size, conv_w=size, conv_c=channels, **{"pass": direction}, **windowed(window)
    )
    many = time(rows, coefficients, scale=more, lanes=5120.0 * more)
    assert many <= time(rows, coefficients) * (1 + 1e-9)


@pytest.mark.slow
@given(
    COEFFICIENTS, DIRECTION, PRECISION, WINDOW, st.sampled_from(["conv_n", "conv_c", "conv_k", "conv_h", "conv_w"]),
    SIZE, SIZE, st.booleans(),
)  # fmt: skip
def test_time_never_falls_when_batch_channels_or_image_grow(
    coefficients: ConvolutionCoefficients, direction: str, precision: str, window: tuple[int, int, int], name: str,
    size: int, more: int, transforms: bool,
) -> None:  # fmt: skip
    shape = {"precision": precision, "pass": direction, **windowed(window)}
    one, larger = (time(row(**{**shape, name: n}), coefficients, transforms=transforms) for n in (size, size + more))
    assert larger >= one * (1 - 1e-9)


@given(COEFFICIENTS, DIRECTION, PRECISION, st.sampled_from([(1, 20), (5, 10), (1, 1)]))
def test_a_huge_direct_convolution_attains_no_more_than_a_matrix_product(
    coefficients: ConvolutionCoefficients, direction: str, precision: str, window: tuple[int, int]
) -> None:
    """Of 0.95 of the peak, which is sustained, whatever a shape saves of what tiles cost."""
    rows = row(
        precision=precision, conv_n=64, conv_c=2048, conv_k=2048, conv_h=128, conv_w=128, conv_r=window[0],
        conv_s=window[1], pad_h=0, pad_w=0, conv_p=128, conv_q=128, **{"pass": direction},
    )  # fmt: skip
    work = physics.conv_flop(64, 2048, 2048, 128, 128, *window)
    assert work / time(rows, coefficients) <= coefficients.attained * 0.95 * 15.7e12 * (1 + 1e-12)


def test_transforms_make_convolutions_faster_only_where_they_suit() -> None:
    suits = {"conv_n": 32, "conv_c": 256, "conv_k": 256, "conv_h": 28, "conv_w": 28}
    assert time(row(**suits), SHIPPED) < 0.7 * time(row(**suits), SHIPPED, transforms=False)
    for other in ({"stride_h": 2, "stride_w": 2}, {"dilation_h": 2, "dilation_w": 2}, {"conv_r": 1, "pad_h": 0}):
        rows = row(**suits, **other)
        assert time(rows, SHIPPED) == time(rows, SHIPPED, transforms=False)


def test_groups_cost_less_than_one_convolution_of_all_channels() -> None:
    whole, halves = (time(row(conv_c=256, conv_k=256, groups=g), SHIPPED) for g in (1, 2))
    assert whole / 3 < halves < whole


def test_few_channels_cost_tensor_units_as_much_as_a_vector_load_of_them() -> None:
    three, eight = (time(row(conv_c=c, precision="fp16"), SHIPPED) for c in (3, 8))
    assert three == eight
    assert time(row(conv_c=3), SHIPPED) < time(row(conv_c=8), SHIPPED)


def test_tensor_units_take_whole_slices_of_channels_at_each_point_of_the_window() -> None:
    """32 of fp16, unless groups part them; so arithmetic costs the same, be it of 8 channels or of 32."""
    wide = {"conv_n": 64, "conv_k": 512, "conv_r": 7, "conv_s": 7, "pad_h": 3, "pad_w": 3, "precision": "fp16"}
    few, slice_, more = (time(row(**wide, conv_c=c), SHIPPED, transforms=False) for c in (8, 32, 33))
    assert few == pytest.approx(slice_, rel=0.05)
    assert more > 1.5 * slice_
    two, four = (time(row(**wide, conv_c=c, groups=2), SHIPPED, transforms=False) for c in (16, 32))
    assert four > 1.2 * two


def test_the_output_is_as_stated_or_follows_from_the_other_sizes() -> None:
    stated, silent = row(conv_p=28, conv_q=28), row()
    assert time(stated, SHIPPED) == time(silent, SHIPPED)
    assert time(row(conv_p=14, conv_q=14), SHIPPED) < time(silent, SHIPPED)


def test_processors_made_of_cores_convolve_directly() -> None:
    gpu, cores = library_of(load_device("v100-sxm2-16gb")), library_of(load_device("xeon-phi-7250"))
    assert gpu.transforms.all()
    assert not cores.transforms.any()


@pytest.mark.parametrize(
    ("fields", "lanes"),
    [
        ({"compute_unit": "SM", "compute_units": 80}, 80 * 128),
        ({"compute_unit": "SM", "compute_units": 80, "peak": {"bf16": {"tensor": "90 TFLOP/s"}}}, 80 * 128),
        ({"compute_unit": "core", "compute_units": 12}, 12 * 16),
        ({"compute_unit": "MXU", "compute_units": 8, "peak": {"bf16": {"tensor": "90 TFLOP/s"}}}, 32 * 128),
        ({"compute_unit": "core"}, 80 * 16),
        ({}, 80 * 128),
    ],
)
def test_lanes_are_those_of_the_units(fields: dict[str, object], lanes: float) -> None:
    assert library_of(make_device(**fields)).lanes == [lanes]


def test_lanes_of_a_unit_are_half_its_flop_per_clock() -> None:
    """An SM of Volta has 64, a core with two AVX-512 units 32."""
    assert library_of(load_device("v100-sxm2-16gb")).lanes == [80 * 64]
    assert library_of(load_device("xeon-phi-7250")).lanes == [68 * 32]


def test_transforms_move_at_a_share_of_the_bandwidth_of_their_own() -> None:
    """Of Winograd's, where all else is slow: at half of the bandwidth their traffic takes as much longer as at all."""
    slow = {name: Shares(forward=1e-4, weights=1e-4) for name in ("implicit", "fused_winograd", "fft")}
    rows = row(conv_n=8, conv_c=64, conv_k=128, conv_h=32, conv_w=32)
    half, whole = (
        time(rows, WORST.model_copy(update={**slow, "streaming": 0.8, "staging": share})).item() for share in (0.5, 1.0)
    )
    tiles, images, weights = 8 * 8 * 8, 8 * 32 * 32 * (64 + 128), 9 * 64 * 128
    moved = 4 * (images + weights) + 2 * 36 * 4 * (tiles * (64 + 128) + 64 * 128)
    assert half - whole == pytest.approx(moved / 0.9e12)
