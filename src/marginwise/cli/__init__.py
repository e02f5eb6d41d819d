"""The command line. Each command is a module with ``add_arguments(parser)`` and ``run(arguments)``, an exit code.

Only the module of the command that is asked for is imported, so that help and errors in the arguments are quick.
"""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
from collections.abc import Collection, Sequence
from contextlib import nullcontext
from importlib import import_module
from importlib.metadata import version
from typing import Any

from marginwise._runtime.interrupts import answer_interrupts
from marginwise.cli.text import remark
from marginwise.errors import Finding, InvalidInputError, MarginwiseError, ModelFileError

#: Exit codes other than 0: failure, invalid arguments or data, Ctrl-C, and a reader that closed the pipe.
FAILURE, MISTAKE, INTERRUPTED, CLOSED_PIPE = 1, 2, 128 + signal.SIGINT, 128 + 13

_COMMANDS = {
    "fit": "tune and train on a table; write a model and a report",
    "report": "write the report of an existing model",
    "update": "add rows to a model, or forget some, without tuning again",
    "predict": "predict the rows of a table with a model",
    "explain": "explain the predictions for the rows of a table",
    "export": "export a model as ONNX or JSON, for other programs",
    "compare": "compare criteria and other classifiers on a table",
    "datasets": "list the five benchmark data sets, or write one",
    "warmup": "compile everything now, so that the first use does not wait",
    "study": "reproduce the study of Gold & Sollich (2003), or run your own",
}

#: Arguments of the library whose options have another name.
_OPTIONS = {"random_state": "--seed", "n_jobs": "--jobs", "name": "NAME", "positive_class": "--positive"}

#: Arguments of commands that are not options, although the library may have an argument of that name.
_NO_OPTIONS = {"model", "table"}

_EPILOG = """\
examples:
  marginwise fit patients.csv --target diabetic
  marginwise predict patients.skops new-patients.csv --proba > predictions.csv
  marginwise update patients.skops last-week.csv
  marginwise explain patients.skops new-patients.csv --report why.html
  marginwise compare patients.csv --target diabetic

'marginwise COMMAND --help' lists its options.
Exit codes: 0 success, 1 failure, 2 invalid arguments or data, 130 Ctrl-C."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # do not fail on a label that the terminal can't show
            stream.reconfigure(errors="backslashreplace")
    words = list(sys.argv[1:] if argv is None else argv)
    command = next((word for word in words if not word.startswith("-")), None)
    name = f"marginwise {command}" if command in _COMMANDS else "marginwise"
    options: set[str] = set()
    try:
        # A study answers Ctrl-C itself: it keeps what is finished.
        with nullcontext() if command == "study" else answer_interrupts(signal.default_int_handler):
            arguments = _parser(command).parse_args(words)
            options = vars(arguments).keys() - _NO_OPTIONS
            code: int = arguments.run(arguments)
            sys.stdout.flush()
            return code
    except SystemExit as end:  # argparse: after --help, --version or a mistake
        return end.code if isinstance(end.code, int) else FAILURE
    except KeyboardInterrupt:
        return _say(f"{name}: interrupted", INTERRUPTED)
    except BrokenPipeError:
        # Python flushes standard output once more at its end, which must not complain again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED_PIPE
    except InvalidInputError as mistake:
        return _say(f"{name}: error: {_in_words(mistake, options)}", MISTAKE)
    except MarginwiseError as error:
        return _say(f"{name}: error: {error}", MISTAKE if isinstance(error, ModelFileError) else FAILURE)
    except MemoryError as error:
        return _say(f"{name}: error: not enough memory ({error}); try with fewer rows or columns", FAILURE)
    except OSError as error:
        return _say(f"{name}: error: {error.filename or 'output'}: {error.strerror or error}", FAILURE)


def _parser(command: str | None) -> argparse.ArgumentParser:
    """Return the parser of all commands; only ``command`` knows its arguments."""
    parser = argparse.ArgumentParser(
        prog="marginwise",
        description="Support vector machines that tune themselves.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"marginwise {version('marginwise')}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, summary in _COMMANDS.items():
        own = commands.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name == command:
            module: Any = import_module(f"marginwise.cli.{name}")
            own.set_defaults(run=getattr(module, "run", None))
            module.add_arguments(own)
    return parser


def _in_words(mistake: InvalidInputError, options: Collection[str]) -> str:
    """Return the message, with the names that the command line has for arguments of the library."""
    if mistake.argument == "path":
        return f"{mistake.value}: expected {mistake.allowed}"
    same = f"--{mistake.argument.replace('_', '-')}" if mistake.argument in options else mistake.argument
    found = f"is {mistake.value!r}"
    if isinstance(mistake.value, Finding) or mistake.value is None:
        found = mistake.value or "is not given"
    return f"{_OPTIONS.get(mistake.argument, same)} {found}; expected {mistake.allowed}"


def _say(message: str, code: int) -> int:
    remark(" ".join(message.split()) + "\n")
    return code
