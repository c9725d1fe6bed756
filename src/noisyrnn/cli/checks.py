"""What every command has in common: help that is not cut, places checked before the work, options that count."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from typer.core import TyperCommand, TyperGroup

_given: ContextVar[tuple[str, ...]] = ContextVar("given", default=())


class Group(TyperGroup):
    """A group of commands whose list shows the whole first sentence of each."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        named = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, _first(command.help or "")) for name, command in named if command and not command.hidden]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)


def _first(text: str) -> str:
    """The first paragraph, on one line."""
    return " ".join(text.strip().split("\n\n")[0].split())


class Command(TyperCommand):
    """A command that knows which of its options were given."""

    def invoke(self, ctx: Any) -> Any:
        sources = {one.opts[0]: ctx.get_parameter_source(one.name or "") for one in self.params}
        _given.set(tuple(name for name, source in sources.items() if source and source.name == "COMMANDLINE"))
        return super().invoke(ctx)


def refuse_ignored(without: str, *options: str) -> None:
    """Refuse options that were given, where the command would not look at them; ``without`` says why."""
    for option in _given.get():
        if option in options:
            raise ValueError(f"{option} changes nothing {without}: leave it out.")
