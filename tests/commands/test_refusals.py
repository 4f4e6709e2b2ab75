"""What a worker was kept from is told below its answer."""

from amiral.base import events as ev
from amiral.commands.refusals import refusals_of, shown

AT = (1, 0)


async def test_what_was_refused_in_a_turn_is_told_once_with_the_rule(desk):
    journal = desk.journal
    who = ("t1", "dev", "s1", AT)
    await journal.append(
        ev.MessageQueued("m1", "dev", "dev-owner", "hi", "owner"),
        ev.PermissionAsked(*who, "a1", "Bash", "git push"),
        ev.PermissionAnswered(*who, "a1", False, "permissions.json:7: deny execute-bash git push*"),
        ev.PermissionAsked(*who, "a2", "Write", "src/new.py"),
        ev.PermissionAnswered(*who, "a2", True),
        ev.ToolRefused(*who, "Edit", "File is in a directory that is denied"),
        ev.ToolRefused(*who, "Edit", "File is in a directory that is denied"),
        ev.PermissionAnswered("other", "dev", "s1", AT, "a9", False, "not this turn's"),
    )
    refused = refusals_of(journal, "m1", "t1")
    assert refused == (
        "Bash git push · permissions.json:7: deny execute-bash git push*",
        "Edit · File is in a directory that is denied",
    )
    assert shown(refused).split("\n")[0] == f"✗ refused  {refused[0]}"
    assert refusals_of(journal, "m1", "") == refusals_of(journal, "unknown", "t1") == ()


def test_many_refusals_are_counted():
    assert shown(tuple(map(str, range(7)))).endswith("\n  and 2 more: amiral events")
    assert shown(()) == ""
