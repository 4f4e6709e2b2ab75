"""Carries a command out without the project process, and prints as the project process would."""

import sys
from collections.abc import Callable, Sequence

from amiral.base.errors import AmiralError
from amiral.commands.arguments import parse_argv, wants_json
from amiral.commands.help import explain
from amiral.commands.output import Printed, print_error, print_reply
from amiral.commands.registry import Parsed, Reply
from amiral.commands.table import TABLE


def answer(argv: Sequence[str], carry_out: Callable[[Parsed], Reply]) -> int:
    """Parse, carry out, print; gives the exit code. `--help` explains instead."""
    as_json = wants_json(argv)
    try:
        parsed = parse_argv(argv, TABLE)
        if parsed.wants_help:
            explained = Reply(explain(TABLE, parsed.command))
            return show(print_reply(explained, as_json=as_json))
        return show(print_reply(carry_out(parsed), as_json=as_json))
    except AmiralError as error:
        return show(print_error(error, as_json=as_json))


def show(printed: Printed) -> int:
    """Write to stdout and stderr; gives the exit code."""
    sys.stdout.write(printed.out)
    sys.stderr.write(printed.err)
    return printed.exit_code
