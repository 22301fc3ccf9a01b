"""The networks of keras.applications that are shipped: their parameters, at full size and scaled."""

import json
import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.published.test_keras_networks import PARAMETERS

SCALE = 0.34  # Inception-v3 takes images of 75 pixels at least
CASES = [*((name, 1.0) for name in PARAMETERS), ("xception", SCALE)]
COUNT = """
import json, sys
from estimator.collect.capture import script
for name, scale in json.loads(sys.argv[1]):
    with script.load_script(script.locate(name)) as own:
        print(own.names["build"](scale=scale).count_params())
"""


@pytest.mark.slow
@pytest.mark.tensorflow
def test_keras_counts_the_published_parameters() -> None:
    """Of all in one process, as TensorFlow takes longer to start than a network to build."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, "-c", COUNT, json.dumps(CASES)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    actual = dict(zip(CASES, map(int, done.stdout.split()), strict=True))
    assert actual == {
        (name, scale): PARAMETERS[name][0] for name, scale in CASES
    }  # no layer goes with the image's size
