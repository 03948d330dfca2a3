"""The page of the API about the command line: the help of each command, as it prints it."""

from collections.abc import Iterator

import click

from bayesnb.cli import cli

PAGE = """# The command line

All commands with their options, as `bayesnb COMMAND --help` prints them on a wide terminal. Begin with `bayesnb inspect
table.csv --target class`; [your own table in five minutes](../getting-started.md) shows the others.

```text
{group}
```
"""


def page() -> str:
    """The page, as Markdown, as the commands print their help on a wide terminal."""
    top = click.Context(cli, info_name="bayesnb", terminal_width=98, **cli.context_settings)
    return PAGE.format(group=cli.get_help(top)) + "".join(_commands(cli, top))


def _commands(group: click.Group, context: click.Context) -> Iterator[str]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        inner = click.Context(command, context, name)
        yield f"\n## `{inner.command_path}`\n\n```text\n{command.get_help(inner)}\n```\n"
        if isinstance(command, click.Group):
            yield from _commands(command, inner)
