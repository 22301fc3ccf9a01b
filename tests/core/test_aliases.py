from pathlib import Path

from estimator.core.aliases import aliases_in, file_of_name, names_by_alias, stems_by_name


def test_files_are_known_by_name_and_alias_in_any_case(tmp_path: Path) -> None:
    known = {name: tmp_path / f"{name}.yaml" for name in ("one", "two", "broken")}
    known["one"].write_text("name: one\naliases: [Uno, eins]\n")
    known["two"].write_text("{name: two, aliases: [eins]}\n")
    known["broken"].write_text("aliases: [")
    assert aliases_in(known["one"]) == ["Uno", "eins"]
    assert file_of_name("UNO", known) == known["one"]
    assert file_of_name("Two", known) == known["two"]
    assert file_of_name("three", known) is None
    assert names_by_alias(known)["eins"] == "one"
    assert stems_by_name(known)["eins"] == ["one", "two"]
