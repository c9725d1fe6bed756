"""The exponential RNN is its paper's equation."""

import pytest
import torch
from transcription import B, F, M, N, T, assert_agree, sequence

import noisyrnn
from noisyrnn.models import Parametrisation


@pytest.mark.parametrize("parametrisation", list(Parametrisation))
def test_exponential_rnn_is_its_equation(parametrisation):
    layer = noisyrnn.ExpRNN(M, N, parametrisation=parametrisation, dtype=F)
    cell = layer.cells[0]
    with torch.no_grad():
        cell.orthogonal.A.add_(0.3 * torch.randn(N, N, dtype=F))

    def transcription(x):
        S = torch.triu(cell.orthogonal.A, 1) - torch.triu(cell.orthogonal.A, 1).T
        eye = torch.eye(N, dtype=F)
        if parametrisation is Parametrisation.CAYLEY:
            Q = torch.linalg.inv(eye + S) @ (eye - S)
        else:
            Q = torch.linalg.matrix_exp(S)
            Q = cell.orthogonal.base @ Q if parametrisation is Parametrisation.DYNAMIC else Q
        h, states = torch.zeros(B, N, dtype=F), []
        for t in range(T):
            v = h @ Q.T + x[t] @ cell.U.T
            h = torch.sign(v) * torch.relu(torch.abs(v) + cell.b)
            states.append(h)
        return torch.stack(states)

    assert_agree(layer, transcription, sequence())
