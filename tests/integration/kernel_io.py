# SPDX-License-Identifier: BSD-3-Clause
"""What no program of the shell does to a file on a mount.

    kernel_io.py direct FILE REAL     O_DIRECT at odd places, of odd sizes
    kernel_io.py mapped FILE REAL     by shared mappings
    kernel_io.py records FILE LOG     synchronous records until LOG.stop is
                                      there; LOG names those acknowledged
    kernel_io.py recorded FILE LOG    is each of them there, and sound?
    kernel_io.py locks FILE ROUNDS [ALONE]
                                      by eight processes at once: open, lock,
                                      count up, unlock and close; one time in
                                      ALONE (8) the file is one that they
                                      share, with 0 never

FILE is on the mount, REAL the same file where the server has it. Exit status
0 if all is as it should be; else what is not is said.
"""

import fcntl
import mmap
import os
import random
import sys

SIZE = 700001
RECORD = 5000  # no multiple of any page


def write_all(fd, data, offset):
    while data:
        n = os.pwrite(fd, data, offset)
        data, offset = data[n:], offset + n


def read_all(fd, length, offset):
    parts = []
    while length:
        part = os.pread(fd, length, offset)
        if not part:
            break
        parts.append(part)
        offset, length = offset + len(part), length - len(part)
    return b"".join(parts)


def same(what, found, wanted):
    if found == wanted:
        return
    if len(found) != len(wanted):
        sys.exit(f"{what}: {len(found)} octets, not {len(wanted)}")
    at = next(i for i in range(len(found)) if found[i] != wanted[i])
    sys.exit(f"{what}: octet {at} is {found[at]:#x}, not {wanted[at]:#x}")


def drop_caches():
    os.sync()
    with open("/proc/sys/vm/drop_caches", "w") as f:
        f.write("3")


def check_real(real, model):
    with open(real, "rb") as f:
        same("the server's file", f.read(), bytes(model))


def direct(path, real):
    rng = random.Random(8166)
    model = bytearray(rng.randbytes(SIZE))
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_DIRECT)
    write_all(fd, bytes(model), 0)
    lengths = (1, 2, 3, 5, 511, 512, 513, 1023, 4095, 4096, 4097, 8191, 65535,
               65537, 262145)
    for i in range(60):
        length = rng.choice(lengths)
        offset = rng.randrange(SIZE - length)
        if i % 2:
            data = rng.randbytes(length)
            write_all(fd, data, offset)
            model[offset:offset + length] = data
        else:
            same(f"read of {length} at {offset}", read_all(fd, length, offset),
                 bytes(model[offset:offset + length]))
    same("all", read_all(fd, SIZE + 10, 0), bytes(model))
    same("beyond the end", read_all(fd, 100, SIZE - 3), bytes(model[-3:]))
    os.close(fd)
    check_real(real, model)


def mapped(path, real):
    rng = random.Random(5666)
    model = bytearray(SIZE)
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    os.ftruncate(fd, SIZE)
    with mmap.mmap(fd, SIZE) as m:
        for i in range(60):
            length = rng.choice((1, 7, 100, 4096, 5000, 40000))
            offset = rng.randrange(SIZE - length)
            m[offset:offset + length] = model[offset:offset + length] = \
                rng.randbytes(length)
            if i % 20 == 0:
                m.flush()
        m.flush()
    os.close(fd)
    check_real(real, model)
    drop_caches()
    fd = os.open(path, os.O_RDONLY)
    with mmap.mmap(fd, SIZE, prot=mmap.PROT_READ) as m:
        for _ in range(10):
            offset = rng.randrange(SIZE - 10000)
            same(f"mapped at {offset}", m[offset:offset + 10000],
                 bytes(model[offset:offset + 10000]))
        same("all that is mapped", m[:], bytes(model))
    os.close(fd)


def record(i):
    return random.Random(i).randbytes(RECORD)


def records(path, log):
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_SYNC)
    with open(log, "w", buffering=1) as said:
        i = 0
        while not os.path.exists(log + ".stop"):
            write_all(fd, record(i), i * RECORD)
            said.write(f"{i}\n")
            i += 1
    os.close(fd)


def recorded(path, log):
    with open(log) as f:
        acknowledged = [int(line) for line in f]
    with open(path, "rb") as f:
        data = f.read()
    if not acknowledged:
        sys.exit("no record was acknowledged")
    for i in acknowledged:
        same(f"record {i}", data[i * RECORD:(i + 1) * RECORD], record(i))
    print(len(acknowledged), "records")


def count_up(path):
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    fcntl.flock(fd, fcntl.LOCK_EX)
    number = int(os.pread(fd, 20, 0) or b"0") + 1
    write_all(fd, b"%d" % number, 0)
    os.close(fd)


# The last Calls of each round, for the lock and for the file, the client sends
# at the same time, and the next OPEN before they are answered.
def locks(path, rounds, alone=8):
    rounds, alone = int(rounds), int(alone)
    turns = [alone and turn % alone == 0 for turn in range(rounds)]
    pids = []
    for i in range(8):
        pid = os.fork()
        if not pid:
            for shared in turns:
                count_up(path if shared else f"{path}-{i}")
            os._exit(0)
        pids.append(pid)
    failed = [pid for pid in pids if os.waitpid(pid, 0)[1]]
    if failed:
        sys.exit(f"{len(failed)} processes failed")
    for i in range(8):
        with open(f"{path}-{i}", "rb") as f:
            same("rounds", f.read(), b"%d" % (rounds - sum(turns)))
    if alone:
        with open(path, "rb") as f:
            same("rounds of all", f.read(), b"%d" % (8 * sum(turns)))


{"direct": direct, "mapped": mapped, "records": records,
 "recorded": recorded, "locks": locks}[sys.argv[1]](*sys.argv[2:])
