#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Random operations on files by several clients at once, compared with a model.

    random_files.py [--seed N] [--steps M] [--no-locks] --real=REAL CLIENT CLIENT...

REAL is the exported directory, where the server has it. CLIENT is a mount of it, or
nfs:VERSION:PORT:MOUNTPORT for a client over TCP (nfsclient.py). Each client is a
process, which draws M operations from the seed:

- on files and directories of its own: every kind of access, without regard to others;
- on files of all: it locks a range or the whole, compares, changes and unlocks it.
  What they hold is in memory that the processes share.

Each read is compared with the model, octet by octet; a lock must keep others out, and
must not be refused unless another client has, wants or just had one. At the end the
server's own files are compared, and each client reads those of the others. --no-locks is
for mounts without locks between hosts: the processes take turns at a file by themselves.

Exit status 0 if all is as it should be. Else what is not is said, with the latest
operations. The same seed (or RPCRDMA_SEED) draws the same operations; only whose turn it
is at a file of all may differ.
"""

import argparse
import collections
import fcntl
import mmap
import os
import random
import struct
import sys
import tempfile
import time
import traceback

from random_clients import Mount, Nfs

LENGTHS = (1, 2, 3, 5, 511, 513, 1023, 4095, 4096, 4097, 8191, 30000, 65535, 65537,
           262145)
LONGEST = 600000  # of a file
FILES = 10  # of a client
HELD = 3  # open files
SHARED = 3  # files of all
RECORD, RECORDS = 3001, 24  # no multiple of any page
SIZE = RECORD * RECORDS
FREE, WANTS, HAS = range(3)


class Fault(Exception):
    pass


def same(what, found, wanted):
    if found == wanted:
        return
    if len(found) != len(wanted):
        raise Fault("%s: %d octets, not %d" % (what, len(found), len(wanted)))
    at = next(i for i in range(len(found)) if found[i] != wanted[i])
    differ = sum(a != b for a, b in zip(found, wanted))
    raise Fault("%s: octet %d of %d is %#x, not %#x, and %d others differ" %
                (what, at, len(found), found[at], wanted[at], differ - 1))


# A server may not notice what becomes of names behind it: each seed has others.
def own_name(options, number):
    return "own-%d-%d" % (options.seed, number)


def shared_name(options, number):
    return "all-%d-%d" % (options.seed, number)


# ---- What all clients know --------------------------------------------------------------


class Common:
    """Memory of all processes: the files of all, and who has or wants which records.

    A client writes its own entry alone, before it asks and after it has a lock, and
    after it has given it back; the data belong to who has the lock.
    """

    ENTRY = struct.Struct("qqqqqq")  # file, first, behind, exclusive, state, number

    def __init__(self, clients):
        self.clients = clients
        self.data = mmap.mmap(-1, SHARED * SIZE)
        self.entries = mmap.mmap(-1, clients * self.ENTRY.size)
        self.progress = mmap.mmap(-1, clients + 1)  # the last: somebody has failed
        # For --no-locks; each process opens it for itself.
        self.turns = tempfile.NamedTemporaryFile()

    def enter(self, client, *entry):
        self.ENTRY.pack_into(self.entries, client * self.ENTRY.size, *entry)

    def others(self, client):
        return [self.ENTRY.unpack_from(self.entries, i * self.ENTRY.size)
                for i in range(self.clients) if i != client]

    @staticmethod
    def conflicts(one, two, states):
        return one[0] == two[0] and one[1] < two[2] and two[1] < one[2] and \
            (one[3] or two[3]) and two[4] in states

    def failed(self):
        return self.progress[self.clients]

    def reach(self, client, stage):
        """Wait until all have come to it. False if one has failed."""
        self.progress[client] = stage
        while min(self.progress[:self.clients]) < stage:
            if self.failed():
                return False
            time.sleep(0.05)
        return True


# ---- A client's operations --------------------------------------------------------------


class File:
    """The model of one: its data, and how many names and descriptors it has."""

    def __init__(self):
        self.data = bytearray()
        self.held = 0

    def write(self, offset, data):
        gap = offset - len(self.data)
        if gap > 0:
            self.data += bytes(gap)
        self.data[offset:offset + len(data)] = data


class Client:
    def __init__(self, options, number, common):
        self.rnd = random.Random("%d-%d" % (options.seed, number))
        where = options.client[number]
        self.fs = (Nfs if where.startswith("nfs:") else Mount)(where, self.rnd)
        self.options, self.number, self.common = options, number, common
        self.own = own_name(options, number)
        self.files, self.dirs, self.held = {}, [self.own], []
        self.gone = collections.Counter()  # removed files that are open, by directory
        self.names = self.locks = self.step = 0
        self.refused = self.shared = 0
        self.latest = collections.deque(maxlen=12)
        self.turns = open(common.turns.name, "r+b")
        ops = [(n, getattr(self, name)) for n, name in
               ((8, "create"), (16, "write"), (16, "read"), (6, "truncate"),
                (6, "move"), (4, "remove"), (3, "make_dir"), (2, "remove_dir"),
                (2, "move_dir"), (3, "list"), (24, "share"))]
        if self.fs.local:
            ops += [(n, getattr(self, name)) for n, name in
                    ((6, "append"), (6, "mapped"), (6, "direct"), (4, "hold"),
                     (6, "use_held"), (4, "release"))]
        self.weights, self.ops = zip(*ops)

    def note(self, what, *args):
        self.latest.append("step %d: %s %s" %
                           (self.step, what, " ".join(str(a) for a in args)))

    def run(self):
        self.fs.mkdir(self.own)
        for self.step in range(1, self.options.steps + 1):
            if self.common.failed():
                return
            op, = self.rnd.choices(self.ops, self.weights)
            self.note(op.__name__)
            op()
        while self.held:
            self.release()
        self.note("compare", "all")
        self.compare_real()
        if not self.common.reach(self.number, 1):
            return
        for i in range(self.common.clients):
            if i != self.number:
                self.compare_tree(own_name(self.options, i))
        if not self.common.reach(self.number, 2):
            return
        for name in self.files:
            self.fs.remove(name)
        for name in sorted(self.dirs, reverse=True):
            self.fs.rmdir(name)
        self.fs.end()

    # ---- Choice ----

    def some_file(self):
        if not self.files:
            self.create()
        name = self.rnd.choice(list(self.files))
        return name, self.files[name]

    def new_name(self, kind):
        self.names += 1
        # Some are long, so that a directory is more than one Reply.
        return "%s/%s%d%s" % (self.rnd.choice(self.dirs), kind, self.names,
                              self.rnd.choice(("", "", "-" + "x" * 120)))

    def some_range(self, limit):
        offset = self.rnd.choice((0, self.rnd.randrange(limit + 1),
                                  self.rnd.randrange(limit + 1) // 4096 * 4096))
        return offset, min(self.rnd.choice(LENGTHS), LONGEST - offset)

    def data(self, length):
        return self.rnd.randbytes(length)

    def opened(self, name, *flags):
        return Opened(self.fs, name, *flags)

    # ---- Data ----

    def create(self):
        if len(self.files) >= FILES:
            self.remove()
        name = self.new_name("f")
        data = self.data(self.rnd.choice(LENGTHS))
        self.note("create", name, len(data))
        with self.opened(name, True) as f:
            self.fs.write(f, data, 0)
        self.files[name] = File()
        self.files[name].write(0, data)

    def put(self, what, f, file, offset, data):
        self.note(what, offset, len(data))
        self.fs.write(f, data, offset)
        file.write(offset, data)

    def get(self, what, f, file, offset, length):
        self.note(what, offset, length)
        same("size", range(self.fs.size(f)), range(len(file.data)))
        same("from octet %d" % offset, self.fs.read(f, offset, length),
             bytes(file.data[offset:offset + length]))

    def write(self):
        name, file = self.some_file()
        offset, length = self.some_range(min(len(file.data) + 5000, LONGEST))
        # Nobody else has a lock on it.
        lock = not self.options.no_locks and self.rnd.random() < 0.2
        with self.opened(name, False, *self.sync_flags()) as f:
            if lock and not self.fs.lock(f, True, offset, length or 1):
                raise Fault("a lock on a file of its own is refused")
            self.put("write %s%s" % (name, " locked" * lock), f, file, offset,
                     self.data(length))
            if lock:
                self.fs.unlock(f, offset, length or 1)

    def sync_flags(self):
        if not self.fs.local:
            return ()
        return (self.rnd.choice((0, 0, 0, os.O_SYNC)),)

    def read(self):
        name, file = self.some_file()
        offset, length = self.some_range(len(file.data))
        if self.rnd.random() < 0.2:
            offset, length = 0, LONGEST
        forget = self.rnd.random() < 0.6
        with self.opened(name) as f:
            if forget:
                self.fs.forget(f)
            self.get("read %s%s" % (name, " anew" * forget), f, file, offset, length)

    def truncate(self):
        name, file = self.some_file()
        size = self.rnd.choice((0, self.rnd.randrange(len(file.data) + 1),
                                min(len(file.data) + self.rnd.choice(LENGTHS), LONGEST)))
        self.note("truncate", name, size)
        with self.opened(name) as f:
            self.fs.truncate(f, size)
        del file.data[size:]
        file.write(size, b"")

    def append(self):
        name, file = self.some_file()
        with self.opened(name, False, os.O_APPEND) as f:
            for _ in range(2):
                data = self.data(self.rnd.choice(LENGTHS[:9]))
                self.note("append", name, len(data))
                os.write(f, data)
                file.write(len(file.data), data)

    def mapped(self):
        name, file = self.some_file()
        if not file.data:
            return
        offset, length = self.some_range(len(file.data))
        with self.opened(name) as f, mmap.mmap(f, len(file.data)) as m:
            self.note("mapped", name, offset, length)
            same("mapping from octet %d" % offset, m[offset:offset + length],
                 bytes(file.data[offset:offset + length]))
            data = self.data(min(length, len(file.data) - offset))
            m[offset:offset + len(data)] = data
            file.write(offset, data)
            if self.rnd.random() < 0.5:
                m.flush()

    def direct(self):
        name, file = self.some_file()
        offset, length = self.some_range(len(file.data))
        with self.opened(name, False, os.O_DIRECT) as f:
            if self.rnd.random() < 0.5:
                self.put("direct write " + name, f, file, offset, self.data(length))
            else:
                self.get("direct read " + name, f, file, offset, length)

    # ---- Files that stay open, whatever becomes of their names ----

    def hold(self):
        if len(self.held) >= HELD:
            self.release()
        name, file = self.some_file()
        self.note("hold", name)
        self.held.append((self.fs.open(name), file))
        file.held += 1

    def use_held(self):
        if not self.held:
            self.hold()
        f, file = self.rnd.choice(self.held)
        offset, length = self.some_range(len(file.data))
        if self.rnd.random() < 0.5:
            self.put("write held", f, file, offset, self.data(length))
        else:
            self.fs.forget(f)
            self.get("read held", f, file, offset, length)

    def release(self):
        if not self.held:
            return
        f, file = self.held.pop(self.rnd.randrange(len(self.held)))
        self.get("release", f, file, 0, LONGEST)
        self.fs.close(f)
        file.held -= 1

    # ---- Names ----

    def parent_of_gone(self, name):
        """Linux renames what is removed and open: its directory is not empty."""
        if self.files[name].held:
            self.gone[os.path.dirname(name)] += 1

    def move(self):
        name, _ = self.some_file()
        to = self.new_name("m")
        if self.rnd.random() < 0.4:
            to = self.rnd.choice(list(self.files))
        self.note("move", name, to)
        if to in self.files and to != name:
            self.parent_of_gone(to)
        self.fs.rename(name, to)
        self.files[to] = self.files.pop(name)

    def remove(self):
        name, _ = self.some_file()
        self.note("remove", name)
        self.parent_of_gone(name)
        self.fs.remove(name)
        del self.files[name]

    def make_dir(self):
        if len(self.dirs) < 6:
            name = self.new_name("d")
            self.note("make_dir", name)
            self.fs.mkdir(name)
            self.dirs.append(name)

    def below(self, name):
        return [n for n in [*self.files, *self.dirs] if n.startswith(name + "/")]

    def remove_dir(self):
        empty = [d for d in self.dirs[1:] if not self.below(d) and not self.gone[d]]
        if empty:
            name = self.rnd.choice(empty)
            self.note("remove_dir", name)
            self.fs.rmdir(name)
            self.dirs.remove(name)

    def move_dir(self):
        if len(self.dirs) == 1:
            return
        name, to = self.rnd.choice(self.dirs[1:]), self.new_name("d")
        if to.startswith(name + "/"):
            return
        self.note("move_dir", name, to)
        self.fs.rename(name, to)

        def moved(n):
            return to + n[len(name):] if n == name or n.startswith(name + "/") else n

        self.dirs = [moved(d) for d in self.dirs]
        self.files = {moved(n): file for n, file in self.files.items()}
        self.gone = collections.Counter({moved(d): n for d, n in self.gone.items()})

    def list(self):
        name = self.rnd.choice(self.dirs)
        self.note("list", name)
        found = sorted(n for n in self.fs.ls(name) if not n.startswith(".nfs"))
        wanted = sorted(os.path.basename(n) for n in self.below(name)
                        if os.path.dirname(n) == name)
        if found != wanted:
            raise Fault("%s: has %s, not %s" % (name, found, wanted))

    # ---- Files of all ----

    def share(self):
        """One of them, or records of it."""
        number = self.rnd.randrange(SHARED)
        first = self.rnd.randrange(RECORDS)
        behind = min(RECORDS, first + self.rnd.choice((1, 1, 2, 5)))
        exclusive = self.rnd.random() < 0.7
        whole = self.options.no_locks or self.rnd.random() < 0.15
        if whole:
            first, behind = 0, RECORDS
        salt = self.rnd.random()
        self.note("share", number, first, behind, "exclusive" if exclusive else "")
        self.shared += 1
        for _ in range(20):
            if self.shared_once(number, first, behind, exclusive, whole, salt):
                return
            self.refused += 1
            time.sleep(0.02)

    def shared_once(self, number, first, behind, exclusive, whole, salt):
        offset, length = first * RECORD, (behind - first) * RECORD
        entry = [number, first, behind, exclusive, WANTS, self.step]
        before = self.common.others(self.number)
        self.common.enter(self.number, *entry)
        turn = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, number, 1, 0)
        if self.options.no_locks:
            fcntl.fcntl(self.turns, fcntl.F_OFD_SETLKW, turn)
        with self.opened(shared_name(self.options, number)) as f:
            if self.options.no_locks:
                self.fs.forget(f)
            elif not self.fs.lock(f, exclusive, offset, 0 if whole else length):
                after = self.common.others(self.number)
                self.common.enter(self.number, *entry[:4], FREE, -self.step)
                if before == after and not any(
                        self.common.conflicts(entry, o, (WANTS, HAS)) for o in after):
                    raise Fault("a lock is refused that conflicts with none")
                return False
            self.common.enter(self.number, *entry[:4], HAS, self.step)
            for other in self.common.others(self.number):
                if self.common.conflicts(entry, other, (HAS,)):
                    raise Fault("it has a lock that another has: %s" % (other,))
            self.under_lock(f, number, offset, length, exclusive, whole,
                            random.Random(salt))
            self.common.enter(self.number, *entry[:4], WANTS, self.step)
            if not self.options.no_locks:
                self.fs.unlock(f, offset, 0 if whole else length)
            else:
                self.fs.commit(f)
        if self.options.no_locks:
            fcntl.fcntl(self.turns, fcntl.F_OFD_SETLK,
                        struct.pack("hhqqi4x", fcntl.F_UNLCK, os.SEEK_SET, number, 1, 0))
        self.common.enter(self.number, *entry[:4], FREE, -self.step)
        return True

    def under_lock(self, f, number, offset, length, exclusive, whole, rnd):
        at = number * SIZE + offset
        what = "file %d of all, from octet %d" % (number, offset)
        same(what, self.fs.read(f, offset, length), self.common.data[at:at + length])
        if not exclusive:
            return
        if whole and rnd.random() < 0.5:
            size = rnd.randrange(SIZE)
            self.fs.truncate(f, size)
            same(what + ", cut off", self.fs.read(f, 0, SIZE),
                 self.common.data[at:at + size])
        data = rnd.randbytes(length)
        self.fs.write(f, data, offset)
        same(what + ", written", self.fs.read(f, offset, length), data)
        self.common.data[at:at + length] = data

    # ---- The end ----

    def compare_real(self):
        """The server's own files of this client."""
        top = os.path.join(self.options.real, self.own)
        # Linux removes a file that was open a while after it has been closed.
        for _ in range(600):
            found = tree(top)
            if not any(os.path.basename(name).startswith(".nfs") for name in found):
                break
            time.sleep(0.1)
        wanted = {os.path.relpath(d, self.own): None for d in self.dirs}
        wanted.update((os.path.relpath(n, self.own), f) for n, f in self.files.items())
        if set(found) != set(wanted):
            raise Fault("on the server's file system: too much: %s; missing: %s" %
                        (sorted(set(found) - set(wanted)), sorted(set(wanted) - set(found))))
        for name, file in wanted.items():
            if file:
                with open(found[name], "rb") as f:
                    same("on the server's file system, " + name, f.read(), bytes(file.data))

    def compare_tree(self, top):
        """What another has written, by way of this client."""
        for name, path in tree(os.path.join(self.options.real, top)).items():
            self.note("compare", top, name)
            full = os.path.normpath(os.path.join(top, name))
            if os.path.isdir(path):
                if sorted(self.fs.ls(full)) != sorted(os.listdir(path)):
                    raise Fault("names in %s differ from those on the server" % full)
                continue
            with self.opened(full) as f, open(path, "rb") as real:
                same(full, self.fs.read(f, 0, LONGEST * 2), real.read())


