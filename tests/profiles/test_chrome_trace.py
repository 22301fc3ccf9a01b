import gzip
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.core.errors import EstimatorError
from estimator.profiles import chrome_trace, trace_times
from estimator.profiles.chrome_trace import Identity
from estimator.profiles.dump import Dump
from tests.profiles import plain_trace

TEXT = st.text(max_size=6) | st.sampled_from(['},{"a', '"}', "\\", "]", "{[", "é\u2028🙂", "\n", '},\n{"ph":1'])
IDENTITY = st.integers(-(2**62), 2**62) | TEXT | st.floats(allow_nan=False, allow_infinity=False)
NESTED = st.recursive(TEXT | st.integers() | st.none(), lambda x: st.lists(x) | st.dictionaries(TEXT, x), max_leaves=5)
TIME = st.integers(-(10**9), 10**9) | st.integers(0, 10**15).map(lambda ns: ns / 1000) | st.just(4e-7)
ARGS = st.fixed_dictionaries({}, optional={"Input Dims": NESTED, "id": IDENTITY, "other": NESTED, "list": NESTED})
EVENT = st.fixed_dictionaries(
    {"name": TEXT, "ts": TIME},
    optional={"args": ARGS, "cat": TEXT, "pid": IDENTITY, "tid": IDENTITY | st.none(), "z": NESTED, "dur": TIME},
)


def event_type() -> type:
    import msgspec

    return chrome_trace.event_type(dims=("Input Dims", msgspec.Raw, msgspec.Raw(b"null")), id=("id", Identity, None))


def dump_of(path: Path, content: str | bytes) -> Dump:
    path.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
    return Dump(path)


def event_fields(batches: Iterator[list[Any]]) -> list[Any]:
    """The fields of events, independent of spaces in their JSON."""

    def number(raw: Any) -> Decimal | None:
        return Decimal(bytes(raw).decode()) if bytes(raw) else None

    return [
        (e.ph, e.cat, e.name, e.pid, e.tid, number(e.ts), number(e.dur), json.loads(bytes(e.args.dims)), e.args.id)
        for batch in batches
        for e in batch
    ]


@pytest.mark.slow
@given(
    events=st.lists(EVENT, max_size=25),
    indent=st.sampled_from([None, 0, 2, "\t"]),
    ascii_only=st.booleans(),
    before=st.dictionaries(TEXT, NESTED, max_size=2),
    after=st.dictionaries(TEXT, NESTED, max_size=2),
    chunk=st.sampled_from([1, 40, 1 << 20]),
)
def test_scan_equals_the_json_module(
    events: list[Any], indent: Any, ascii_only: bool, before: Any, after: Any, chunk: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    whole = before | {"traceEvents": events} | {k: v for k, v in after.items() if k != "traceEvents"}
    text = json.dumps(whole, indent=indent, ensure_ascii=ascii_only)
    dump = dump_of(tmp_path_factory.mktemp("trace") / "trace.json", text)
    fast: dict[str, Any] = {}
    plain: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chrome_trace, "CHUNK", chunk)
        fast_fields = event_fields(chrome_trace.scan(dump, event_type(), fast))
    assert fast_fields == event_fields(plain_trace.scan(dump, event_type(), plain))
    assert fast == plain


def test_reads_a_bare_array_with_any_space_and_a_byte_order_mark(tmp_path: Path) -> None:
    dump = dump_of(tmp_path / "trace.json", '\ufeff \r\n[\t{ "ph" :"X",\r\n"name":"a","ts":1} \n]\n\n')
    assert [e.name for batch in chrome_trace.scan(dump, event_type(), {}) for e in batch] == ["a"]


def test_reads_nan_infinity_and_lone_surrogates(tmp_path: Path) -> None:
    text = '{"traceEvents": [{"name": "\\ud800", "args": {"x": NaN, "y": -Infinity}, "ts": 1}, {}], "z": NaN}'
    (scanned,) = chrome_trace.scan(dump_of(tmp_path / "trace.json", text), event_type(), {})
    assert [e.name for e in scanned] == ["?", ""]


@pytest.mark.parametrize("fields", ['"args": [1]', '"name": 5', '"args": {"id": [1]}', '"tid": {"a": 1}'])
def test_odd_fields_of_events_without_duration_refuse_nothing(fields: str, tmp_path: Path) -> None:
    text = f'{{"traceEvents": [{{"ph": "i", {fields}}}, {{"ph": "C", {fields}}}, {{"ph": "X", "name": "a", "ts": 1}}]}}'
    (scanned,) = chrome_trace.scan(dump_of(tmp_path / "trace.json", text), event_type(), {})
    assert [(e.ph, e.name) for e in scanned] == [("i", ""), ("C", ""), ("X", "a")]


