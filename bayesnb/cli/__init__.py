"""The command line: results go to stdout, everything else to stderr."""

# Commands import most modules only when they run, so that help is fast.

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Sequence

import click

from bayesnb import progress
from bayesnb.__about__ import __version__
from bayesnb.cli import asking, comparing, explaining, inspecting, judging, learning, terminal, writing
from bayesnb.wording import TableRemark


class Commands(click.Group):
    """A group whose help lists the most needed commands first."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done, 1 an error in the data or the model, 2 an error in the command, 4 the sampler did not "
    "converge, 5 closed form and sampler disagree, 130 interrupted or terminated.",
)
@click.version_option(__version__, prog_name="bayesnb")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def cli(debug: bool) -> None:
    """Predict a column of a table, and how sure the prediction is."""


for _command in (
    inspecting.inspect, writing.split, comparing.compare, learning.fit, judging.score, writing.predict,
    explaining.explain, judging.report, judging.audit, learning.update, learning.forget, learning.merge,
    writing.export, writing.sample, asking.watch, asking.questions,
):  # fmt: skip
    cli.add_command(_command)


def main(args: Sequence[str] | None = None) -> None:
    """Run the command and exit with its exit code."""
    arguments = list(sys.argv[1:] if args is None else args)
    with warnings.catch_warnings(), terminal.ended_by_signals() as arrived:
        # The findings about the table already mention identifiers and numeric classes; scikit-learn warns of these too.
        warnings.simplefilter("ignore", TableRemark)
        warnings.filterwarnings("ignore", "The number of unique classes")
        sys.exit(_code(arguments, arrived))


def _code(arguments: list[str], arrived: Sequence[int]) -> int:
    """Run the command and return its exit code; an error after a signal (in ``arrived``) counts as an interruption."""
    try:
        terminal.set_up_streams()
        terminal.require_text(arguments)
        try:
            code = cli.main(arguments, prog_name="bayesnb", standalone_mode=False) or 0
        finally:
            progress.hide()
        if sys.stdout is not None:
            # Flush here, because a write error while the process exits could not be reported.
            sys.stdout.flush()
        return code
    except click.ClickException as error:
        message = io.StringIO()
        error.show(message)
        terminal.print_error(message.getvalue().rstrip("\n"))
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _interrupted()
    except (BrokenPipeError, SystemExit) as ended:
        # The reader closed the pipe early. click then exits with code 1 and leaves this wrapper in place.
        if isinstance(ended, SystemExit) and not isinstance(sys.stdout, click.utils.PacifyFlushWrapper):
            raise
        terminal.discard_stdout()
        return 0
    except Exception as error:
        if arrived:
            return _interrupted()
        if "--debug" in arguments:
            raise
        terminal.print_error(f"bayesnb: {terminal.message_of(error)}")
        return 1


def _interrupted() -> int:
    click.echo("interrupted", err=True)
    return 130