class Opened:
    def __init__(self, fs, *how):
        self.fs, self.f = fs, fs.open(*how)

    def __enter__(self):
        return self.f

    def __exit__(self, kind, *_):
        if kind is None:
            self.fs.close(self.f)


def tree(top):
    """{relative name: path} of all that is below @top, and itself."""
    found = {".": top}
    for at, dirs, files in os.walk(top):
        for name in dirs + files:
            path = os.path.join(at, name)
            found[os.path.relpath(path, top)] = path
    return found


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].strip())
    parser.add_argument("--seed", type=int, default=os.environ.get("RPCRDMA_SEED") or
                        random.getrandbits(31))
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--no-locks", action="store_true")
    parser.add_argument("--real", required=True)
    parser.add_argument("client", nargs="+")
    options = parser.parse_args()
    common = Common(len(options.client))
    rnd = random.Random(options.seed)
    for i in range(SHARED):
        common.data[i * SIZE:(i + 1) * SIZE] = rnd.randbytes(SIZE)
        with open(os.path.join(options.real, shared_name(options, i)), "wb") as f:
            f.write(common.data[i * SIZE:(i + 1) * SIZE])
    pids = [child(options, i, common) for i in range(common.clients)]
    bad = [os.waitpid(pid, 0)[1] for pid in pids]
    if not any(bad):
        for i in range(SHARED):
            with open(os.path.join(options.real, shared_name(options, i)), "rb") as f:
                same("file %d of all on the server" % i, f.read(),
                     common.data[i * SIZE:(i + 1) * SIZE])
    return 1 if any(bad) else 0


def child(options, number, common):
    pid = os.fork()
    if pid:
        return pid
    status, c = 1, None
    try:
        c = Client(options, number, common)
        c.run()
        print("# %s, seed %d: %d steps, %d on files of all, a lock refused %d times" %
              (options.client[number], options.seed, c.step, c.shared, c.refused),
              flush=True)
        status = 0
    except BaseException as e:
        common.progress[common.clients] = 1
        why = str(e) if isinstance(e, Fault) else traceback.format_exc()
        print("\n".join([*(c.latest if c else ()), why,
                         "client %d, %s; again: --seed %d --steps %d%s" %
                         (number, options.client[number], options.seed, options.steps,
                          " --no-locks" * options.no_locks)]),
              flush=True)
    os._exit(status)


if __name__ == "__main__":
    sys.exit(main())
