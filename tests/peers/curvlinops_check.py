"""Our Hessian beside that of curvlinops, on a small network in double precision.

Not a test of the suite: curvlinops brings torchvision along, which breaks other packages, so it has an environment of
its own and is installed there without its dependencies. Exit code 0 only if both libraries agree.
"""

from __future__ import annotations

import sys

import torch
from curvlinops import HessianLinearOperator
from scipy.sparse.linalg import eigsh
from torch import nn

from noisyrnn.models import Lipschitz
from noisyrnn.rnn.routes import Route, routed
from noisyrnn.theory import Hessian, top_eigenpairs, xtrace


def main() -> None:
    torch.manual_seed(0)
    network = Lipschitz(hidden=8, dt=0.2).build(inputs=2, classes=3).double().eval()
    x, y = torch.randn(40, 12, 2, dtype=torch.float64), torch.arange(40) % 3
    # Functions with backward passes of their own cannot be transformed as curvlinops does.
    with routed(Route.SCAN):
        ours = Hessian(network, x, y, batch=15)
        batches = list(zip(x.split(20), y.split(20), strict=True))
        parameters = list(ours.parameters.values())
        theirs = HessianLinearOperator(network, nn.CrossEntropyLoss(), parameters, batches)
        v = torch.randn(ours.size, dtype=torch.float64)
        product = float((ours.product(v) - (theirs @ v)).norm() / v.norm())
        values = torch.from_numpy(eigsh(theirs.to_scipy(), k=5, which="LA")[0][::-1].copy())
        found = top_eigenpairs(ours, 5, tolerance=1e-12).values
        trace = sum(float((theirs @ unit) @ unit) for unit in torch.eye(ours.size, dtype=torch.float64))
        estimate = xtrace(ours, 40)
    eigenvalues = float((found - values).abs().max() / values[0])
    off = abs(estimate.value - trace) / estimate.standard_error
    print(f"products differ by {product:.1e}, top five eigenvalues by {eigenvalues:.1e} of the largest,")
    print(f"trace {trace:.6f} there, {estimate.value:.6f} ± {estimate.standard_error:.6f} here.")
    if product > 1e-10 or eigenvalues > 1e-8 or off > 4:
        sys.exit("The two libraries disagree.")


if __name__ == "__main__":
    main()
