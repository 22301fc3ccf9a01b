import pytest

from estimator.profiles.fusion import EPILOGUE, PRODUCT


@pytest.mark.parametrize("op_type", ["MatMul", "BatchMatMulV2", "Conv2D", "DepthwiseConv2dNative"])
def test_op_types_of_products(op_type: str) -> None:
    assert PRODUCT.fullmatch(op_type)
    assert not EPILOGUE.fullmatch(op_type)


@pytest.mark.parametrize("op_type", ["Relu6", "Softplus", "BiasAdd", "AddV2", "FusedBatchNormV3"])
def test_op_types_of_epilogues(op_type: str) -> None:
    assert EPILOGUE.fullmatch(op_type)
    assert not PRODUCT.fullmatch(op_type)


@pytest.mark.parametrize("op_type", ["BiasAddGrad", "ReluGrad", "Conv2DBackpropInput", "_FusedMatMul"])
def test_op_types_that_are_neither_product_nor_epilogue(op_type: str) -> None:
    assert not PRODUCT.fullmatch(op_type)
    assert not EPILOGUE.fullmatch(op_type)