def test_reads_gzip_and_values_larger_than_a_window(tmp_path: Path) -> None:
    text = json.dumps({"x": ["é" * 9000], "traceEvents": [{"name": "a" * 70000, "ts": 1}]}, ensure_ascii=False)
    dump = dump_of(tmp_path / "trace.json.gz", gzip.compress(text.encode()))
    metadata: dict[str, Any] = {}
    (scanned,) = chrome_trace.scan(dump, event_type(), metadata)
    assert scanned[0].name == "a" * 70000
    assert metadata == {"x": ["é" * 9000]}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "17",
        "{}",
        '{"traceEvents": 5}',
        '{"traceEvents": [',
        '{"traceEvents": [{"name": "a"}',
        '{"traceEvents": [{"name": "a"}]',
        '{"traceEvents": [{"name": "a"} {"name": "b"}]}',
        '{"traceEvents": [5]}',
        '{"traceEvents": [null]}',
        '{"traceEvents": [{"name": 5}]}',
        '{"traceEvents": [{"args": [1]}]}',
        '{"traceEvents": [{"args": {"id": [1]}}]}',
        '{"traceEvents": []} {}',
        '{"traceEvents": [], "traceEvents": []}',
        '{"traceEvents": [], "x": nul}',
        '{"traceEvents": [' + "[" * 10**6,
        '{"traceEvents": [{"args": {"x": ' + "[" * 10**5 + "]" * 10**5 + "}}]}",
        "[" * 10**6,
        '{"a":' * 10**5,
        b"\x00" * 99,
    ],
)
def test_refuses_files_that_are_no_trace(text: str | bytes, tmp_path: Path) -> None:
    with pytest.raises(EstimatorError, match=r"trace\.json: "):
        list(chrome_trace.scan(dump_of(tmp_path / "trace.json", text), event_type(), {}))


@given(st.binary(max_size=60))
def test_damaged_traces_raise_only_estimator_errors(tail: bytes) -> None:
    import tempfile

    for head in (b"", b'{"traceEvents": [', b'{"traceEvents": [{"name": "a", "ts": 1}, '):
        with tempfile.TemporaryDirectory() as folder:
            dump = dump_of(Path(folder) / "trace.json", head + tail)
            try:
                list(chrome_trace.scan(dump, event_type(), {}))
            except EstimatorError as error:
                assert "trace.json" in str(error)


def scan_timed(tmp_path: Path, *events: str) -> list[Any]:
    text = '{"traceEvents": [' + ",".join(f'{{"ph": "X", "name": "op", {event}}}' for event in events) + "]}"
    (scanned,) = chrome_trace.scan(dump_of(tmp_path / "trace.json", text), event_type(), {})
    return scanned


@pytest.mark.parametrize(
    ("events", "name"),
    [
        ('{"name": "a"},', "a"),  # a comma too many
        (r'{"name": "C:\Users\x\\y\n"}', "C:/Users/x\\y\n"),  # backslashes that escape nothing, and others
        ('{"name": "a\tb\x01"}', "a\tb\x01"),  # plain control characters
        (b'{"name": "\xff"}', "\ufffd"),
        ('{"name": "of inf", "args": {"x": inf, "y": [-nan ,nan], "z": -inf}}', "of inf"),  # of C++
    ],
)
def test_reads_json_that_is_nearly_right(events: str | bytes, name: str, tmp_path: Path) -> None:
    content = events.encode() if isinstance(events, str) else events
    path = tmp_path / "trace.json"
    for text in (b'{"traceEvents": [%b]}' % content, b'{"traceEvents": [{}, %b], "x": "\\_"}' % content):
        (scanned,) = chrome_trace.scan(dump_of(path, text), event_type(), {})
        assert scanned[-1].name == name


def test_joins_begin_and_end_events(tmp_path: Path) -> None:
    events = [("B", "outer", 1, 1), ("B", "other", 2, 2.5), ("B", "inner", 1, 3), ("E", "", 1, 4.75), ("E", "", 1, 8)]
    lines = [{"ph": ph, "name": name, "tid": tid, "ts": ts} for ph, name, tid, ts in [*events, ("E", "", 2, 3)]]
    dump = dump_of(tmp_path / "trace.json", json.dumps(lines))
    scanned = [e for batch in chrome_trace.scan(dump, event_type(), {}) for e in batch]
    assert [(e.ph, e.name) for e in scanned] == [("X", "inner"), ("X", "outer"), ("X", "other")]
    assert trace_times.picoseconds(scanned, "dur", "t").tolist() == [1750000, 7 * 10**6, 500000]


@pytest.mark.parametrize(("ph", "problem"), [("B", "never ends"), ("E", "ends nothing")])
def test_refuses_pairs_that_do_not_close(ph: str, problem: str, tmp_path: Path) -> None:
    dump = dump_of(tmp_path / "trace.json", json.dumps([{"ph": ph, "name": "op", "ts": 1}]))
    with pytest.raises(EstimatorError, match=problem):
        list(chrome_trace.scan(dump, event_type(), {}))
