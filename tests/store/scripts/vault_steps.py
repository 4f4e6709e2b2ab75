"""Change the vault of a home: HOME put NAME VALUE | rotate | race WHO TIMES; tell each change."""

import sys
from pathlib import Path

from amiral.store.vault import Vault


def tell(revision):
    sys.stdout.write(f"{revision}\n")
    sys.stdout.flush()


vault, verb, words = Vault(Path(sys.argv[1])), sys.argv[2], sys.argv[3:]
if verb == "put":
    tell(vault.put(*words))
elif verb == "rotate":
    tell(vault.rotate().revision)
else:
    who, times = words
    for number in range(int(times)):
        tell(vault.put(f"{who}/{number}", f"value {number} of {who}"))
        if number % 4 == 3:
            vault.rotate()
