"""Another checkout beside this one: both take turns with each line of a benchmark; the least of several runs counts.

``benchmarks.families``, ``peers`` and ``speed`` do this with the option ``--beside DIR``. Two runs of a benchmark, one
after the other, differ by up to 30 % if anything else uses the machine; two processes that take turns do not. Printed
are ratios of processor time (1 is equal, more is slower), which counts all threads.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def spent(call: Callable[[], Any]) -> float:
    """Processor seconds of a call."""
    before, children = time.process_time(), os.times()
    call()
    after = os.times()
    below = after.children_user + after.children_system - children.children_user - children.children_system
    return time.process_time() - before + below


def take_turns(works: Iterable[tuple[str, Callable[[], Any]]]) -> None:
    """Name each work, and print the processor seconds of a run for each line that is read, until an empty one."""
    for name, work in works:
        work()
        print(name, flush=True)
        while sys.stdin.readline().strip():
            print(spent(work), flush=True)
    print(flush=True)


def compare(module: str, arguments: Sequence[str], folder: Path, repeats: int) -> None:
    """Print how many times as long each work of a benchmark takes as with the package in ``folder``."""

    def side(root: Path) -> subprocess.Popen[str]:
        # The benchmark comes from this checkout, and the package from ``root``, as in the processes that a line starts.
        code = f"import sys\nsys.path.insert(0, {str(ROOT)!r})\nimport benchmarks\ndel sys.path[0]\n"
        code += f"from benchmarks.{module} import main\nmain({[*arguments, '--turns']!r})"
        return subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1, text=True, cwd=root)

    def turn(process: subprocess.Popen[str]) -> float:
        process.stdin.write("run\n")
        process.stdin.flush()
        return float(process.stdout.readline())

    sides = [side(ROOT), side(folder)]
    while all(names := [each.stdout.readline().strip() for each in sides]):
        ours, theirs = map(min, zip(*(map(turn, sides) for _ in range(repeats)), strict=True))
        print(f"{names[0]:60} {ours / theirs:6.2f} times as long ({1e3 * ours:.4g} ms)", flush=True)
        for each in sides:
            each.stdin.write("\n")
            each.stdin.flush()
    for each in sides:
        if any(names):  # The other side has stopped.
            each.kill()
    if any(each.wait() for each in sides):
        raise SystemExit("the benchmark stopped with one of the packages, whose error is above")
