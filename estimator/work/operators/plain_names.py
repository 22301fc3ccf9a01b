"""Names of kernels as their source has them: C++'s mangled names read, and a result's type cut off.

``_ZN5aiter8fmha_fwdE`` is ``aiter::fmha_fwd``, and ``_ZN2at6native13reduce_kernelINS0_8ReduceOpIf…`` is
``void at::native::reduce_kernel<ReduceOp``. Profilers leave long names mangled, and cut them anywhere, so that types
are read only as far as they have names: by the Itanium C++ ABI each stands after its length.
"""

from __future__ import annotations

import re

ENTRY = re.compile(r"_Z+L?(?P<nested>N[VK]*)?")
NO_NAME = re.compile(r"L[a-z]n?\d*E|S[0-9A-Z]*_|S[a-z]|T\d*_")  # numbers, and names or types that stand before
LENGTH = re.compile(r"\d+")
ANONYMOUS = re.compile(r"_GLOBAL__N_\d+")
RESULT = re.compile(r"std::enable_if<.*?>::type (?=\S)")  # a template of a function without a result


def plain_name(name: str) -> str:
    """The name of a kernel without C++'s mangling; any other name as it is."""
    if name.startswith("_Z") and (entry := ENTRY.match(name)):
        return _demangled(name, entry.end(), nested=bool(entry["nested"])) or name
    return RESULT.sub("void ", name, count=1) if name.startswith("std::enable_if<") else name


def _demangled(name: str, position: int, *, nested: bool) -> str:
    """The function with its namespaces, then the names in its template's arguments; empty where it has no name."""
    function: list[str] = []
    while position < len(name) and (nested or not function):
        identifier, end = _read(name, position)
        if identifier is None:
            break
        function += [identifier] if identifier else []
        position = end
    is_template = name[position : position + 1] == "I"
    arguments: list[str] = []
    while is_template and position < len(name):
        identifier, end = _read(name, position)
        arguments += [identifier] if identifier else []
        position = max(end, position + 1)
    text = "::".join(function)
    return f"void {text}<{'::'.join(arguments)}" if is_template and text else text


def _read(name: str, position: int) -> tuple[str | None, int]:
    """The identifier at a position and where it ends: empty for what has no name, None where neither stands there."""
    if skipped := NO_NAME.match(name, position):
        return "", skipped.end()
    if not (length := LENGTH.match(name, position)):
        return None, position
    end = length.end() + int(length[0][-4:])
    identifier = name[length.end() : end]
    is_name = identifier[:1].isalpha() or identifier[:1] == "_"
    if not is_name or identifier == "E":  # the value of an enumeration
        return "", length.end()
    return "(anonymous namespace)" if ANONYMOUS.fullmatch(identifier) else identifier, end
