# SPDX-License-Identifier: BSD-3-Clause
"""The clients of random_files.py: one interface to a mount and to NFS over TCP.

Names are relative to the export. What open() returns is an argument of the others.
lock() returns False if another has a lock that conflicts, and does not wait; a
length of 0 is up to the end, wherever that is.
"""

import fcntl
import os
import struct

import nfsclient


class Mount:
    """A mounted file system, or any directory."""

    local = True  # it keeps open files, and what has been read

    def __init__(self, top, rnd):
        self.top, self.rnd = top, rnd

    def path(self, name):
        return os.path.join(self.top, name)

    def open(self, name, create=False, flags=0):
        return os.open(self.path(name),
                       os.O_RDWR | flags | (os.O_CREAT if create else 0), 0o644)

    def close(self, fd):
        os.close(fd)

    def read(self, fd, offset, count):
        parts = []
        while count:
            part = os.pread(fd, count, offset)
            if not part:
                break
            parts.append(part)
            offset, count = offset + len(part), count - len(part)
        return b"".join(parts)

    def write(self, fd, data, offset):
        while data:
            n = os.pwrite(fd, data, offset)
            data, offset = data[n:], offset + n

    def size(self, fd):
        return os.fstat(fd).st_size

    def commit(self, fd):
        os.fsync(fd)

    def forget(self, fd):
        """What has been read of it, so that it is read anew."""
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)

    def truncate(self, fd, size):
        os.ftruncate(fd, size)

    def rename(self, name, to):
        os.rename(self.path(name), self.path(to))

    def remove(self, name):
        os.unlink(self.path(name))

    def mkdir(self, name):
        os.mkdir(self.path(name))

    def rmdir(self, name):
        os.rmdir(self.path(name))

    def ls(self, name):
        return os.listdir(self.path(name))

    def lock(self, fd, exclusive, offset, length):
        kind = fcntl.F_WRLCK if exclusive else fcntl.F_RDLCK
        return self.set_lock(fd, kind, offset, length,
                             self.rnd.choice((fcntl.F_SETLK, fcntl.F_OFD_SETLK)))

    def set_lock(self, fd, kind, offset, length, how):
        self.how = how
        try:
            fcntl.fcntl(fd, how, struct.pack("hhqqi4x", kind, os.SEEK_SET, offset,
                                             length, 0))
        except (BlockingIOError, PermissionError):
            return False
        return True

    def unlock(self, fd, offset, length):
        self.set_lock(fd, fcntl.F_UNLCK, offset, length, self.how)

    def end(self):
        pass


class Nfs:
    """A client over TCP."""

    local = False

    def __init__(self, where, rnd):
        _, vers, port, mount_port = where.split(":")
        self.c = nfsclient.connect(vers, "127.0.0.1", int(port), int(mount_port))
        self.rnd = rnd
        self.access = {} if vers == "3" else {"access": 3}

    def __getattr__(self, what):
        """close, size, commit, truncate, rename, remove, mkdir and so on."""
        return getattr(self.c, what)

    def open(self, name, create=False):
        return self.c.open(name, create, **self.access)

    def piece(self):
        return self.rnd.choice((4096, 24577, 1 << 20))

    def read(self, f, offset, count):
        return self.c.read(f, offset, min(count, max(0, self.c.size(f) - offset)),
                           self.piece())

    def write(self, f, data, offset):
        self.c.write(f, data, offset, self.piece(), self.rnd.choice((0, 0, 2)))

    def forget(self, f):
        pass

    def ls(self, name):
        return [os.fsdecode(n) for n in self.c.ls(name)]

    def lock(self, f, exclusive, offset, length):
        return self.c.lock(f, exclusive, offset, length or (1 << 64) - 1)

    def unlock(self, f, offset, length):
        self.c.unlock(f, offset, length or (1 << 64) - 1)
