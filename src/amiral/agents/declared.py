"""The workers of a project in force: those amiral ships, under those of its trusted registry."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from amiral.agents.worker import Roles, Worker, combine, parse_registry, parse_roles
from amiral.base.errors import Invalid, NotFound
from amiral.base.nearest import did_you_mean
from amiral.base.plain import one_line
from amiral.permissions.policy import narrowed, parse_policy
from amiral.permissions.rules import Policy, seat_of
from amiral.projects.project import Project
from amiral.projects.trust import InForce, State, Trust

REGISTRY = "config/workers_registry.json"
ROLES = "config/project_roles.json"
POLICY = "config/permissions.json"

_SHIPPED = Path(__file__).parent.parent / "framework" / "workers"
_LEAST_POWER = "consultant"


@dataclass(frozen=True)
class Rules:
    """The permissions in force; with `errors` nobody may start, and `mend` says what to do.

    `notices` tell which patterns cannot be read, and what is made of them.
    """

    policy: Policy | None = None
    errors: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    mend: str = ""


@dataclass(frozen=True)
class Declared:
    """Workers and their identities (system prompts, by worker id), and the rules they work under.

    `errors` are the mistakes of a trusted file, as `file:line: message`: with them a running
    project keeps its last good workers, and a starting one has the shipped workers. `notices` tell
    what is not in force and why.
    """

    workers: tuple[Worker, ...]
    roles: Roles
    identities: Mapping[str, str]
    notices: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    rules: Rules = Rules()

    def worker(self, worker_id: str) -> Worker:
        """Find a worker; NotFound names the known ones."""
        for worker in self.workers:
            if worker.id == worker_id:
                return worker
        known = [worker.id for worker in self.workers]
        message = f"no worker {one_line(worker_id)!r}{did_you_mean(worker_id, known)}"
        raise NotFound(message, f"known: {', '.join(known)}")


@cache
def shipped() -> Declared:
    """Give the workers amiral ships, for a folder that is no project."""
    workers = parse_registry((_SHIPPED / "workers_registry.json").read_text(), "shipped").workers
    identities = {worker.id: _shipped_skill(worker.system_prompt_skill) for worker in workers}
    return Declared(workers, Roles(), identities)


def load_declared(trust: Trust, project: Project) -> Declared:
    """Read the workers of a project as far as the owner trusts its files."""
    ours = shipped()
    registry, roles = trust.in_force(project, REGISTRY), trust.in_force(project, ROLES)
    notices = [file.notice for file in (registry, roles) if file.notice]
    own, read = parse_registry(registry.text or _EMPTY, _name(registry)), Roles()
    errors = list(own.errors)
    if roles.text is not None:
        found = parse_roles(roles.text, _name(roles))
        read, errors = found.roles, [*errors, *found.errors]
    workers = combine(ours.workers, own.workers)
    if read.active_role not in {worker.id for worker in workers}:
        notices.append(f"active role {read.active_role!r} is no worker; {_LEAST_POWER} is active")
        read = Roles(_LEAST_POWER, read.spec_auto_approve, read.max_draft_specs)
    identities = {}
    for worker in workers:
        identities[worker.id], notice = _identity(trust, project, worker)
        notices += [notice] if notice else []
    policy = trust.in_force(project, POLICY)
    rules = _rules(policy)
    unknown = _unknown(rules, workers)
    notices += [text for text in (policy.notice, *rules.errors, *rules.notices, *unknown) if text]
    return Declared(workers, read, identities, tuple(notices), tuple(errors), rules)


def _unknown(rules: Rules, workers: tuple[Worker, ...]) -> Iterator[str]:
    """Tell of a name in the policy that is no worker: what stands there holds for nobody."""
    known = {seat_of(worker.id): worker.id for worker in workers}
    for name in rules.policy.workers if rules.policy else ():
        if seat_of(name) not in known:
            hint = did_you_mean(name, known.values())
            yield f"permissions.json: no worker {one_line(name)!r}{hint}; its rules hold for nobody"


def read_rules(text: str, name: str) -> Rules:
    """Read a policy; its mistakes are kept, as `file:line: message`."""
    try:
        policy, notices = parse_policy(text, name)
        return Rules(policy, notices=notices)
    except Invalid as error:
        return Rules(errors=tuple(error.message.split("\n")))


def _rules(file: InForce) -> Rules:
    """Give what is trusted, and of what is not trusted yet the part that narrows.

    What lies there and cannot be read may have denied anything: nobody starts until it is mended.
    """
    trusted = read_rules(file.text, _name(file)) if file.text is not None else Rules()
    if trusted.errors:
        return replace(trusted, mend=_MEND)
    if file.found is None and file.state in (State.NEW, State.CHANGED):
        return Rules(trusted.policy, (_UNREAD,), trusted.notices, _MEND_FOUND)
    if file.found in (None, file.text):
        return trusted
    found = read_rules(str(file.found), _name(file))
    if found.policy is None:
        return Rules(trusted.policy, found.errors, trusted.notices, _MEND_FOUND)
    return Rules(narrowed(trusted.policy, found.policy), notices=trusted.notices)


_UNREAD = f"{POLICY} cannot be read, so what it denies is not known"
_MEND = "mend it, then `amiral trust permissions.json`"
_MEND_FOUND = (
    "mend .amiral/config/permissions.json, or remove it: "
    "what it denies holds before you trust it, and this cannot be read"
)
_EMPTY = '{"version": 1, "workers": []}'


def _name(file: InForce) -> str:
    return file.file.rpartition("/")[2]


def _identity(trust: Trust, project: Project, worker: Worker) -> tuple[str, str]:
    """Give a worker's identity and a notice: the project's trusted skill, else the shipped one."""
    skill = worker.system_prompt_skill
    if not skill:
        return "", ""
    own = trust.in_force(project, f"skills/{skill}")
    if own.text is not None:
        return own.text, own.notice
    shipped = _shipped_skill(skill)
    missing = "" if shipped else f"worker {worker.id!r}: there is no skill {skill}"
    return shipped, own.notice or missing


@cache
def _shipped_skill(skill: str) -> str:
    try:
        return (_SHIPPED / skill).read_text("utf-8") if skill.endswith(".md") else ""
    except FileNotFoundError:
        return ""
