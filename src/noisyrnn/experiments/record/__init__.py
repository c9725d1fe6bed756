"""The record: what the project publishes of its runs, in files that a person reads, with networks under their names."""

from noisyrnn.experiments.record.merging import Merged, merge
from noisyrnn.experiments.record.published import Record

__all__ = ["Merged", "Record", "merge"]
