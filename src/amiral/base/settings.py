"""Pure: the settings of a host as frozen values, with the defaults that work on a laptop."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Hub:
    """Where the dashboard listens."""

    host: str = "127.0.0.1"
    port: int = 8787


@dataclass(frozen=True)
class Web:
    """Who may change things from the page: owner or off."""

    control: str = "owner"


@dataclass(frozen=True)
class Telegram:
    """`master_token` is the name of a secret (`vault:…`), never the token."""

    api_base: str = "https://api.telegram.org"
    master_token: str = "vault:telegram/master"  # noqa: S105 the name of a secret
    owners: tuple[int, ...] = ()


@dataclass(frozen=True)
class DriverSettings:
    """One CLI. An empty `command` means the driver's own name."""

    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    login: str = "shared"
    config: Mapping[str, object] = field(default_factory=dict)
    scenario: str = ""


@dataclass(frozen=True)
class Sandbox:
    """`network` is open, none, or the only hosts that can be reached."""

    enforcer: str = "auto"
    mode: str = "auto"
    network: tuple[str, ...] | str = "open"


@dataclass(frozen=True)
class Limits:
    """How rate limits are waited out; `quiet_hours` as `23:00-07:00 Europe/Paris`."""

    auto_resume: bool = True
    quiet_hours: str = ""
    stagger_s: float = 60


@dataclass(frozen=True)
class Safety:
    """`stop_grace_s` is given to each level of a stop."""

    stop_grace_s: float = 2.0
    approval_ttl_s: float = 3600


@dataclass(frozen=True)
class Logs:
    """An empty `dir` means `logs` in the home."""

    dir: str = ""
    max_mb: int = 200


@dataclass(frozen=True)
class Ui:
    """`language` en, fr or auto; `zone` an IANA zone or local."""

    language: str = "auto"
    zone: str = "local"


@dataclass(frozen=True)
class ProjectSettings:
    """The owner's settings of one project; `budget` maps `turn_tokens`, `day_usd`… to its cap.

    One that is `protected` is not removed. `bot_token` is the name of a secret, never the token.
    """

    path: str = ""
    test: str = ""
    deploy: str = ""
    members: Mapping[str, str] = field(default_factory=dict)
    budget: Mapping[str, float] = field(default_factory=dict)
    protected: bool = False
    bot_token: str = ""


@dataclass(frozen=True)
class Fleet:
    """`max_concurrent_turns` 0 = no cap."""

    heartbeat_s: float = 60
    max_concurrent_turns: int = 0


@dataclass(frozen=True)
class Settings:
    """Everything that can be set (docs/reference/configuration.md).

    `budget` is what a project's own file asks for; `sources` says, by `section.key`, where each
    value that is no default comes from.
    """

    hub: Hub = Hub()
    web: Web = Web()
    telegram: Telegram = Telegram()
    drivers: Mapping[str, DriverSettings] = field(default_factory=dict)
    sandbox: Sandbox = Sandbox()
    limits: Limits = Limits()
    safety: Safety = Safety()
    logs: Logs = Logs()
    ui: Ui = Ui()
    projects: Mapping[str, ProjectSettings] = field(default_factory=dict)
    fleet: Fleet = Fleet()
    budget: Mapping[str, float] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)

    def driver(self, name: str) -> DriverSettings:
        """The settings of a driver, its command filled in."""
        found = self.drivers.get(name, DriverSettings())
        command = found.command or (name,)
        return DriverSettings(command, found.env, found.login, found.config, found.scenario)
