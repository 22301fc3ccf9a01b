"""``estimator presets``: published definitions, all or by name."""

from tests.cli.command_line import read, run


def test_the_document_of_presets() -> None:
    names = [preset["name"] for preset in read("presets")["presets"]]
    assert names == ["candle", "ssi", "ssni", "ssp", "spec", "jupiter", "mlperf-hpc", "coral-2"]
    (ssi,) = read("presets", "ssi")["presets"]
    assert (ssi["mean"], ssi["of"], ssi["weighted"]) == ("geometric", "ratios", True)
    assert {"status", "cite", "says"} == ssi["sources"][0].keys()


def test_an_unknown_preset_is_one_sentence() -> None:
    done = run("presets", "sssp", code=1)
    assert done.stderr.startswith("the preset is 'sssp', which is none of candle, ssi")
    assert "Did you mean ssp?" in done.stderr
    assert len(done.stderr.splitlines()) == 1
