"""`python -m tests.benchmarks [--quick]`: prints what a message, a command and an idle hour cost on this machine.

Each line has a median and, where there is one, the ratio to a plain baseline of the same run: machines differ, and are
noisy, so compare ratios. Nothing here is a test.
"""

import argparse
import os
import platform
import tempfile
from pathlib import Path

from tests.benchmarks import editing, latency, looping, memory, sandbox, searching, storing, streaming
from tests.benchmarks.report import QUICK, Sizes


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the smallest sizes: shows that it runs, measures little")
    sizes = QUICK if parser.parse_args().quick else Sizes()
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, Linux {platform.release()}", flush=True)
    with tempfile.TemporaryDirectory(prefix="paigate-bench-") as directory:
        for benchmark in (latency, storing, sandbox, memory, streaming, looping, editing, searching):
            name = benchmark.__name__.rpartition(".")[2]
            print(*benchmark.run(Path(directory, name), sizes), sep="\n", flush=True)


if __name__ == "__main__":
    main()
