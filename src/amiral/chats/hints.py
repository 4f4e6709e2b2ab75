"""Pure: hints to the terminal, said as one would write them in a chat."""

import re

from amiral.commands.registry import Table


def in_chat(text: str, table: Table) -> str:
    """Write `amiral release 7f` as `/release 7f`, for commands that can be written in a chat."""
    spelt = {name: row.chat[0] for name, row in table.by_name().items() if row.chat}
    names = "|".join(sorted(map(re.escape, spelt), key=len, reverse=True))
    pattern = rf"\bamiral ({names})(?![\w-])"
    return re.sub(pattern, lambda found: f"/{spelt[found[1]]}", text)
