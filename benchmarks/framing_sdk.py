"""The same messages through claude-agent-sdk, run by an interpreter that has it.

`PYTHON benchmarks/framing_sdk.py CLI ROUNDS` prints messages a second of this process' CPU time.
"""

import asyncio
import sys
import time

from claude_agent_sdk import (  # type: ignore[import-not-found]
    AssistantMessage,
    ClaudeAgentOptions,
    ResultMessage,
    query,
)


async def count(cli: str) -> int:
    kinds = (AssistantMessage, ResultMessage)
    options = ClaudeAgentOptions(cli_path=cli)
    return sum([isinstance(one, kinds) async for one in query(prompt="x", options=options)])


def main() -> None:
    best = 0.0
    for _ in range(int(sys.argv[2])):
        began = time.process_time()
        found = asyncio.run(count(sys.argv[1]))
        best = max(best, found / (time.process_time() - began))
    print(best)


if __name__ == "__main__":
    main()
