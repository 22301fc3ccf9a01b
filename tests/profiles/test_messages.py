import re
import subprocess
import sys
from typing import Any

import pytest

from estimator.core.errors import EstimatorError
from estimator.profiles import messages

ORIGINS = {  # our name → where TensorFlow has it, where the names differ
    "FunctionGraphs": "RunMetadata.FunctionGraphs",
    "TensorShape": "TensorShapeProto",
    "TensorDim": "TensorShapeProto.Dim",
    "AttrList": "AttrValue.ListValue",
    "MeshAxis": "MeshProto.MeshAxis",
    "SubAxis": "AxisRefProto.SubAxis",
}
LATER = {("HloInstructionProto", "mesh_groups")}  # of an XLA that JAX 0.10 has, and TensorFlow 2.21 has not


@pytest.mark.parametrize("name", messages.MESSAGES)
def test_every_message_survives_writing_and_reading(name: str) -> None:
    message = messages.get(name)()
    assert messages.parse(name, message.SerializeToString(), "here") == message
    assert len(message.DESCRIPTOR.fields) == messages.MESSAGES[name].count(",") + 1


def test_values_in_maps_survive_writing_and_reading() -> None:
    profile = messages.get("ProfileProto")()
    profile.nodes[3].name = "a"
    profile.nodes[3].execs[-1].cpu_execs["cpu"].times.add(int64_values=[2**62, -5])
    again = messages.parse("ProfileProto", profile.SerializeToString(), "here")
    assert list(again.nodes[3].execs[-1].cpu_execs["cpu"].times[0].int64_values) == [2**62, -5]


def test_a_broken_message_names_its_file() -> None:
    with pytest.raises(EstimatorError, match=r"run\.pb: this is no whole RunMetadata message"):
        messages.parse("RunMetadata", b"\x0a\xff\x01garbage", "run.pb")


def test_opening_returns_the_first_nested_field() -> None:
    metadata = messages.get("RunMetadata")()
    metadata.step_stats.dev_stats.add(device="/cpu:0")
    content = metadata.SerializeToString()
    assert messages.opening(content, (0x0A, 0x0A, 0x0A)) == b"/cpu:0"
    assert messages.opening(content, (0x12,)) is None
    assert messages.opening(b"\x0a\xff\xff", (0x0A,)) is None


@pytest.mark.slow
def test_reading_profiles_loads_no_protobuf() -> None:
    code = "import sys, estimator.profiles; sys.exit(any(name.startswith('google.') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.tensorflow
def test_fields_are_those_of_tensorflow() -> None:
    """Its descriptors are the source of the numbers and types."""
    originals = _originals()
    for name, fields in messages.MESSAGES.items():
        original = originals[ORIGINS.get(name, name)]
        for field in fields.split(","):
            ours, number, kind = field.split()
            if (name, ours) in LATER and ours not in original.fields_by_name:
                continue
            theirs = original.fields_by_name[ours]
            assert theirs.number == int(number), (name, ours)
            assert _repeated(theirs) == (kind.startswith("*") or ">" in kind), (name, ours)
            same = {kind.strip("*"), ORIGINS.get(kind.strip("*")), "enum" if kind.strip("*") == "int32" else None}
            assert _kind(theirs) in same, (name, ours)


def _repeated(field: Any) -> bool:
    """Whether a field is a list; protobuf before 6.31 only knows its label, later ones warn of that."""
    return bool(field.is_repeated if hasattr(field, "is_repeated") else field.label == field.LABEL_REPEATED)


def _kind(field: Any) -> str:
    """The type of a field as MESSAGES writes it."""
    from google.protobuf.descriptor import FieldDescriptor

    if field.message_type is None:
        names = {value: name for name, value in vars(FieldDescriptor).items() if name.startswith("TYPE_")}
        return str(names[field.type]).removeprefix("TYPE_").lower()
    if field.message_type.GetOptions().map_entry:
        key, value = (_kind(field.message_type.fields_by_name[part]) for part in ("key", "value"))
        return f"{key}>{value}"
    return re.sub(r"^(tensorflow\.tfprof|tensorflow|xla)\.", "", field.message_type.full_name)


def _originals() -> dict[str, Any]:
    """TensorFlow's descriptors by their names without package."""
    hlo = pytest.importorskip("tensorflow.compiler.xla.service.hlo_pb2", exc_type=ImportError)
    from tensorflow.compiler.xla import xla_data_pb2
    from tensorflow.core.profiler import tfprof_log_pb2
    from tensorflow.core.protobuf import config_pb2

    by_name: dict[str, Any] = {}

    def add(messages_by_name: Any, prefix: str = "") -> None:
        for name, message in messages_by_name.items():
            by_name[prefix + name] = message
            add(message.nested_types_by_name, f"{prefix}{name}.")

    files = [module.DESCRIPTOR for module in (hlo, xla_data_pb2, tfprof_log_pb2, config_pb2)]
    while files:
        file = files.pop()
        add(file.message_types_by_name)
        files.extend(file.dependencies)
    return by_name
