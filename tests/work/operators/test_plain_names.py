"""C++'s mangled names, by hand from their source's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.work.operators.plain_names import plain_name


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("_ZN5aiter31fmha_fwd_hd128_bf16_causal_rtnaE", "aiter::fmha_fwd_hd128_bf16_causal_rtna"),
        ("_Z22ncclDevKernel_SendRecv24ncclDevKernelArgsStorageILm4096EE", "ncclDevKernel_SendRecv"),
        (
            "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_",
            "void at::native::vectorized_elementwise_kernel<CUDAFunctor_add::array",
        ),
        (
            "_ZN2at6native12_GLOBAL__N_119CatArrayBatchedCopyINS1_10OpaqueTypeILj4EEEjLi2ELi64ELi64EEEvPT_",
            "void at::native::(anonymous namespace)::CatArrayBatchedCopy<OpaqueType",
        ),
        (
            "_ZN7cutlass7Kernel2I42cutlass_80_simt_sgemm_128x64_8x5_nn_align1EEvNT_6ParamsE",
            "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x64_8x5_nn_align1::Params",
        ),
        (
            "_ZN5cudnn3ops16nchwToNhwcKernelI6__halfS2_fLb0ELb1EL21cudnnKernelDataType_t0EEEvNS0_19nchw2nhwc",
            "void cudnn::ops::nchwToNhwcKernel<__half::cudnnKernelDataType_t::nchw2nhwc",
        ),
        ("_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm", "void ck_tile::kentry<Rmsnorm2dFwd::Rmsnorm"),
        ("_ZN2at6native29vectorized_elementw", "at::native::vectorized_elementw"),
        (
            "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, float>(T13)",
            "void internal::gemvx::kernel<int, float>(T13)",
        ),
        ("std::enable_if<(8>0), void>::type", "std::enable_if<(8>0), void>::type"),
        ("_Z", "_Z"),
        ("_ZZZ3", "_ZZZ3"),
        ("volta_sgemm_64x32_sliced1x4_nn", "volta_sgemm_64x32_sliced1x4_nn"),
        ("", ""),
    ],
)
def test_the_name_in_the_source(name: str, plain: str) -> None:
    assert plain_name(name) == plain


@given(text=st.text(alphabet="_ZNKLSITEabr0123456789", max_size=60))
def test_any_text_is_read_to_its_end(text: str) -> None:
    assert isinstance(plain_name(f"_Z{text}"), str)
