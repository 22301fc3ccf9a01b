import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.core import yaml_files
from estimator.core.errors import EstimatorError
from estimator.core.types import DeviceSpec

DEVICE = """name: v100
peak:
  fp32: 15.7 TFLOP/s
memory_bandwidth: 900 GB/s
"""


def faults_of(path: Path, text: str) -> tuple[str, ...]:
    path.write_text(text)
    with pytest.raises(EstimatorError) as caught:
        yaml_files.check(DeviceSpec, yaml_files.read_yaml(path))
    return caught.value.faults


def test_a_size_instead_of_a_rate_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "v100.yaml"
    (fault,) = faults_of(path, DEVICE.replace("900 GB/s", "900 GB"))
    expected = "memory_bandwidth is '900 GB', which is a size; write a rate such as '900 GB/s'"
    assert fault == f"{path}:4: {expected}"


def test_a_duplicate_key_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "v100.yaml"
    (fault,) = faults_of(path, DEVICE + "memory_bandwidth: 800 GB/s\n")
    assert fault == f"{path}:5: the key 'memory_bandwidth' stands twice (first on line 4); delete one"


def test_all_faults_come_together_with_their_lines(tmp_path: Path) -> None:
    text = "name: v100\npeak:\n  fp32: 15.7 TFLOP\n  fp31: 3 TFLOP/s\nmemory_bandwith: 900 GB/s\npower_limit: -3 W\n"
    faults = faults_of(tmp_path / "v100.yaml", text)
    assert len(faults) == 4
    assert any(":3:" in f and "amount of arithmetic" in f for f in faults)
    assert any("fp31" in f for f in faults)
    assert any(":5:" in f and "Did you mean memory_bandwidth?" in f for f in faults)
    assert any(":6:" in f and "not above zero" in f for f in faults)


@pytest.mark.parametrize("written", ["1e-300 GB/s", "1e200 GB/s"])
def test_what_no_machine_has_is_refused(tmp_path: Path, written: str) -> None:
    faults = faults_of(tmp_path / "toy.yaml", DEVICE.replace("900 GB/s", written))
    assert f"memory_bandwidth is '{written}', which no machine has; write a rate such as '900 GB/s'" in faults[0]


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("010", "010, which YAML counts by eights; write 10, or '010' in quotes where it is a text"),
        ("0600", "0600, which YAML counts by eights; write 600, or '0600' in quotes where it is a text"),
        ("-007", "-007, which YAML counts by eights; write -7, or '-007' in quotes where it is a text"),
        ("1:30", "1:30, which YAML counts by sixties; write a plain number, or '1:30' in quotes where it is a text"),
        ("1:30.5", "1:30.5, which YAML counts by sixties; write a plain number, or '1:30.5' in quotes where it is a"),
    ],
)
def test_a_number_that_yaml_counts_otherwise_is_refused_with_its_line(
    tmp_path: Path, written: str, problem: str
) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(f"a: 1\nb:\n- c: {written}\n")
    with pytest.raises(EstimatorError) as caught:
        yaml_files.read_yaml(path)
    assert str(caught.value).startswith(f"{path}:3: b.0.c is {problem}")


def test_numbers_as_people_count_and_texts_in_quotes_are_read(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text("a: [0, 0.5, 0x10, '010', \"1:30\", 6 h, 08, 2026-01-02]\n")
    read = yaml_files.read_yaml(path).data["a"]
    assert read == [0, 0.5, 16, "010", "1:30", "6 h", "08", datetime.date(2026, 1, 2)]


def test_a_zero_count_is_refused_without_a_hint_on_percentages(tmp_path: Path) -> None:
    (fault,) = faults_of(tmp_path / "v100.yaml", DEVICE + "compute_units: 0\n")
    assert fault.endswith("compute_units is 0, which is not above zero; write a plain number above zero")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "expected 'key: value' lines"),
        ("- a\n- b\n", "expected 'key: value' lines"),
        ("name: [\n", "this is not YAML"),
        ("name: !!python/object:os.system x\n", "cannot be read"),
        ("name: toy\n", "no peak is given"),
        ("name: toy\npeak: fast\nmemory_bandwidth: 1 GB/s\n", "write one line per precision"),
        ("name: toy\npeak: {fp32: 1 TFLOP/s}\n", "'memory_bandwidth' is missing"),
        ("name: toy\npeak: {fp32: {valu: 1 TFLOP/s}}\nmemory_bandwidth: 1 GB/s\n", "has no 'value'"),
        ("a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n", "not a key"),
        ("a: &a\n  b: *a\n", "contains itself"),
    ],
)
def test_files_that_are_no_device_are_refused(tmp_path: Path, text: str, words: str) -> None:
    assert any(words in fault for fault in faults_of(tmp_path / "toy.yaml", text))


def test_aliases_of_aliases_are_bounded(tmp_path: Path) -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 9)]
    assert any("more than" in fault for fault in faults_of(tmp_path / "toy.yaml", "\n".join(levels)))


@pytest.mark.parametrize(
    ("written", "key"),
    [("memory: 192 GB", "memory_capacity"), ("memory: 8 TB/s", "memory_bandwidth"), ("power: 700 W", "power_limit")],
)
def test_the_first_word_of_a_key_suggests_the_one_that_takes_its_value(tmp_path: Path, written: str, key: str) -> None:
    (fault,) = faults_of(tmp_path / "toy.yaml", f"{DEVICE}{written}\n")
    assert fault.endswith(f"Did you mean {key}?")


@pytest.mark.slow
def test_the_results_of_a_report_are_no_study(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    values = ", ".join(f'"n{i}": {i}' for i in range(yaml_files.MOST_VALUES))
    path.write_text(f'{{"title": "t", "estimator_version": "1", {values}}}')
    with pytest.raises(EstimatorError, match=r"results.json: this is the results of a report; give its study.yaml"):
        yaml_files.read_yaml(path)


@pytest.mark.slow
@given(text=st.text(max_size=200))
def test_any_text_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("any") / "any.yaml"
    path.write_text(text, encoding="utf-8")
    try:
        yaml_files.check(DeviceSpec, yaml_files.read_yaml(path))
    except EstimatorError as error:
        assert error.faults


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: {b: 1,000}", ":1: b is 1,000; a number has no commas, so write 1000"),
        ("a: {b: 1,000, c: 2}", ":1: b is 1,000; a number has no commas, so write 1000"),
        ("a: {c: 2,\n  b: 1,000 h}", ":2: b is 1,000 h; a number has no commas, so write 1000 h"),
        ("a: {256: 1,000,000}", ":1: 256 is 1,000; a number has no commas, so write 1000"),
    ],
)
def test_a_comma_in_a_number_in_braces_is_explained(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(EstimatorError) as caught:
        yaml_files.read_yaml(path)
    assert str(caught.value) == f"{path}{sentence}"


def test_a_comma_in_a_number_on_its_own_line_is_explained(tmp_path: Path) -> None:
    (fault,) = faults_of(tmp_path / "v100.yaml", DEVICE + "pcie_generation: 1,000\n")
    assert fault.endswith("pcie_generation is '1,000'; expected a whole number without commas")


def test_keys_without_values_in_braces_are_no_numbers(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("a: {b: 1, 256: 7, c: }")
    assert yaml_files.read_yaml(tmp_path / "x.yaml").data == {"a": {"b": 1, "256": 7, "c": None}}


def test_merge_keys_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_text("a: &x {b: 1}\nc:\n  <<: *x\n")
    with pytest.raises(EstimatorError, match=r"f.yaml:3: merge keys \('<<'\) are not read; write their keys out"):
        yaml_files.read_yaml(path)
