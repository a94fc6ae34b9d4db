# SPDX-License-Identifier: BSD-3-Clause
"""The programs of a soak: begun, killed, begun again, looked at, ended.

All children end with this process, however it ends (PR_SET_PDEATHSIG).
"""

import ctypes
import json
import os
import resource
import signal
import socket
import subprocess
import time

PATIENCE = int(os.environ.get("RPCRDMA_PATIENCE", "1"))
MB = 1 << 20
LIBC = ctypes.CDLL(None, use_errno=True)


def tied():
    LIBC.prctl(1, signal.SIGKILL, 0, 0, 0)


def begin(argv, **more):
    # pylint: disable=subprocess-popen-preexec-fn,consider-using-with
    return subprocess.Popen(argv, preexec_fn=tied,
                            stdin=more.pop("stdin", subprocess.DEVNULL), **more)


def end(process, patience=60):
    """Ask, then insist; its status."""
    if process.poll() is None:
        process.terminate()
    try:
        return process.wait(patience * PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return "no end"


def until(cond, seconds):
    limit = time.monotonic() + seconds
    while not cond():
        if time.monotonic() > limit:
            return False
        time.sleep(0.1)
    return True


def listens(port):
    """Is there a listener? Without a connection that would have to end."""
    want = "%04X" % port
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(table, encoding="ascii") as f:
            for line in f:
                words = line.split()
                if words[3] == "0A" and words[1].endswith(":" + want):
                    return True
    return False


def told(path):
    """What the statistics socket says, or None."""
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(30)
    try:
        s.connect(path)
        with s.makefile("rb") as f:
            return json.loads(f.read())
    except (OSError, ValueError):
        return None
    finally:
        s.close()


class Program:
    """One that is to run all the time, but for kills."""

    def __init__(self, name, argv, folder):
        self.name, self.argv, self.folder = name, argv, folder
        self.process, self.starts, self.kills = None, 0, 0
        self.faults = []
        self.log_size = 0

    def output(self):
        return os.path.join(self.folder, "%s.%d" % (self.name, self.starts))

    def command(self):
        return self.argv

    def serves(self):
        return True

    def start(self):
        self.starts += 1
        with open(self.output() + ".out", "wb") as out:
            self.process = begin(self.command(), stdout=out, stderr=out,
                                 cwd=self.folder)
        if not until(lambda: self.serves() or self.process.poll() is not None,
                     120 * PATIENCE) or self.process.poll() is not None:
            self.faults.append("%s does not serve: %s" % (self.name,
                                                          self.last()))
            return False
        return True

    @property
    def pid(self):
        return self.process.pid

    def last(self):
        text = ""
        for ending in (".out", ".log"):
            try:
                with open(self.output() + ending, encoding="utf-8",
                          errors="replace") as f:
                    lines = f.read()[-2000:].splitlines()
                    text += " | ".join(lines[-2:])
            except OSError:
                pass
        return text[:400]

    def logged(self):
        """Octets of all that it has written."""
        size = 0
        for i in range(1, self.starts + 1):
            for ending in (".out", ".log"):
                try:
                    size += os.path.getsize(os.path.join(
                        self.folder, "%s.%d%s" % (self.name, i, ending)))
                except OSError:
                    pass
        return size

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.kills += 1

    def look(self):
        """Has it ended unasked? Then it is begun again, to go on."""
        status = self.process.poll()
        if status is None:
            return
        how = "signal %d" % -status if status < 0 else "status %d" % status
        self.faults.append("%s ended by %s: %s" % (self.name, how, self.last()))
        self.start()

    def stop(self):
        status = end(self.process)
        if status:
            self.faults.append("%s: status %s at its end: %s" %
                               (self.name, status, self.last()))

    # ---- What it has ----

    def memory(self, field="VmRSS"):
        with open("/proc/%d/status" % self.pid, encoding="ascii") as f:
            for line in f:
                if line.startswith(field + ":"):
                    return int(line.split()[1]) * 1024
        return 0

    def descriptors(self):
        """(of sockets and the like, of files)"""
        some = files = 0
        folder = "/proc/%d/fd" % self.pid
        for fd in os.listdir(folder):
            try:
                what = os.readlink(folder + "/" + fd)
            except OSError:
                continue
            if what.startswith("/") and not what.startswith("/dev"):
                files += 1
            else:
                some += 1
        return some, files

    def few_descriptors(self, spare):
        """Let it have @spare more than now; gives the function to undo it."""
        process = self.process
        now = sum(self.descriptors())
        before = resource.prlimit(self.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(self.pid, resource.RLIMIT_NOFILE,
                         (now + spare, before[1]))

        def undo():
            if process.poll() is None:
                resource.prlimit(process.pid, resource.RLIMIT_NOFILE, before)
        return undo


class Server(Program):
    def __init__(self, launcher, config, stats, folder):
        super().__init__("server", None, folder)
        self.launcher, self.config, self.socket = launcher, config, stats
        self.fresh = 0  # of the pool: what the instance has for itself

    def command(self):
        return [self.launcher, "-F", "-L", self.output() + ".log", "-f",
                self.config, "-p", os.path.join(self.folder, "server.pid")]

    def serves(self):
        try:
            with open(self.output() + ".log", encoding="utf-8",
                      errors="replace") as f:
                return "NFS SERVER INITIALIZED" in f.read()
        except OSError:
            return False

    def start(self):
        good = super().start()
        if self.starts == 1 and good:
            self.fresh = self.stats()["pool"]["bytes_in_use"]
        return good

    def stats(self):
        return told(self.socket)

    def at_rest(self):
        s = self.stats()
        return bool(s) and not s["connections_now"] and \
            s["pool"]["bytes_in_use"] <= self.fresh


class Gateway(Program):
    def __init__(self, name, program, port, server, options, folder):
        self.socket = os.path.join(folder, name + ".sock")
        super().__init__(name, [program, "--listen", "127.0.0.1:%d" % port,
                                "--stats-socket", self.socket,
                                "--server", server] + options, folder)
        self.port = port

    def held(self):
        """Octets of its pool, in use or not."""
        s = told(self.socket)
        return s["transport"]["pool"]["bytes_held"] if s else 0

    def serves(self):
        return listens(self.port)
