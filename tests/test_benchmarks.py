"""The benchmarks run and print what they promise; how fast anything is, is no test."""

import re
import subprocess
import sys

import pytest

from tests.servers.product import ROOT

NUMBER = r"\d+(\.\d+)?"
SPREAD = rf"p50 {NUMBER} ms, p95 {NUMBER} ms"
RATIO = rf"{NUMBER} times .* \({SPREAD}\), -?{NUMBER} ms more"
HELD = rf"proportional {NUMBER} MiB, resident {NUMBER} MiB"
LINES = {
    "latency, new conversation": rf"{SPREAD}, n \d+; {RATIO}",
    "latency, same conversation": rf"{SPREAD}, n \d+; {RATIO}",
    "stored, no worker running": rf"\d+ a second, n \d+, \d+ in flight, p99 of one {NUMBER} ms; {NUMBER} times fewer .*",
    "stored, one at a time": rf"{SPREAD}, n \d+; {RATIO}",
    "sandbox, `true`": rf"{SPREAD}, n \d+; {RATIO}; run by .+",
    "idle, supervisor": HELD,
    "idle, Valkey": HELD,
    "idle, worker": HELD,
    "idle, demo model": HELD,
    "idle, RQ workers": rf"{HELD}, n 5; each {HELD}",
    "idle, gateway": HELD,
    "idle, everything": HELD,
    "added by running turns": rf"{HELD}, n \d+; each {HELD}",
    "reading, by segments": rf"\d+ MB/s, n \d+ of \d+ bytes; {NUMBER} times as fast as .* \(\d+ MB/s\)",
    "reading, by chunks": rf"\d+ MB/s, n \d+ of \d+ bytes; {NUMBER} times as fast as .* \(\d+ MB/s\)",
    "step, 10 messages": rf"p50 {NUMBER} ms, n \d+; {NUMBER} times a plain request \({NUMBER} ms\), -?{NUMBER} ms more",
    "edit 5 MB, exact": rf"{SPREAD}, n \d+; {RATIO}",
    "edit 5 MB, normalised": rf"{SPREAD}, n \d+; {RATIO}",
    "edit 5 MB, shifted": rf"{SPREAD}, n \d+; {RATIO}",
    "edit 5 MB, not found": rf"{SPREAD}, n \d+; {RATIO}",
    "diff of 20,000 lines": rf"{SPREAD}, n \d+; {RATIO}",
    "grep_code, few hits": rf"p50 {NUMBER} ms, n \d+; {NUMBER} times bare rg \({NUMBER} ms\), [\d,]+ files",
    "grep_code, a hit in each line": rf"p50 {NUMBER} ms, n \d+; {NUMBER} times bare rg \({NUMBER} ms\), [\d,]+ files",
}


@pytest.mark.requirement("bench.prints")
def test_every_benchmark_prints_its_numbers() -> None:
    command = [sys.executable, "-m", "tests.benchmarks", "--quick"]
    done = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    head, *printed = done.stdout.splitlines()
    assert re.fullmatch(r"Python .+, \d+ cores, Linux .+", head)
    for (name, told), line in zip(LINES.items(), printed, strict=True):
        assert re.fullmatch(rf"{re.escape(name)} +{told}", line), line
