"""The settings as values: what holds when nobody set anything."""

from amiral.base.settings import DriverSettings, Settings


def test_a_driver_without_a_command_is_called_by_its_own_name():
    settings = Settings(drivers={"claude": DriverSettings(env={"A": "x"}, scenario="s.yaml")})
    assert settings.driver("claude") == DriverSettings(
        ("claude",), {"A": "x"}, "shared", {}, "s.yaml"
    )
    assert settings.driver("codex").command == ("codex",)


def test_a_driver_keeps_the_command_it_was_given():
    settings = Settings(drivers={"claude": DriverSettings(("/opt/claude", "-x"))})
    assert settings.driver("claude").command == ("/opt/claude", "-x")


def test_what_nobody_set_stays_on_this_machine():
    assert Settings().hub.host == "127.0.0.1"
    assert Settings().telegram.owners == ()
