"""Runs cases and prints a table: ``python tests/fuzz/harness.py --cases 2000``.

A case is a target and a number; the same seed gives the same case. It is answered, or refused by an exception of this
library in one line. Anything else is wrong: an exception of another kind or from outside the library, a traceback, ten
seconds of processor time, two minutes of waiting, or two gigabytes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

PATIENCE = 10.0  # seconds of processor time for one case: another's work on the same machine is no fault of ours
WAITING = 120.0  # seconds for one that waits instead of working
MEMORY = 2 * 2**30  # bytes
STRETCH = 5_000  # cases in one process: a minute or two of a busy machine


class Hang(BaseException):
    """A case took too long."""


@dataclass
class Tally:
    """What became of the cases of one target."""

    answered: int = 0
    refused: int = 0
    wrong: int = 0
    hangs: int = 0
    longest: float = 0.0
    findings: dict[str, str] = field(default_factory=dict)


def verdict(error: BaseException, home: Path) -> str | None:
    """None for a refusal that is right; else what is wrong with it."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{type(error).__name__} at {last.filename}:{last.lineno}"
    said = str(error)
    if isinstance(error, MemoryError) or not isinstance(error, ValueError | OSError):
        return f"{where}: {said[:1500]}"
    # Sentences that scikit-learn's laws prescribe come from scikit-learn's own checks.
    lawful = Path(last.filename).parts[-3:] == ("sklearn", "utils", "validation.py")
    if isinstance(error, ValueError) and not lawful and not Path(last.filename).is_relative_to(home):
        return f"raised outside the library, {where}: {said[:300]}"
    if not said or len(said.splitlines()) > 1 or len(said) > 3000:
        return f"no sentence, {where}: {said[:300]!r}"
    return None


def attempt(call: object, random: Random, tally: Tally, name: str, home: Path) -> None:
    began = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    signal.setitimer(signal.ITIMER_REAL, WAITING)
    try:
        refused = isinstance(code := call(random), int) and code > 0  # type: ignore[operator]
        tally.refused += refused
        tally.answered += not refused
    except Hang as hang:
        tally.hangs += 1
        frames = traceback.extract_tb(hang.__traceback__)[-4:]
        tally.findings.setdefault("hang at " + " < ".join(f"{f.filename}:{f.lineno}" for f in frames[::-1]), name)
    except Exception as error:
        wrong = verdict(error, home)
        tally.refused += wrong is None
        tally.wrong += wrong is not None
        if wrong is not None:
            tally.findings.setdefault(wrong.split(": ")[0] if "Wrong" not in wrong else wrong, f"{name}: {wrong}")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
    tally.longest = max(tally.longest, time.process_time() - began)


def fuzz(cases: int, seed: int, only: str) -> dict[str, Tally]:
    import corpus
    import torch
    from commands import Commands, shares
    from targets import targets

    import noisyrnn

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    home = Path(noisyrnn.__file__).parent
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        whole = corpus.build(place)
        (place / "scratch").mkdir()
        known = {name: (target.call, target.share) for name, target in targets(place / "scratch", whole).items()}
        line = Commands(place / "scratch", whole)
        for words, share in shares(line.known).items():
            known[f"noisyrnn {' '.join(words)}"] = (lambda random, words=words: line.call(words, random)), share
        known = {name: found for name, found in known.items() if only in name}
        limit_memory()
        signal.signal(signal.SIGPROF, _late)
        signal.signal(signal.SIGALRM, _late)
        total = sum(share for _, share in known.values())
        tallies = {}
        for name, (call, share) in known.items():
            tallies[name] = Tally()
            for number in range(max(1, round(cases * share / total))):
                case = f"{seed} {name} {number}"
                attempt(call, Random(case), tallies[name], case, home)
    return tallies


def limit_memory() -> None:
    """Two gigabytes more than the library takes by being there; beyond them is a MemoryError, which is wrong."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return
    most = pages * os.sysconf("SC_PAGE_SIZE") + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def most_memory() -> int:
    """Bytes that this process has held at most; ru_maxrss would count those of the process that started it, too."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def _late(number: int, frame: object) -> None:
    raise Hang


def table(tallies: dict[str, Tally]) -> str:
    columns = f"{'target':<28}{'cases':>8}{'answered':>10}{'refused':>9}{'wrong':>7}{'hangs':>7}{'longest':>10}"
    lines = [columns]
    sums: Counter[str] = Counter()
    for name, one in tallies.items():
        counts = one.answered, one.refused, one.wrong, one.hangs
        sums.update(dict(zip(("answered", "refused", "wrong", "hangs"), counts, strict=True)))
        lines.append(_line(name, counts, one.longest))
    longest = max(one.longest for one in tallies.values())
    return "\n".join(
        [*lines, _line("all", tuple(sums[name] for name in ("answered", "refused", "wrong", "hangs")), longest)]
    )


def _line(name: str, counts: tuple[int, ...], longest: float) -> str:
    answered, refused, wrong, hangs = counts
    return f"{name:<28}{sum(counts):>8}{answered:>10}{refused:>9}{wrong:>7}{hangs:>7}{longest:>8.2f} s"


def in_stretches(cases: int, seed: int, only: str) -> dict[str, Any]:
    """The cases in processes of their own, STRETCH each; those that are done are kept, so that a stopped run goes on.

    What is kept belongs to these very sources: whatever is changed is tried again.
    """
    from noisyrnn.disk import replace

    sources = sorted([*Path("src").rglob("*.py"), *Path(__file__).parent.glob("*.py")])
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]
    whole: dict[str, Any] = {"targets": {}, "memory": 0}
    for number in range(-(-cases // STRETCH)):
        count = min(STRETCH, cases - number * STRETCH)
        kept = Path("build", "fuzz", digest, f"{seed + number}-{count}{only and '-'}{only}.json")
        if not kept.exists():
            command = [sys.executable, __file__, "--cases", str(count), "--seed", str(seed + number), "--only", only]
            done = subprocess.run([*command, "--json"], stdout=subprocess.PIPE, check=False)
            if not done.stdout:
                raise SystemExit(f"The stretch of seed {seed + number} died, exit code {done.returncode}.")
            replace(kept, done.stdout)
        merge(whole, json.loads(kept.read_bytes()))
        print(f"seed {seed + number}: {count} cases", file=sys.stderr, flush=True)
    return whole


def merge(whole: dict[str, Any], stretch: dict[str, Any]) -> None:
    """Counts are added, the longest case and the most memory stay."""
    whole["memory"] = max(whole["memory"], stretch["memory"])
    for name, told in stretch["targets"].items():
        one = whole["targets"].setdefault(name, vars(Tally()))
        for count in ("answered", "refused", "wrong", "hangs"):
            one[count] += told[count]
        one["longest"] = max(one["longest"], told["longest"])
        one["findings"] = told["findings"] | one["findings"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="a part of the targets' names")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.cases > STRETCH:
        told = in_stretches(options.cases, options.seed, options.only)
    else:
        found = fuzz(options.cases, options.seed, options.only)
        told = {"targets": {name: vars(one) for name, one in found.items()}, "memory": most_memory()}
    tallies = {name: Tally(**one) for name, one in told["targets"].items()}
    if options.json:
        print(json.dumps(told))
    else:
        print(table(tallies))
        print(f"at most {told['memory'] / 2**20:.0f} MB")
        for one in tallies.values():
            for where, case in one.findings.items():
                print(f"\n{where}\n  {case}")
    return int(any(one.wrong or one.hangs for one in tallies.values()) or told["memory"] > MEMORY)


if __name__ == "__main__":
    sys.exit(main())
