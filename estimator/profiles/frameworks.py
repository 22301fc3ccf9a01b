"""The framework that wrote a dump, as far as the dump tells; a workload that names its own keeps it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from estimator.core.types import Workload

JAX, PYTORCH, TENSORFLOW = "JAX", "PyTorch", "TensorFlow"
# how JAX names its programs, ``jit_step``, and the paths of ops in them, ``jit(step)/jit(main)/dot_general``
JAX_PROGRAM = re.compile(r"p?jit[(_]|pmap[(_]")
# how TensorFlow names a function, ``__inference_step_265``, as a program of XLA; and the attributes behind its name
TENSORFLOW_PROGRAM = re.compile(r"(a|_)_inference_|\w*__Xla(MustCompile|CompiledKernel)")


def with_framework(workload: Workload, framework: str | None) -> Workload:
    """The workload with the framework of its dump, where it names none itself and the dump tells."""
    if workload.framework or framework is None:
        return workload
    return workload.model_copy(update={"framework": framework})


def of_programs(names: Iterable[str | None]) -> str | None:
    """The framework of XLA's programs by their names or those of ops in them; None where none of these tells."""
    known = [name for name in names if name]
    of_names = ((JAX, JAX_PROGRAM), (TENSORFLOW, TENSORFLOW_PROGRAM))
    return next((framework for framework, pattern in of_names if any(map(pattern.match, known))), None)
