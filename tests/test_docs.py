"""The pages tell what is there: every command, every event, every link."""

import dataclasses
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from amiral.base import events
from amiral.commands.registry import Command
from amiral.commands.table import TABLE

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs" / "reference"
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
OF_A_MACHINE = re.compile(r"(?<![\w.~$}-])/(?:home|root|Users|work|mnt|srv)/[\w.-]+")


@cache
def pages() -> tuple[Path, ...]:
    """Every page that git holds or would be given."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    found = (ROOT / name for name in listed.split("\0") if name)
    return tuple(path for path in found if path.is_file() and "framework" not in path.parts)


def lines(page: Path):
    """Give the numbered lines of a page, those of its examples left out."""
    is_example = False
    for number, line in enumerate(page.read_text("utf-8").split("\n"), start=1):
        if line.startswith("```"):
            is_example = not is_example
        elif not is_example:
            yield number, line


def anchors(page: Path) -> set[str]:
    """Name the headings of a page as links spell them."""
    headings = (line.lstrip("# ") for _, line in lines(page) if line.startswith("#"))
    bare = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in bare}


def hold(offenders: list[str], rule: str) -> None:
    if offenders:
        pytest.fail(f"{rule}\n" + "\n".join(offenders), pytrace=False)


def broken(page: Path, link: str) -> bool:
    if "://" in link or link.startswith("mailto:"):
        return False
    path, _, heading = link.partition("#")
    target = (page.parent / path) if path else page
    return not target.exists() or bool(heading and heading not in anchors(target))


def test_there_are_pages_to_look_at():
    assert {ROOT / "README.md", REFERENCE / "events.md"} <= set(pages())


def test_every_link_leads_somewhere():
    offenders = [
        f"{page.relative_to(ROOT)}:{number}: {link}"
        for page in pages()
        for number, line in lines(page)
        for link in LINK.findall(line)
        if broken(page, link)
    ]
    hold(offenders, "A link between pages leads to a file that is there, and to a heading of it.")


def test_no_page_names_a_path_of_one_machine():
    offenders = [
        f"{page.relative_to(ROOT)}:{number}: {found[0]}"
        for page in pages()
        for number, line in enumerate(page.read_text("utf-8").split("\n"), start=1)
        if (found := OF_A_MACHINE.search(line))
    ]
    hold(offenders, "A page speaks of `~`, of the project or of the home, never of one machine.")


@pytest.mark.parametrize("kind", events.ALL, ids=lambda kind: kind.__name__)
def test_every_event_is_documented_with_its_fields(kind):
    fields = ", ".join(field.name for field in dataclasses.fields(kind))
    row = f"| `{kind.__name__}` | `{fields}` | "
    told = (REFERENCE / "events.md").read_text("utf-8").split("\n")
    if not any(line.startswith(row) for line in told):
        docstring = " ".join((kind.__doc__ or "").split())
        pytest.fail(f"docs/reference/events.md lacks:\n{row}{docstring} |", pytrace=False)


def test_no_event_is_documented_that_is_not_there():
    told = re.findall(r"(?m)^\| `(\w+)` \|", (REFERENCE / "events.md").read_text("utf-8"))
    assert sorted(told) == sorted(kind.__name__ for kind in events.ALL)


@pytest.mark.parametrize("row", list(TABLE), ids=lambda row: row.name)
def test_every_command_is_named_in_the_reference(row: Command):
    text = (REFERENCE / "commands.md").read_text("utf-8")
    assert re.search(rf"`amiral {re.escape(row.name)}\b", text)


def test_the_readme_names_commands_of_this_version_only():
    text = (ROOT / "README.md").read_text("utf-8")
    named = set(re.findall(r"^\| `amiral ([a-z-]+(?: [a-z]+)?)", text, re.MULTILINE))
    rows = TABLE.by_name()
    assert named
    offenders = [name for name in sorted(named) if name not in rows or rows[name].later]
    hold(offenders, "README.md lists commands that this version has.")
