"""``noisyrnn audit``: any classifiers and a file of series in, one page out, and a gate for CI."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from noisyrnn.data import Sequences


def audit(
    given: Annotated[
        list[str],
        typer.Argument(
            metavar="CLASSIFIER... DATA",
            help="ONNX files, saved models or package.module:object (with () a factory is called), each as it is or as "
            "name=classifier; last, the file of test series.",
        ),
    ],
    train: Annotated[Path | None, typer.Option(help="Training series: unit of severities, and reference.")] = None,
    target: Annotated[str | None, typer.Option(help="Column of the classes, by name or counted from 0.")] = None,
    case: Annotated[str | None, typer.Option(help="Column that tells series apart, one instant a row.")] = None,
    time: Annotated[str | None, typer.Option(help="Column that orders the instants of a series.")] = None,
    ecg: Annotated[bool, typer.Option("--ecg", help="Faults of ECG recordings, at 24 to -6 dB.")] = False,
    fault: Annotated[list[str] | None, typer.Option(help="Only this fault; may be repeated.")] = None,
    require: Annotated[
        list[str] | None, typer.Option(help='Exit with 1 unless it holds: "noise@3 >= 0.9", "worst >= 0.6".')
    ] = None,
    budget: Annotated[str, typer.Option(help="quick, standard or thorough.")] = "standard",
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same numbers.")] = 0,
    out: Annotated[Path, typer.Option(help="Directory or .html file; JSON and CSV go beside it.")] = Path("audit"),
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Audit classifiers of series: sensor faults at severities, attacks, certificates; one page, and a gate for CI.

    What was measured is kept beside the page, and an interrupted audit goes on from there. The current directory comes
    first where package.module:object is looked for.

    Example: noisyrnn audit plain=a.onnx robust=shop.models:robust test.csv --train train.csv --require "worst >= 0.6"
    """
    if len(given) < 2:
        raise typer.BadParameter("give at least one classifier, and last the file of test series")
    from noisyrnn import data, disk
    from noisyrnn.auditing import audit as conduct
    from noisyrnn.auditing.requirement import Requirement
    from noisyrnn.auditing.series import Form, Series

    for text in require or ():
        Requirement.parse(text)  # before the work, not after
    columns = data.Columns(label=int(target) if target and target.isdigit() else target, case=case, time=time)
    page = out if out.suffix.lower() in {".html", ".htm"} else out / "audit.html"
    disk.check_directory(page.parent)

    def series_of(path: Path) -> tuple[Series, tuple[str, ...]]:
        read: Sequences = data.read(path, columns)
        if read.labels is None:
            raise ValueError(f"{path} has no classes: an audit needs them; --target names their column.")
        import torch

        lengths = None if read.lengths is None else torch.from_numpy(read.lengths)
        form = Form.LIST if lengths is not None else Form.FLAT if read.x.shape[2] == 1 else Form.CHANNELS
        return Series(x=torch.from_numpy(read.x), lengths=lengths, form=form), read.labels

    X, y = series_of(Path(given[-1]))
    found = conduct(
        named(given[:-1]),
        X,
        y,
        train=None if train is None else series_of(train),
        preset="ecg" if ecg else "standard",
        faults=fault,
        budget=budget,
        seed=seed,
        cache=page.parent / "cache",
        progress=sys.stderr.isatty(),
    )
    found.save(page)
    typer.echo(found.model_dump_json(indent=1) if as_json else f"{found.summary()}\nThe page: {page}")
    failing = found.failing(*(require or ()))
    for said in failing:
        typer.echo(said, err=True)
    if failing or any(one.failed for one in found.reports):
        raise typer.Exit(1)


def named(given: list[str]) -> dict[str, Any]:
    """Classifiers by name: what is before =, else the file's or the object's own."""
    found: dict[str, Any] = {}
    for text in given:
        name, classifier = _resolved(text)
        if name in found:
            raise ValueError(f"Two classifiers are called {name!r}: name them apart, as in other={text}.")
        found[name] = classifier
    return found


def _resolved(text: str) -> tuple[str, Any]:
    """Name and classifier; a path that exists is a path, whatever it is called."""
    if Path(text).exists():
        return Path(text).stem, Path(text)
    name, equals, rest = text.partition("=")
    if equals and name and ":" not in name:
        return name, _resolved(rest)[1]
    if ":" in text:
        module, _, path = text.partition(":")
        return path.removesuffix("()").rpartition(".")[2] or text, imported(module, path)
    raise ValueError(f"{text} does not exist: give a file, a saved model or package.module:object.")


def imported(module: str, path: str) -> Any:
    """The object at ``path`` of a module, as uvicorn finds its applications; with (), what it returns when called."""
    import importlib

    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and not (module == error.name or module.startswith(f"{error.name}.")):
            raise ValueError(f"{module} needs {error.name}, which is not installed.") from error
        raise ValueError(f"There is no module {module}, here or installed: write package.module:object.") from error
    except Exception as error:
        raise ValueError(f"{module} cannot be imported: {type(error).__name__}: {error}.") from error
    finally:
        sys.path.remove(here)
    called = path.endswith("()")
    for part in path.removesuffix("()").split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise ValueError(f"{module} has no {path.removesuffix('()')}: write package.module:object.") from None
    if called:
        if not callable(found):
            raise ValueError(f"{module}:{path} is no factory: leave out the ().")
        found = found()
    elif isinstance(found, type):
        raise ValueError(f"{module}:{path} is a class: name an object, or write {module}:{path}() to make one.")
    return found
