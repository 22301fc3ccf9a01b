"""Settings, a model and plans of self-tests."""

from estimator.validation import selftest
from estimator.validation.selftest.settings import Setting
from estimator.validation.selftest.workloads import parse

ONE, TWO = Setting(1, "AVX"), Setting(1, "AVX2")
MODEL = """
import keras
def build():
    model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(256), keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse", jit_compile=False)
    return model
"""


def plan_of(workload: str, *settings: Setting) -> selftest.Plan:
    return selftest.Plan((parse(workload),), settings or (ONE, TWO))
