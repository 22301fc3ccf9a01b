"""Strategy: devices with every kind of cell."""

from hypothesis import strategies as st

from estimator.core.types import DeviceSpec
from tests.conftest import make_device

RATES = st.integers(1, 3000).map(lambda rate: f"{rate} GB/s")
PEAKS = st.one_of(st.none(), st.just("unsupported"), st.integers(1, 900).map(lambda rate: f"{rate} TFLOP/s"))


@st.composite
def devices(draw: st.DrawFn) -> list[DeviceSpec]:
    devices = []
    for number in range(draw(st.integers(1, 6))):
        bf16 = draw(PEAKS)
        fields: dict[str, object] = {"peak": {"fp32": "10 TFLOP/s", **({"bf16": bf16} if bf16 else {})}}
        fields["vendor"] = draw(st.sampled_from([None, "A", "B inc", "b"]))
        fields["year"] = draw(st.one_of(st.none(), st.integers(2012, 2026)))
        status = draw(st.sampled_from([None, "read", "recall"]))
        fields["memory_bandwidth"] = {"value": draw(RATES), "status": status, "source": "x"}
        devices.append(make_device(name=f"d{number}", **fields))
    return devices
