"""One real file of every format that is read, and a run, a record and a network of this library."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from noisyrnn.checkpoint import load
from noisyrnn.data import Digits, Reading
from noisyrnn.estimator import NoisyRNNClassifier
from noisyrnn.evaluate import Clean
from noisyrnn.experiments import Experiment, Measurement, Recipe, merge, run
from noisyrnn.experiments.record.summaries import THEORY, TheorySummary
from noisyrnn.experiments.store.lease import MARKER, hold_lease
from noisyrnn.experiments.store.run_directory import RunDirectory
from noisyrnn.export import export_onnx
from noisyrnn.models import Noisy
from noisyrnn.perturb import White
from noisyrnn.train import Train

MEMBER = "inside/x"
_CSV = "label,t0,t1,t2\n" + "".join(f"{'sick' if i % 3 else 'well'},{i},{i * 0.5},{-i}\n" for i in range(12))
_TS = "# c\n@problemName p\n@univariate false\n@classLabel true a b\n@data\n" + "1,2,3:4,5,6:a\n7,8:9,10:b\n" * 5
_ARFF = (
    "% c\n@relation p\n@attribute a0 numeric\n@attribute a1 REAL\n@attribute target {sick,well}\n@data\n"
    + "1,2.5,sick\n4,5,'well'\n" * 5
)
_RELATIONAL = (
    "@relation m\n@attribute rel relational\n@attribute t0 numeric\n@end rel\n@attribute act {a,b}\n@data\n"
    + "'1,2\\n3,4',a\n\"5,6\\n7,8\",b\n" * 4
)
_LONG = "id,time,p,q,state\nA,2,30,3,ok\nB,1,7,8,bad\nA,1,10,1,ok\nA,1.5,20,2,ok\n"


@dataclass(frozen=True)
class Corpus:
    """Contents by name, and directories of real work."""

    files: dict[str, bytes]
    runs: Path
    record: Path
    run: RunDirectory
    network: Path
    fitted: Path
    experiment: Experiment


def experiment() -> Experiment:
    """One run that is trained in a fraction of a second."""
    recipe = Recipe(model=Noisy(hidden=4), train=Train(epochs=2, batch=1200, decay={0: 0.5}))
    measured = (Measurement(measure=Clean(), samples=20), Measurement(measure=White(sigma=0.2), samples=20))
    return Experiment(
        name="tiny", data=Digits(reading=Reading.ROWS), recipes={"noisy": recipe}, measurements=measured, seeds=1
    )


def build(directory: Path) -> Corpus:
    """Everything, made in a few seconds."""
    tiny = experiment()
    runs, record = directory / "runs", directory / "record"
    outcome = run(tiny, runs)
    assert outcome.complete, outcome.failures
    place = RunDirectory(next(path.parent for path in runs.glob("*/DONE")))
    about = {"per_step_R": 0.5, "exponent": None, "certified": 0.1, "attacked": 0.2}
    place.write(THEORY, TheorySummary(key=place.key, samples=20, **about))
    merge(runs, record)
    done = place.done()
    assert done is not None
    network = place.path / done.files["network"].name
    assert load(network).header.model is not None
    t = np.linspace(0.0, 6.0, 3)
    X, y = np.stack([np.sin(t * (1 + i % 2)) + 0.01 * i for i in range(12)]), np.array(["sick", "well"] * 6)
    fitted = NoisyRNNClassifier(hidden_size=4, n_epochs=1, random_state=0).fit(X, y).save(directory / "fitted")
    if find_spec("onnx") and find_spec("onnxscript"):
        # What an exporter imports takes seconds once: not a part of the first case that exports.
        export_onnx(NoisyRNNClassifier.load(fitted), directory / "fitted.onnx")
    with hold_lease(directory / "held"):
        marker = (directory / "held" / MARKER).read_bytes()
    files = {
        **_tables(),
        "network": network.read_bytes(),
        "experiment": tiny.model_dump_json().encode(),
        "progress": b'{"run": "noisy, seed 0", "text": "epoch 1", "done": 3, "total": 10}',
        "lease": marker,
    }
    return Corpus(files=files, runs=runs, record=record, run=place, network=network, fitted=fitted, experiment=tiny)


def _tables() -> dict[str, bytes]:
    found = {
        "own.csv": _CSV.encode(),
        "long.csv": _LONG.encode(),
        "own.tsv": _CSV.replace(",", "\t").encode(),
        "own.txt": _CSV.replace(",", " ").encode(),
        "own.ts": _TS.encode(),
        "own.arff": _ARFF.encode(),
        "relational.arff": _RELATIONAL.encode(),
        "idx": bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2, *range(8)]),
    }
    x, y = np.arange(24, dtype=np.float64).reshape(4, 3, 2), np.array(["a", "b", "a", "b"])
    for name, save in (("own.npz", np.savez), ("packed.npz", np.savez_compressed)):
        held = io.BytesIO()
        save(held, x=x, y=y, lengths=np.array([3, 2, 1, 3]))
        found[name] = held.getvalue()
    found |= {f"{name}.gz": gzip.compress(found[name]) for name in ("own.csv", "own.ts", "own.npz", "idx")}
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MEMBER, found["own.csv"])
        archive.writestr("other", b"0" * 100)
    found["archive.zip"] = held.getvalue()
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w:gz") as tar:
        for name, content in (("first", b"0" * 100), (MEMBER, found["own.csv"])):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    found["archive.tgz"] = held.getvalue()
    import pyarrow
    from pyarrow import parquet

    for name, columns in (
        ("own.parquet", {"label": ["a", "b"] * 6, **{f"t{i}": [float(i)] * 12 for i in range(3)}}),
        ("lists.parquet", {"label": ["a", "b"], "series": [[1.0, 2.0], [3.0]]}),
    ):
        held = io.BytesIO()
        parquet.write_table(pyarrow.table(columns), held)
        found[name] = held.getvalue()
    return found
