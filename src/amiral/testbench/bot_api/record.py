"""The record of every request with its time: to count calls, and to look for leaks."""

from dataclasses import asdict, dataclass, field

from amiral.testbench.bot_api.wire import Json


@dataclass
class Request:
    """One request; `status` 0 when it got no answer, `fault` what was done to it on purpose."""

    at_ms: int
    bot: int
    method: str
    parameters: Json = field(default_factory=dict)
    status: int = 0
    description: str = ""
    fault: str = ""


class Record:
    """All requests in the order of their coming."""

    def __init__(self) -> None:
        self._requests: list[Request] = []

    def add(self, request: Request) -> Request:
        """Keep one; what becomes of it is written into it later."""
        self._requests.append(request)
        return request

    def find(self, bot: int = 0, method: str = "", since: int = 0) -> list[Json]:
        """Give those of a bot and a method, from the number `since` on, each with its number."""
        return [
            {"number": number, **asdict(one)}
            for number, one in enumerate(self._requests)
            if number >= since
            and bot in {0, one.bot}
            and method.lower() in {"", one.method.lower()}
        ]
