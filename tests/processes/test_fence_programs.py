"""Programs that agents use run behind the fence as they do without it."""

import json
import shutil

import pytest

from amiral.processes.fence import EXECUTE, READ

ASYNCIO = """
import asyncio, concurrent.futures, socket, tempfile

async def main():
    child = await asyncio.create_subprocess_exec("echo", "hello", stdout=asyncio.subprocess.PIPE)
    said, _ = await child.communicate()
    loop = asyncio.get_running_loop()
    with tempfile.TemporaryFile(dir=inside) as file:
        file.write(await loop.run_in_executor(None, lambda: said))
    return said.decode()

told["said"] = asyncio.run(main())
"""
NODE = """
const { execSync, fork } = require("child_process");
const { Worker } = require("worker_threads");
const fs = require("fs");
fs.writeFileSync("one", "text");
fs.renameSync("one", "two");
const worker = new Worker('require("worker_threads").parentPort.postMessage(1)', { eval: true });
worker.on("message", (heard) => console.log(JSON.stringify({
  said: execSync("echo hello").toString(),
  piped: execSync("cat", { input: "text" }).toString(),
  interfaces: Object.keys(require("os").networkInterfaces()).length >= 0,
  heard,
})));
"""
GIT = """
git init -q . && git config user.name A && git config user.email a@example.org
echo one > file && git add . && git commit -qm one
git checkout -qb other && echo two >> file && git commit -qam two
git checkout -q - && git merge -q other && git stash list && git gc -q && git log --oneline | wc -l
"""
BASH = """
cat <<end
here
end
diff <(echo a) <(echo a) && echo same | tee copy
sleep 1000 & kill %1; wait; trap 'echo bye' EXIT
"""


async def in_folder(pen, *argv, fence=None):
    script = 'cd "$1"; shift; export HOME="$PWD" TMPDIR="$PWD"; exec "$@"'
    ran = await pen.run("sh", "-c", script, "sh", str(pen.inside), *argv, fence=fence)
    assert ran.code == 0, (ran.out, ran.err)
    return ran


async def test_python_with_its_loop_children_and_threads(pen):
    assert await pen.tries(ASYNCIO) == {"said": "hello\n"}


async def test_node_with_its_children_and_threads(pen):
    node = installed("node")
    ran = await in_folder(pen, node, "-e", NODE)
    told = json.loads(ran.out)
    assert told == {"said": "hello\n", "piped": "text", "interfaces": True, "heard": 1}


async def test_git_from_an_empty_folder_to_a_merge(pen):
    ran = await in_folder(pen, installed("git"), "--version")
    assert ran.out.startswith(b"git version")
    ran = await in_folder(pen, "sh", "-ec", GIT)
    assert ran.out.split()[-1] == b"2"


async def test_bash_with_its_pipes_and_jobs(pen):
    ran = await in_folder(pen, installed("bash"), "-c", BASH)
    assert ran.out == b"here\nsame\nbye\n"


@pytest.mark.parametrize("name", ["claude", "codex"])
async def test_an_agent_cli_starts(pen, clis, name):
    folder = clis(name)
    fence = pen.fence((str(pen.inside), pen.ALL), (folder, READ | EXECUTE), ports=())
    ran = await in_folder(pen, f"{folder}/node_modules/.bin/{name}", "--version", fence=fence)
    assert ran.out.strip()


def installed(program):
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"there is no {program}: install it")
    return found
