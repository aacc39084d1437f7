"""``python -m tests.fuzz --seconds 600``: every fuzzer in turn, with seeds new each time."""

import argparse
import sys
import time
from pathlib import Path

from tests.fuzz import commands, functions, kernels, models, readers, stores
from tests.fuzz.campaign import Tally, run

FUZZERS = {
    "readers": readers.case,
    "models": models.case,
    "stores": stores.case,
    "commands": commands.case,
    "functions": functions.case,
}


def kernel_tally(first, cases):
    """Run the kernels' cases in a process of their own."""
    start = time.monotonic()
    return Tally("kernels", kernels.run_child(first, cases), time.monotonic() - start, [])


def main(arguments=None):
    """Run fuzzers, print a table, and return 1 if there are findings."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="in total (default 600)")
    parser.add_argument("--seed", type=int, default=int(time.time()) * 1000, help="the first one")
    parser.add_argument("--only", choices=[*FUZZERS, "kernels"], help="one fuzzer")
    options = parser.parse_args(arguments)
    names = [options.only] if options.only else [*FUZZERS, "kernels"]
    share, findings = options.seconds / len(names), 0
    for name in names:
        if name == "kernels":
            tally = kernel_tally(options.seed, max(100, int(50 * share)))
        else:
            tally = run(name, FUZZERS[name], first=options.seed, cases=1e9, seconds=share)
        findings += len(tally.findings)
        said = f"{len(tally.findings)} findings in {tally.seconds:.0f} s"
        print(f"{name:<10} {tally.cases:>8} cases from seed {options.seed}, {said}", flush=True)
        for found in tally.findings[:5]:
            print(f"  {name}, seed {found.seed}\n{found.text}", file=sys.stderr)
    return int(findings > 0)


if __name__ == "__main__":
    sys.path.insert(0, str(Path.cwd()))
    sys.exit(main())
