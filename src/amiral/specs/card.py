"""Pure: how specs look to people: a card to act on, a line of a list, one in full."""

from collections.abc import Iterable, Sequence

from amiral.base.plain import one_line
from amiral.specs.spec import Spec, Status

_LONGEST = 160
_SHORT_COMMIT = 7
_MARKS = {Status.DRAFT: "?", Status.APPROVED: "⏳", Status.EXECUTING: "⏳", Status.DONE: "✓"}


def card(spec: Spec, *, is_chat: bool) -> str:
    """Write what one needs to judge a spec, and the next step as commands of chat or terminal."""
    count = len(spec.acceptance)
    lines = [
        f"Spec {spec.id} · {_state(spec)} · {spec.complexity}",
        one_line(spec.title, _LONGEST),
        f"Why     {one_line(spec.problem, _LONGEST)}",
        f"How     {one_line(spec.approach, _LONGEST)}",
        f"Done when  {_criteria(str(count), count)} · Files {len(spec.files)}",
        *_progress(spec),
        _commands(spec, is_chat=is_chat),
    ]
    return "\n".join(lines)


def cards(specs: Iterable[Spec], refusals: Sequence[str] = (), *, is_chat: bool) -> str:
    """Write a card for each spec of an answer, and what was wrong with other blocks of it."""
    told = [card(spec, is_chat=is_chat) for spec in specs]
    if refusals:
        told.append("\n".join(f"✗ {one_line(refusal, 300)}" for refusal in refusals))
    return "\n\n".join(told)


def line(spec: Spec) -> str:
    """Write one spec in a list."""
    mark = "✗" if _is_stuck(spec) else _MARKS[spec.status]
    return f"{mark} {spec.id}  {_state(spec):<9}  {one_line(spec.title, 80)}"


def needs_owner(spec: Spec) -> bool:
    """Tell whether a spec waits for a word of the owner's."""
    return spec.status is Status.DRAFT or spec.is_failed


def call(spec: Spec) -> str:
    """Write a spec that waits for the owner, with the command that answers it."""
    verb = "spec run" if spec.is_failed else "approve"
    what = "failed" if spec.is_failed else "waits"
    return f"? spec {spec.id} {what}: {one_line(spec.title, 60)}\n  amiral {verb} {spec.id}"


def in_full(spec: Spec, *, is_chat: bool) -> str:
    """Write everything of a spec."""
    criteria = [_criterion(spec, number) for number in range(len(spec.acceptance))]
    files = [f"  {one_line(file, _LONGEST)}" for file in spec.files] or ["  none named"]
    parts = [
        f"Spec {spec.id} · {_state(spec)} · {spec.complexity} · revision {spec.revision}",
        one_line(spec.title, _LONGEST),
        f"\nWhy\n{spec.problem}",
        f"\nHow\n{spec.approach}",
        "\nDone when",
        *criteria,
        "\nFiles",
        *files,
        f"\nWritten by {spec.author} in {spec.conversation}",
        *([f"On branch {spec.branch}, attempt {spec.attempt}"] if spec.branch else []),
        *_progress(spec),
        _commands(spec, is_chat=is_chat),
    ]
    return "\n".join(parts)


def reference(spec: Spec) -> str:
    """Write the id by which exactly this revision is approved (R44)."""
    return spec.id if spec.revision == 1 else f"{spec.id}.{spec.revision}"


def _state(spec: Spec) -> str:
    return "failed" if spec.is_failed else spec.status


def _is_stuck(spec: Spec) -> bool:
    return spec.is_failed or spec.status is Status.REJECTED


def _criterion(spec: Spec, number: int) -> str:
    tick = spec.ticks[number] if number < len(spec.ticks) else ""
    met = f"  ({one_line(tick, _LONGEST)})" if tick else ""
    return f"  {'✓' if tick else '-'} {spec.acceptance[number]}{met}"


def _progress(spec: Spec) -> list[str]:
    reason = f": {one_line(spec.reason, _LONGEST)}" if spec.reason else ""
    match spec.status:
        case Status.DRAFT:
            return []
        case Status.APPROVED if spec.is_failed:
            return [f"✗ attempt {spec.attempt} failed{reason}"]
        case Status.APPROVED:
            return [f"✓ approved by {spec.by}{reason} · ⏳ waits for its turn"]
        case Status.REJECTED:
            return [f"✗ rejected by {spec.by}{reason}"]
        case Status.EXECUTING:
            return [f"⏳ {spec.worker}"]
        case _:
            return [_outcome(spec)]


def _outcome(spec: Spec) -> str:
    met = sum(1 for tick in spec.ticks if tick)
    count = len(spec.acceptance)
    parts = [f"✓ done · {_criteria(f'{met}/{count}', count)}"]
    parts += [f"commit {spec.commit[:_SHORT_COMMIT]}"] if spec.commit else []
    parts += [f"tests {one_line(spec.tests)}"] if spec.tests else []
    parts += [f"merged as {spec.merged[:_SHORT_COMMIT]}"] if spec.merged else []
    return " · ".join(parts)


def _criteria(shown: str, count: int) -> str:
    return f"{shown} {'criterion' if count == 1 else 'criteria'}"


def _commands(spec: Spec, *, is_chat: bool) -> str:
    steps = _next(spec)
    if is_chat:
        return "   ".join(f"/{in_chat}" for in_chat, _ in steps if in_chat)
    return "   ".join(f"amiral {typed}" for _, typed in steps)


def _next(spec: Spec) -> tuple[tuple[str, str], ...]:
    """Give what can be done next, as it is written in chat (if it can be) and in the terminal."""
    show = (f"spec {spec.id}", f"spec show {spec.id}")
    reject = (f"reject {spec.id}",) * 2
    match spec.status:
        case Status.DRAFT:
            return (f"approve {reference(spec)}",) * 2, reject, show
        case Status.APPROVED if spec.is_failed:
            return (f"retry {spec.id}", f"spec run {spec.id}"), reject, show
        case Status.APPROVED:
            return reject, show
        case Status.REJECTED:
            return (f"revise {spec.id}", f"spec revise {spec.id}"), show
        case Status.EXECUTING:
            return (f"interrupt {spec.worker}",) * 2, show
        case _ if spec.branch and not spec.merged:
            return ("", f"diff {spec.id}"), ("", f"merge {spec.id}"), show
        case _:
            return (show,)
