"""Does another generator of the noise change what a noisy RNN learns: heart beats again, with the same seeds.

The recorded networks of table 3 were trained with the noise of contract 1 (Philox 4x64). The same runs by contract 2
(Philox 4x32) share everything with them but the numbers themselves, so that differences are paired by seed.

    (cd SOMEWHERE && noisyrnn run table-3 --models 'nrnn mult 0.03 add 0.06' --out RUNS)    # no record to take from
    python studies/noise_contract.py RUNS
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

from command import keep
from networks import RESULTS

from noisyrnn.experiments import Row, rows
from noisyrnn.report.claims import interval
from noisyrnn.report.tables import mean

TABLE, MODEL = "table-3", "nrnn mult 0.03 add 0.06"
Cells = dict[tuple[str, float], dict[int, float]]


def cells(found: Iterable[Row], contract: int) -> Cells:
    """Accuracies by measure and level, then by seed, of the whole protocol under one contract."""
    wanted: Cells = {}
    for row in found:
        if (row.experiment, row.model, row.epochs, row.contract) == (TABLE, MODEL, 100, contract):
            wanted.setdefault((row.measure, row.level), {})[row.seed] = row.value
    return wanted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, help="directory of the new runs")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    given = parser.parse_args()
    before, after = cells(rows(RESULTS), 1), cells(rows(given.runs), 2)
    found = []
    for (measure, level), old in sorted(before.items()):
        new = after.get((measure, level), {})
        pairs = [new[seed] - old[seed] for seed in sorted(old.keys() & new.keys())]
        low, high = interval(pairs)
        found.append(
            {
                "measure": measure, "level": level, "seeds": len(pairs),
                "contract 1": round(mean(list(old.values())), 3), "contract 2": round(mean(list(new.values())), 3),
                "difference": round(mean(pairs), 3),
                "low": round(low, 3), "high": round(high, 3), "contains 0": low <= 0 <= high,
            }
        )  # fmt: skip
        print(found[-1])
    keep(given.out, {"model": MODEL, "found": found})


if __name__ == "__main__":
    main()
