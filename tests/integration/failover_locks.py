# SPDX-License-Identifier: BSD-3-Clause
"""What failover-guest.sh does on a mount while its server changes.

    failover_locks.py hold FILE LIST	lock FILE, and write blocks to it until LIST.stop is
					there; LIST gets the number of each block that has
					been acknowledged as stable, and when
    failover_locks.py contend FILE LIST	ask for that lock again and again, which must be
					refused; LIST gets a line for each refusal
    failover_locks.py free FILE		get the lock
    failover_locks.py verify FILE LIST	are all blocks of LIST in FILE?
    failover_locks.py watch LOG SOCKET HERE
					when the server of LOG is ready, and FILE HERE says that
					the address is there; then how long it takes until it has
					answered a Call of version 1, which is Linux', and of
					version 2, the gateway's
    failover_locks.py announce DEVICE ADDRESS HERE
					tell all that ADDRESS is at DEVICE now, as keepalived does,
					and write file HERE

Times are of the clock that all processes of a machine share.
"""

import fcntl
import os
import socket
import struct
import sys
import time

SIZE = 8192
# Beyond the lock that is held: one that is free.
BEYOND = 1 << 40
PATIENCE = 300


def block(n):
    return (b"%15d\n" % n) * (SIZE // 16)


def write_all(fd, data, offset):
    while data:
        n = os.pwrite(fd, data, offset)
        data, offset = data[n:], offset + n


def hold(path, listed):
    """Stable by COMMIT and by WRITE, in turn."""
    commit = os.open(path, os.O_RDWR | os.O_CREAT)
    stable = os.open(path, os.O_RDWR | os.O_SYNC)
    fcntl.lockf(commit, fcntl.LOCK_EX, BEYOND)
    n = 0
    with open(listed, "w", buffering=1) as out:
        while not os.path.exists(listed + ".stop"):
            if n % 2:
                write_all(stable, block(n), n * SIZE)
            else:
                write_all(commit, block(n), n * SIZE)
                os.fsync(commit)
            out.write("%d %.3f\n" % (n, time.monotonic()))
            n += 1
    fcntl.lockf(commit, fcntl.LOCK_UN, BEYOND)


def contend(path, listed):
    fd = os.open(path, os.O_RDWR)
    n = 0
    with open(listed, "w", buffering=1) as out:
        while not os.path.exists(listed + ".stop"):
            try:
                fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, BEYOND)
            except BlockingIOError:
                pass
            else:
                sys.exit("the lock of another client was granted after %d refusals" % n)
            # The server does grant what is free.
            fcntl.lockf(fd, fcntl.LOCK_EX, 1, BEYOND + n)
            fcntl.lockf(fd, fcntl.LOCK_UN, 1, BEYOND + n)
            n += 1
            out.write("%d %.3f\n" % (n, time.monotonic()))
            time.sleep(0.2)


def free(path):
    fd = os.open(path, os.O_RDWR)
    fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, BEYOND)


def verify(path, listed):
    with open(listed) as f:
        numbers = [int(line.split()[0]) for line in f]
    if not numbers:
        sys.exit("nothing was acknowledged")
    with open(path, "rb") as f:
        for n in numbers:
            f.seek(n * SIZE)
            if f.read(SIZE) != block(n):
                sys.exit("block %d is lost" % n)
    print(len(numbers), "blocks")


def connections(path):
    """Of the server's statistics; none while it has no socket."""
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(60)
        try:
            s.connect(path)
        except OSError:
            return []
        with s.makefile() as f:
            text = f.read()
    doc = eval(text, {"true": True, "false": False, "null": None})
    return doc["connections"]


def watch(log, path, here):
    end = time.monotonic() + PATIENCE
    ready = None
    answered = {}
    while len(answered) < 2:
        now = time.monotonic()
        if now > end:
            sys.exit("ready: %s; answered: %s" % (ready, answered))
        if not ready:
            with open(log, "rb") as f:
                if os.path.exists(here) and b"NFS SERVER INITIALIZED" in f.read():
                    ready = now
        else:
            for c in connections(path):
                if c["stats"]["replies_sent"]:
                    answered.setdefault(c["version"], now)
        time.sleep(0.05)
    print("%.3f %.3f %.3f" % (ready, answered[1] - ready, answered[2] - ready))


def announce(device, address, here):
    ip = socket.inet_aton(address)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as s:
        s.bind((device, 0))
        mac = s.getsockname()[4]
        # A request: Linux heeds a reply only if its entry is a second old.
        s.send(b"\xff" * 6 + mac + struct.pack(">HHHBBH", 0x806, 1, 0x800, 6, 4, 1) +
               mac + ip + bytes(6) + ip)
    with open(here, "w"):
        pass


{"hold": hold, "contend": contend, "free": free, "verify": verify, "watch": watch,
 "announce": announce}[sys.argv[1]](*sys.argv[2:])
