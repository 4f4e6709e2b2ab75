"""K4: neither the vault nor its key lies in anything that is granted to an agent."""

import json
import os

import pytest

from amiral.agents.declared import read_rules
from amiral.agents.fencing import Footing
from amiral.agents.rights import Rights
from amiral.base.errors import Denied
from amiral.base.settings import Sandbox
from amiral.processes import fence as kernel
from amiral.processes.probe import Probed
from amiral.store.vault import Vault


@pytest.fixture
def home(tmp_path):
    Vault(tmp_path / "home").put("a", "value of a")
    return tmp_path / "home"


@pytest.fixture
def rights(home):
    async def probe():
        return Probed("enforced", 7)

    async def heard(_):
        pass

    told = {"version": 1, "default": "allow", "rules": []}
    rules = read_rules(json.dumps(told), "permissions.json")
    return Rights(lambda: rules, Sandbox(), probe, home, heard)


def holds(folder, path):
    return f"{path}/".startswith(f"{folder.rstrip('/')}/")


async def test_k4_a_worker_that_may_everything_is_granted_neither_vault_nor_key(
    home, works, rights, tmp_path
):
    root = home / "projects" / "shop" / "worktrees" / "dev"
    root.mkdir(parents=True)
    (tmp_path / "link").symlink_to(home / "vault")
    right = await rights.of(works.make_worker())
    own = (home / "projects" / "shop" / "workers" / "dev" / "home",)
    programs = (str(home / "vault"), str(tmp_path / "link"), str(home / "vault" / "keys"))
    fence = rights.compile(right, Footing(root, own, programs)).fence
    assert fence is not None
    vault = [str(path) for path in (home / "vault", *(home / "vault").rglob("*"))]
    vault.append(str(home / "vault_revision.json"))
    reaching = {
        (path, bits)
        for path, bits in fence.grants
        for one in vault
        if holds(os.path.realpath(path), one) or holds(one, os.path.realpath(path))
    }
    assert reaching == {("/", kernel.LIST)}, "names alone may be listed"


@pytest.mark.parametrize("place", ["", "vault", "vault/keys"])
async def test_k4_a_folder_that_holds_the_vault_or_its_key_is_refused(home, works, rights, place):
    right = await rights.of(works.make_worker())
    with pytest.raises(Denied, match="where its workers would reach it"):
        rights.compile(right, Footing(home / place, ()))
