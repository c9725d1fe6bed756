"""The coupled oscillatory RNN is its paper's equation."""

import math

import pytest
import torch
from transcription import B, F, M, N, T, assert_agree, sequence

import noisyrnn
from noisyrnn.models import Damping


@pytest.mark.parametrize("damping", list(Damping))
def test_coupled_oscillatory_rnn_is_its_equation(damping):
    layer = noisyrnn.CoRNN(M, N, dt=0.1, gamma=1.3, epsilon=2.0, damping=damping, dtype=F)
    joint = layer.cells[0].joint

    def transcription(x):
        y, z, states = torch.zeros(B, N, dtype=F), torch.zeros(B, N, dtype=F), []
        for t in range(T):
            force = torch.tanh(joint(torch.cat((x[t], z, y), dim=1))) - 1.3 * y
            z = z + 0.1 * (force - 2.0 * z) if damping is Damping.EXPLICIT else (z + 0.1 * force) / (1 + 0.1 * 2.0)
            y = y + 0.1 * z
            states.append(y)
        return torch.stack(states)

    assert_agree(layer, transcription, sequence(), arity=2)


def test_coupled_oscillators_start_within_the_joint_bound():
    joint = noisyrnn.CoRNN(1, 128).cells[0].joint
    bound = 1 / math.sqrt(257)
    assert 0.98 * bound < float(joint.weight.detach().abs().max()) <= bound
