"""What is covered for the programs of a worker, where each runs in a box of bwrap (ADR 0017)."""

from amiral.permissions.sandbox import Cover, SandboxPlan
from amiral.processes.covers import HIDDEN_FILE, HIDDEN_FOLDER, KEPT, shared_folders
from amiral.processes.fence import Fence

BWRAP = "bwrap"


def in_box(fence: Fence, enforcer: str, plan: SandboxPlan | None = None) -> Fence:
    """Give a fence its covers when `[sandbox] enforcer` is bwrap; else it stays as it is."""
    if enforcer != BWRAP:
        return fence
    planned = ((one.path, _kind(one)) for one in (plan.covers if plan else ()))
    covers = (*shared_folders(), *planned)
    return Fence(fence.grants, fence.fenced, fence.ports, fence.root, covers)


def _kind(cover: Cover) -> int:
    if not cover.is_hidden:
        return KEPT
    return HIDDEN_FOLDER if cover.is_folder else HIDDEN_FILE
