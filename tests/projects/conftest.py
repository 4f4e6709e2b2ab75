"""A user's checkout with a bit of everything in it, and worktrees of it in a home."""

import hashlib
import os
import stat
import subprocess
from pathlib import Path

import pytest

from amiral.processes.spawn import Spawner
from amiral.projects.git import Git
from amiral.projects.worktrees import Worktrees
from amiral.store.brake import Brake

WHO = ("-c", "user.name=Ada", "-c", "user.email=ada@shop.invalid")


class Checkout:
    """A repository of the user's, made and looked at with git alone."""

    def __init__(self, root: Path):
        self.root = root
        self.root.mkdir(parents=True, exist_ok=True)

    def git(self, *words, at: Path | None = None, code=0) -> str:
        ran = subprocess.run(
            ("git", *WHO, *words),
            cwd=at or self.root,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == code, (words, ran.stdout, ran.stderr)
        return ran.stdout.rstrip("\n")

    def begin(self, *words) -> "Checkout":
        self.git("init", "--quiet", "--initial-branch=main", *words)
        return self

    def write(self, name: str, text: str, at: Path | None = None, mode=0o644) -> Path:
        path = (at or self.root) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path

    def commit(self, message="more", at: Path | None = None, **files: str) -> str:
        for name, text in files.items():
            self.write(name.replace("__", "/").replace("_", "."), text, at)
        self.git("add", "--all", at=at)
        self.git("commit", "--quiet", "--allow-empty", "--message", message, at=at)
        return self.git("rev-parse", "HEAD", at=at)

    def branches(self) -> list[str]:
        return self.git("for-each-ref", "--format=%(refname:short)", "refs/heads").split("\n")

    def manifest(self) -> dict[str, str]:
        """Everything of the user's: files with modes, HEAD, index, refs, configuration, status."""
        told = {
            "status": self.git("status", "--porcelain", "--ignored"),
            "refs": self.git("for-each-ref"),
            "worktrees": self.git("worktree", "list"),
            "stash": self.git("stash", "list"),
        }
        common = Path(self.git("rev-parse", "--path-format=absolute", "--git-common-dir"))
        own = Path(self.git("rev-parse", "--absolute-git-dir"))
        kept = [own / "HEAD", own / "index", common / "config", common / "packed-refs"]
        kept += sorted((common / "refs" / "heads").rglob("*"))
        kept += [path for path in sorted(self.root.rglob("*")) if not is_ours(self.root, path)]
        return told | {str(path): looks(path) for path in kept}


def is_ours(root: Path, path: Path) -> bool:
    return bool({".git", ".amiral"} & set(path.relative_to(root).parts))


def looks(path: Path) -> str:
    if not os.path.lexists(path):
        return "absent"
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode):
        return f"link {os.readlink(path)}"
    if not stat.S_ISREG(found.st_mode):
        return f"{found.st_mode:o}"
    return f"{found.st_mode:o} {hashlib.sha256(path.read_bytes()).hexdigest()}"


@pytest.fixture
def user(tmp_path, monkeypatch):
    """The home of a user, without settings of git."""
    home = tmp_path / "user"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return home


@pytest.fixture
def shop(tmp_path, user):
    """Committed, staged, changed, untracked and ignored files, a link, a program."""
    shop = Checkout(tmp_path / "shop").begin()
    shop.write(".gitignore", "*.log\n")
    shop.write("run.sh", "#!/bin/sh\n", mode=0o755)
    (shop.root / "link").symlink_to("run.sh")
    shop.commit("A shop", cart_py="total = 0\n", docs__guide_md="Buy.\n", paid_py="x = 1\n")
    shop.write("staged.txt", "staged\n")
    shop.git("add", "staged.txt")
    shop.write("paid.py", "x = 2\n")
    shop.write("notes.txt", "untracked\n")
    shop.write("debug.log", "ignored\n")
    shop.write(".amiral/state/spec_queue.json", "[]\n")
    return shop


@pytest.fixture
def clean(shop):
    """The same, with nothing uncommitted."""
    shop.commit("all of it")
    return shop


@pytest.fixture
def worktrees_of(tmp_path):
    """Give the worktrees of a checkout, or of a folder in it, as a new process sees them."""
    brake = Brake(tmp_path / "brake")
    brake.prepare()

    def make(root: Path, home="home") -> Worktrees:
        folder = tmp_path / home / "worktrees"
        return Worktrees(Git(Spawner(brake, "h:p")), root, folder)

    return make


@pytest.fixture
def worktrees(worktrees_of, shop):
    return worktrees_of(shop.root)


@pytest.fixture
def home(tmp_path):
    """The folder of the worktrees, in the home."""
    return tmp_path / "home" / "worktrees"


@pytest.fixture
def alarm(tmp_path):
    """A program of an agent's: whether it was run is seen by the file it leaves."""
    bell = tmp_path / "rung"
    program = tmp_path / "alarm.sh"
    program.write_text(f'#!/bin/sh\necho "$0 $@" >>{bell}\nexec cat\n')
    program.chmod(0o755)
    return program, bell


@pytest.fixture
def checkout():
    return Checkout
