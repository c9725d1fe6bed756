"""Made once by version 0.1, from its directories of runs: what every later version must still be able to say.

    python tests/golden/make.py results docs/results/report.json tests/golden/version-0.1.json.gz

``runs``: the spec of each of the 373 directories and its key, ``rows``: how many, and the sha256 of the sorted rows as
version 0.1 wrote them, ``report``: everything in report.json, every number of tables, claims, figures and provenance.
"""

import gzip
import hashlib
import json
import sys
from pathlib import Path


def line(row: dict[str, object]) -> str:
    """One row in canonical JSON."""
    return json.dumps(row, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(rows: list[dict[str, object]]) -> str:
    """sha256 of the rows, whatever their order."""
    return hashlib.sha256("\n".join(sorted(map(line, rows))).encode()).hexdigest()


def main(results: Path, report: Path, out: Path) -> None:
    rows = [json.loads(text) for path in sorted(results.rglob("rows.jsonl")) for text in path.read_text().splitlines()]
    runs = [
        {"room": spec.parents[1].name, "key": spec.parent.name, "spec": json.loads(spec.read_text())}
        for spec in sorted(results.glob("*/*/spec.json"))
    ]
    golden = {
        "runs": runs,
        "rows": {"count": len(rows), "sha256": digest(rows)},
        "report": json.loads(report.read_text()),
    }
    out.write_bytes(gzip.compress(json.dumps(golden, sort_keys=True).encode(), mtime=0))
    print(f"{len(runs)} runs, {len(rows)} rows, {golden['rows']['sha256']}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
