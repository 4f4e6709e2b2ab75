"""Behaviour of a projection: a value with nothing in it when nothing is configured (S3.11)."""

from amiral.permissions.projection import Enforcement, ProjectedFile, Projection


def test_a_projection_of_nothing_gives_a_cli_nothing():
    assert Projection() == Projection((), (), {}, ())


def test_projections_are_values():
    file = ProjectedFile("settings.json", "{}", is_merged=False)
    assert Projection((file,)) == Projection((ProjectedFile("settings.json", "{}", False),))


def test_enforcement_is_written_as_the_probe_says_it():
    assert [str(one) for one in Enforcement] == ["enforced", "degraded", "none"]
