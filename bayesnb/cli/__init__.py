"""The command line: parses, calls, prints.

Results go to stdout, everything else to stderr. What a command needs is imported when it runs, so that
``bayesnb --help`` answers at once.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from bayesnb.__about__ import __version__
from bayesnb.cli import answering, comparing, explaining, inspecting, learning, reporting


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done, 1 the data or the model are at fault, 2 the command is, 4 the sampler did not "
    "converge, 5 the two roads disagree, 130 interrupted.",
)
@click.version_option(__version__, prog_name="bayesnb")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def cli(debug: bool) -> None:
    """Naive Bayes as a probabilistic program: exact, conjugate, with its uncertainty."""


for _command in (
    comparing.compare, explaining.explain, reporting.report, learning.fit, learning.update, learning.forget,
    learning.merge, answering.predict, answering.sample, inspecting.inspect,
):  # fmt: skip
    cli.add_command(_command)


def main(args: Sequence[str] | None = None) -> None:
    """Run the command and exit with its code."""
    arguments = list(sys.argv[1:] if args is None else args)
    try:
        sys.exit(cli.main(arguments, prog_name="bayesnb", standalone_mode=False) or 0)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except (ValueError, TypeError, ArithmeticError, OSError, MemoryError) as error:
        if "--debug" in arguments:
            raise
        click.echo(f"bayesnb: {' '.join(str(error).split())}", err=True)
        sys.exit(1)
