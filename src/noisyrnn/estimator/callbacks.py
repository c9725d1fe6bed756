"""Callbacks of a classifier's training: called as ``callback(estimator, record)`` after each epoch; True ends it.

A record has epoch, epochs, loss, seconds, and validation_accuracy where a part of the data is held back.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

Record = dict[str, Any]
Callback = Callable[[Any, Record], bool | None]


class TensorBoard:
    """Loss and validation accuracy of each epoch, for TensorBoard.

    Example: ``NoisyRNNClassifier(callbacks=[TensorBoard("logs")])``, then ``tensorboard --logdir logs``.
    """

    def __init__(self, directory: str | Path) -> None:
        self.directory = directory

    def __call__(self, estimator: Any, record: Record) -> None:
        """Append the record to the log; it is opened anew each time, so that nothing stays open in a copy."""
        try:
            writer_of = import_module("torch.utils.tensorboard").SummaryWriter
        except ImportError as error:
            raise ValueError("TensorBoard is not installed: pip install 'tensorboard>=2.21'.") from error
        with writer_of(str(self.directory)) as writer:
            for name in ("loss", "validation_accuracy"):
                if record.get(name) is not None:
                    writer.add_scalar(name, record[name], record["epoch"])


class Printed:
    """A line about every tenth of the training, on standard output."""

    def __call__(self, estimator: Any, record: Record) -> None:
        every = max(1, record["epochs"] // 10)
        if record["epoch"] % every == 0 or record["epoch"] == record["epochs"]:
            measured = record.get("validation_accuracy")
            more = "" if measured is None else f", validation accuracy {measured:.3f}"
            print(
                f"epoch {record['epoch']} of {record['epochs']}: loss {record['loss']:.4f}{more}, "
                f"{record['seconds']:.1f} s",
                flush=True,
            )
