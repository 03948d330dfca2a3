"""The page of the API about the command line: the help of each command, as it prints it."""

import click

from bayesnb.cli import cli

PAGE = """# The command line

All commands with their options, as `bayesnb COMMAND --help` prints them. Begin with `bayesnb inspect table.csv --target
class`; [your own table in five minutes](../getting-started.md) shows the others.

```text
{group}
```
"""


def page() -> str:
    """The page, as Markdown."""
    top = click.Context(cli, info_name="bayesnb", max_content_width=100)
    text = [PAGE.format(group=cli.get_help(top))]
    for name in cli.list_commands(top):
        command = cli.commands[name]
        said = command.get_help(click.Context(command, top, name, terminal_width=100))
        text.append(f"\n## `bayesnb {name}`\n\n```text\n{said}\n```\n")
    return "".join(text)
