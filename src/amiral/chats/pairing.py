"""`amiral pair`: make a one-time code by which somebody becomes known in chats, list, drop."""

from amiral.base.errors import Invalid
from amiral.base.plain import one_line
from amiral.chats.people import CODE_S, EVERYWHERE, People
from amiral.commands.registry import Caller, Reply, Role, command

_ROLES = {str(role): role for role in (Role.OWNER, Role.MEMBER, Role.VIEWER)}


class PairCommands:
    """`pair`; `project` is where members and viewers may something."""

    def __init__(self, people: People, project: str) -> None:
        self._people, self._project = people, project

    @command("pair")
    async def pair(
        self,
        caller: Caller,
        *,
        role: str = "owner",
        list: bool = False,  # noqa: A002 the table's name
        drop: str = "",
    ) -> Reply:
        """Make a code, or list who is paired, or drop somebody."""
        del caller
        if list:
            return self._listed()
        if drop:
            self._people.drop(drop)
            return Reply(f"✓ {one_line(drop)} is nobody any more", {"dropped": drop})
        if role not in _ROLES:
            raise Invalid(f"--role {one_line(role)} is no role", f"one of {', '.join(_ROLES)}")
        where = EVERYWHERE if _ROLES[role] is Role.OWNER else self._project
        if not where:
            raise Invalid(f"a {role} of which project?", f"amiral pair --role {role} -p NAME")
        code = self._people.offer(_ROLES[role], where)
        text = (
            f"/pair {code}\n"
            f"  written to the bot in private within {CODE_S // 60} minutes, it makes its writer"
            f" {role}{'' if where == EVERYWHERE else f' of {where}'}; it counts once"
        )
        data = {"code": code, "role": role, "project": where, "expires_s": CODE_S}
        return Reply(text, data)

    def _listed(self) -> Reply:
        paired = self._people.paired()
        lines = [
            f"{person}  {one_line(one.name)}  "
            + ", ".join(f"{role} of {where}" for where, role in one.roles.items())
            for person, one in sorted(paired.items())
        ]
        return Reply("\n".join(lines) or "nobody is paired: amiral pair", {"paired": paired})
