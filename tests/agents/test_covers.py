"""A fence gets its covers where each program runs in a box, and nowhere else."""

from amiral.agents.covers import in_box
from amiral.permissions.rules import Posture
from amiral.permissions.sandbox import Cover, SandboxPlan
from amiral.processes.covers import HIDDEN_FILE, HIDDEN_FOLDER, KEPT, shared_folders
from amiral.processes.fence import Fence

FENCE = Fence((("/p", 7),), 7, (80,), "/p")
COVERS = (
    Cover("/p/kept", is_folder=False, is_hidden=False),
    Cover("/p/.git", is_folder=True, is_hidden=False),
    Cover("/p/key", is_folder=False, is_hidden=True),
    Cover("/p/keys", is_folder=True, is_hidden=True),
)
PLAN = SandboxPlan("/p", (), frozenset(), Posture.ALLOW, (), (), COVERS)


def test_without_boxes_a_fence_stays_as_it_is():
    for enforcer in ("auto", "landlock", "none"):
        assert in_box(FENCE, enforcer, PLAN) is FENCE


def test_in_a_box_shared_folders_are_hidden_and_the_plan_is_covered():
    boxed = in_box(FENCE, "bwrap", PLAN)
    planned = (
        ("/p/kept", KEPT),
        ("/p/.git", KEPT),
        ("/p/key", HIDDEN_FILE),
        ("/p/keys", HIDDEN_FOLDER),
    )
    assert boxed == Fence((("/p", 7),), 7, (80,), "/p", (*shared_folders(), *planned))


def test_without_a_plan_a_box_hides_shared_folders_still():
    assert in_box(FENCE, "bwrap").covers == shared_folders()
