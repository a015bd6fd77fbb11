"""What each back end costs in a process of its own, measured in one run; `pytest -s` shows the figures."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from embeddings.encoder import OnnxEncoder

_MEASURE = """
import json, sys, time
start = time.perf_counter()
from pathlib import Path
if sys.argv[1] == "onnx":
    from embeddings.encoder import OnnxEncoder
    encoder = OnnxEncoder(None, Path(sys.argv[2]))
else:
    from embeddings.reference import SentenceTransformerEncoder
    encoder = SentenceTransformerEncoder(None)
ready = time.perf_counter() - start
text = "rank worker timeout " * 200
encoder.encode([text])
first = time.perf_counter() - start
runs = []
for _ in range(15):
    begin = time.perf_counter()
    encoder.encode([text])
    runs.append(time.perf_counter() - begin)  # the quickest run counts: others on the machine only ever add time
# Not ru_maxrss, which a process inherits from the one that started it.
status = Path("/proc/self/status").read_text()
peak = int(status.partition("VmHWM:")[2].split()[0]) / 1024
print(json.dumps({"ready": ready, "first": first, "text": min(runs), "mb": peak}))
"""


def measure(backend: str, cache_dir: Path) -> dict[str, float]:
    """Seconds until ready, until the first answer, for a text of 256 tokens (quickest of 15); peak memory in MB."""
    command = [sys.executable, "-c", _MEASURE, backend, str(cache_dir)]
    # The last line: libraries may print before it.
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    figures: dict[str, float] = json.loads(output.splitlines()[-1])
    print(backend, {name: round(value, 3) for name, value in figures.items()})
    return figures


@pytest.fixture(scope="module")
def costs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, float]]:
    cache_dir = tmp_path_factory.mktemp("model-cache")
    OnnxEncoder(None, cache_dir)
    return {backend: measure(backend, cache_dir) for backend in ("sentence-transformers", "onnx")}


def test_the_first_answer_comes_five_times_sooner(costs: dict[str, dict[str, float]]) -> None:
    assert costs["onnx"]["first"] * 5 <= costs["sentence-transformers"]["first"]


def test_a_text_takes_about_as_long_as_with_the_reference(costs: dict[str, dict[str, float]]) -> None:
    # The two run one after the other, on a machine that others may use.
    assert costs["onnx"]["text"] <= 1.5 * costs["sentence-transformers"]["text"]


def test_it_takes_less_than_half_the_memory(costs: dict[str, dict[str, float]]) -> None:
    assert costs["onnx"]["mb"] * 2 <= costs["sentence-transformers"]["mb"]
