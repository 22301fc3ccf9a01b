"""Study files: one of given times, and one of estimates on a shipped system and a device of the user's."""

from pathlib import Path

STUDY = """title: t
baseline: old
figure_of_merit: {mean: harmonic, of: rates}
machines:
  old: {nodes: 10}
  new: {nodes: 20}
units_of_work:
  A: {time_per_unit: {old: 2 h, new: 1 h}}
"""


def write(folder: Path, text: str) -> Path:
    """A study of this text."""
    path = folder / "study.yaml"
    path.write_text(text)
    return path


ESTIMATED = """title: t
baseline: titan
machines:
  titan: {system: titan}
  mine: {device: mine.yaml, devices_per_node: 4, nodes: 2}
units_of_work:
  A: {profile: p1b3, epochs: 2, load_time: 90 s}
draws: 50
"""
