"""Figure 3 of the paper on our networks: spectral density of the Hessian, and the loss around both.

It is `noisyrnn theory hessian`, called with networks by name.

    python studies/hessian.py [NETWORK ...] [--out studies/hessian.json] [--figure docs/results/figure-3.svg]
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from command import arguments
from networks import path_of
from readings import SIX

from noisyrnn.disk import replace

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    parser = arguments(__file__, __doc__, SIX[:2])
    parser.add_argument("--figure", default="docs/results/figure-3.svg", help="from the root of the repository")
    parser.add_argument("--samples", type=int, default=100, help="training images that the loss is over")
    given = parser.parse_args()
    program, files = str(Path(sys.executable).with_name("noisyrnn")), [str(path_of(name)) for name in given.networks]
    options = ["--samples", str(given.samples), "--radius", "0.1", "--out", given.figure, "--json"]
    command = [program, "theory", "hessian", *files, *options]
    answer = subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.PIPE)
    replace(given.out, answer.stdout)
    print(f"{given.out} and {given.figure}")


if __name__ == "__main__":
    main()
