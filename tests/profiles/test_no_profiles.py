import bz2
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from estimator.core.errors import EstimatorError
from estimator.profiles import read_profile
from estimator.profiles.no_profiles import reason

AVERAGES = """
----------  ----------  ----------  ----------
      Name  Self CPU %    Self CPU  # of Calls
----------  ----------  ----------  ----------
aten::addmm...  23.78%    19.077ms          57
"""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"schema": "1.1.0-chakra.0.0.4", "pid": 3, "nodes": [{"id": 1}]}', "execution trace"),
        ('{"rocprofiler-sdk-tool":[{"metadata":{}}]}', "rocprof"),
        ('[{"cols":[{"id":"selfTimePercent"}],"rows":[]}]', "not a profile"),
        ('[{ "p": {"host": "x"}, "cols": [{"id": "x"}], "rows": []}]', "not a profile"),
        ('{"aggDvfsTimeScaleMultiplier": 1.0, "byCategory": {"name": "x"}, "byProgram": {}}', "XProf"),
        ('{"memoryIds": ["a"], "memoryProfilePerAllocator": {}, "numHosts": 1}', "XProf"),
        ('{"nodes": [{"id": 1, "name": "root", "fw_parent": 0}], "schema": "1.0.3"}', "execution trace"),
        ('"Kind","Agent_Id","Queue_Id","Kernel_Name"\n"KERNEL_DISPATCH",1,1,"k"\n', "rocprof"),
        ('"Name","Calls","TotalDurationNs","AverageNs","Percentage"\n"k",1,10,10,100\n', "rocprof"),
        ('"Index","KernelName","gpu-id","DurationNs"\n0,"k",0,10\n', "rocprof"),
        ("\n\x16B\x14rocprofv3 session", "rocprof"),
        ("SQLite format 3\x00", "database"),
        ("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n", "git lfs pull"),
        ('{"segments": [], "device_traces": [[]]}', "memory"),
        (AVERAGES, "export_chrome_trace"),
        ('[{"name": "aten::mm", "ph": "X", "ts": 1, "dur": 2, "tid": 1, "pid": "CPU functions"}]', "Kineto"),
    ],
)
def test_files_that_are_no_profiles_are_refused_with_what_they_are(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "dump.json"
    path.write_text(text)
    with pytest.raises(EstimatorError, match=words):
        read_profile(path)


@pytest.mark.parametrize("head", [b"PK\x03\x04" + bytes(40), b"trace.json" + bytes(247) + b"ustar" + bytes(90)])
def test_an_archive_is_to_be_unpacked(head: bytes) -> None:
    assert "unpack" in (reason(head) or "")


@pytest.mark.parametrize("compress", [lzma.compress, bz2.compress, lambda _: b"\x28\xb5\x2f\xfd\x00"])
def test_a_file_that_is_compressed_otherwise_than_by_gzip_is_to_be_unpacked(compress: Callable[[bytes], bytes]) -> None:
    assert "unpack" in (reason(compress(b'{"traceEvents": []}')) or "")


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-16-le", "utf-8"])
def test_a_table_in_another_encoding_is_to_be_saved_again(encoding: str) -> None:
    head = "op,op_type,time_s\ndénse,MatMul,1\n".encode(encoding)
    actual = reason(b"\xff\xfe" + head if encoding == "utf-16-le" else head)
    assert (actual is None) if encoding == "utf-8" else "UTF-8" in (actual or "")


def test_nothing_is_noted_of_what_is_unknown() -> None:
    assert reason(b'{"nodes": []}') is None
