"""Put up the fence of each job that is read, a line of JSON, and try to get around it.

Each job runs in a process of its own and is answered with a line: what succeeded, what could be
read, and which grants allowed nothing. A job names a root, a folder outside, paths below the root
that exist or might, the folders and files that are granted for writing, and a seed.
"""

import ctypes
import json
import os
import random
import sys

from amiral.processes import fence

EXCHANGE = 2
ROUNDS = 40
AT_FDCWD = -100
renameat2 = ctypes.CDLL(None, use_errno=True).renameat2


class Attack:
    def __init__(self, job):
        self.root, self.outside = job["root"], job["outside"]
        self.paths = ["/".join((self.root, *path)) for path in job["paths"]]
        self.granted = job["granted"]
        self.chance = random.Random(job["seed"])
        self.done = []

    def attempt(self, operation, *paths):
        try:
            operation(*paths)
        except OSError:
            return False
        self.done.append(" ".join((operation.__name__, *map(self.shown, paths))))
        return True

    def shown(self, path):
        return os.path.relpath(path, self.root)

    def run(self):
        self.attempt(os.listdir, self.root)
        read = [path for path in self.paths if self.attempt(peek, path)]
        useless = [path for path in self.granted if not self.uses(path)]
        self.link_and_write()
        for operation in (write, empty, create, os.mkdir, os.mkfifo):
            for path in self.paths:
                self.attempt(operation, path)
        for path in self.paths:
            self.attempt(create, path + "/new")
            self.attempt(create, path + "/.env")
        self.move_about()
        for path in self.paths:
            for operation in (os.unlink, os.rmdir, create):
                self.attempt(operation, path)
        self.leave()
        return {
            "done": self.done,
            "read": [self.shown(path) for path in read],
            "useless": [self.shown(path) for path in useless],
        }

    def uses(self, path):
        if os.path.isdir(path):
            return self.attempt(create, path + "/fresh")
        return self.attempt(write, path)

    def link_and_write(self):
        for path in self.paths:
            for other in self.chance.choices(self.paths, k=3):
                for operation, name in ((os.link, "l"), (os.symlink, "s")):
                    self.attempt(operation, other, path + name)
                    self.attempt(write, path + name)
                self.attempt(os.link, other, path)
                self.attempt(write, path)

    def move_about(self):
        for _ in range(ROUNDS):
            one, other = self.chance.choices(self.paths, k=2)
            self.attempt(os.rename, one, other)
            self.attempt(write, other)
            self.attempt(os.rename, one, other + "/moved")
            self.attempt(os.rename, one, self.outside + "/moved")
            self.attempt(exchange, one, other)
            self.attempt(write, one)
            self.attempt(write, other)

    def leave(self):
        held = self.outside + "/held"
        for operation in (write, empty, os.unlink):
            self.attempt(operation, held)
            self.attempt(operation, self.root + "/../outside/held")
        self.attempt(create, self.outside + "/escaped")
        self.attempt(os.link, held, self.root + "/held")
        self.attempt(write, self.root + "/held")


def peek(path):
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        file.read(1)


def write(path):
    _put(path, os.O_WRONLY | os.O_NONBLOCK, b"TAKEN")


def create(path):
    _put(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CREAT, b"MADE!")


def empty(path):
    os.truncate(path, 0)


def exchange(one, other):
    if renameat2(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), EXCHANGE) != 0:
        raise OSError(ctypes.get_errno(), "exchange")


def _put(path, flags, content):
    handle = os.open(path, flags, 0o644)
    try:
        os.write(handle, content)
    finally:
        os.close(handle)


def answer(job):
    try:
        fence.apply(fence.Fence.from_json(job["fence"]))
        return Attack(job).run()
    except Exception as error:  # noqa: BLE001 — whatever it is, the test is told
        return {"failed": repr(error)}


def in_child(job):
    pid = os.fork()
    if pid == 0:
        os.write(sys.stdout.fileno(), json.dumps(answer(job)).encode() + b"\n")
        os._exit(0)
    os.waitpid(pid, 0)


if __name__ == "__main__":
    for line in sys.stdin:
        in_child(json.loads(line))
