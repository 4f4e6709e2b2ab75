"""What the kernel is asked for directly."""

import amiral

ORPHAN = """
import os, sys, time
sys.path.append(sys.argv[1])
from amiral.processes import syscalls, tree
print(syscalls.set_subreaper())
if os.fork() == 0:
    if os.fork() == 0:
        time.sleep(1000)
    os._exit(0)
os.wait()
(orphan,) = tree.descendants(os.getpid())
print(tree.parents(orphan.pid)[0] == os.getpid())
os.kill(orphan.pid, 9)
print(os.wait()[0] == orphan.pid)
"""


async def test_a_subreaper_adopts_orphans(yard):
    sources = amiral.__path__[0].rpartition("/")[0]
    command = [*yard.PYTHON, ORPHAN, sources]
    ran = await yard.spawner.run(command, kind="own", env={}, cwd="/", timeout_s=20.0)
    assert ran.out.split() == [b"True"] * 3, ran.err
