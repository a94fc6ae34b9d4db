#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Conductor of tests/soak, which tells what this is for.

    soak.py MINUTES SEED, with SOAK_... of tests/soak/run in the environment

First the good clients alone (warm-up) and a rest: what the server and the
gateways have then is "before". Then rounds, in which all is going on, each with
a rest at its end. Server and gateways are killed in the first half of the
rounds (of a single one, in its first 60 %), so that what a process gathers is
seen in the other half. A rest is: all clients end, those that mean well when
everything they began has been answered.

Allowances, at the last rest, against "before":
"""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

import loads as loading
from machine import MB, PATIENCE, Gateway, LIBC, Server, begin, until

# Of peers.py, which takes the command line of tests/attack.
KINDS = ("Comers", "Sessions", "Fillers", "Hoarders", "SlowReaders", "Talkers",
         "Extenders", "GatewayCrawlers")
HERE = os.path.dirname(os.path.abspath(__file__))
ENV = os.environ
ASAN = "asan" in ENV["RPCRDMA_BUILD"].rsplit("/", 1)[-1]

# name: (how much more there may be, of what)
ALLOWED = {
    # But for what the pool holds, which is Max_Memory at most: Replies of
    # Ganesha's 256 workers, its caches, and what the allocator makes of it.
    "rss": (128 + (512 if ASAN else 0)) * MB,
    "gateway rss": (64 + (256 if ASAN else 0)) * MB,
    # Ganesha's own, that it opens when first needed.
    "descriptors": 8,
    # Files that Ganesha keeps open; it has its own limits for them.
    "files": None,
    "connections": 0,
    "pool": 0,
    # Octets of log a minute, and to begin with.
    "log": 4 * MB,
}
REST = 60  # seconds until all is given back
__doc__ += "".join("    %-12s %s\n" % (k, "not judged" if v is None else v)
                   for k, v in ALLOWED.items())


class Soak:
    def __init__(self, minutes, seed):
        self.begun = time.monotonic()
        self.seconds, self.seed = minutes * 60, seed
        self.rng = random.Random("%s plan" % seed)
        self.folder = ENV["SOAK_WORK"]
        build, self.data = ENV["RPCRDMA_BUILD"], ENV["SOAK_DATA"]
        self.ports = {k: int(ENV["SOAK_" + k]) for k in ("NFS", "MNT", "RDMA")}
        self.server = Server(ENV["GANESHA_BIN"], ENV["SOAK_CONFIG"],
                             ENV["SOAK_STATS"], self.folder)
        tools = build + "/bin/"
        self.gateways = [
            Gateway("gateway-" + name, tools + "rpcrdma-gateway", int(port),
                    "10.77.0.%d:%d" % (n + 1, self.ports["RDMA"]),
                    options.split(), self.folder)
            for n, (name, port, options) in enumerate(zip(
                ("ext", "v2", "v1"), ENV["SOAK_GATEWAYS"].split(),
                ("--version-rdma 2 --extensions xcharext,rtrext "
                 "--debug placement-size=12288 --credits 32",
                 "--version-rdma 2 --credits 32", "--version-rdma 1")))]
        self.programs = [self.server] + self.gateways
        self.writers, self.peers = [], []
        self.loads = self.make_loads(build, tools)
        self.counts, self.said = {}, {}
        self.faults, self.table, self.undo = [], [], []
        self.short = 0

    def fault(self, name, text):
        self.faults.append((name, text))
        print("# %6.0f s %s: %s" % (time.monotonic() - self.begun, name, text),
              flush=True)

    # ---- Who there is ----

    def make_loads(self, build, tools):
        bench = build + "/tests/bench/rpcrdma-bench"
        ping = tools + "rpcrdma-ping"
        n = {k: "10.77.0.%%d:%d" % v for k, v in self.ports.items()}
        kinds = (("tcp", "tcp", "NFS", ""),
                 ("v1", "rdma", "RDMA", "--version-rdma 1"),
                 ("v2", "rdma", "RDMA", "--version-rdma 2"),
                 ("ext", "rdma", "RDMA", "--version-rdma 2 --extensions "
                  "xcharext,rtrext"))
        out = []
        for host, (name, transport, port, options) in enumerate(kinds, 11):
            out.append(loading.Load("bench-" + name, loading.bench(
                bench, transport, n[port] % host,
                (n["MNT"] % host, n["NFS"] % host), "bench-" + name, options),
                self.seed))
            if transport == "rdma":
                out.append(loading.Load("ping-" + name, loading.ping(
                    ping, n["RDMA"] % (host + 10), options), self.seed))
        with open(os.path.join(self.data, "file"), "rb") as f:
            digest = hashlib.sha256(f.read()).hexdigest()
        for name, port in [(g.name, g.port) for g in self.gateways] + [
                ("tcp", self.ports["NFS"])]:
            out.append(loading.Load("read-" + name, loading.libnfs(
                port, self.ports["MNT"], digest), self.seed))
        return out

    def start_writers(self):
        ways = [("tcp", self.ports["NFS"])] + [
            (g.name.split("-")[1], g.port) for g in self.gateways]
        for n, (way, port) in enumerate(ways):
            for k, vers in enumerate(("3", "4.0", "4.1"), 1):
                name = "w-%s-%s" % (way, vers)
                self.writers.append(begin(
                    [sys.executable, HERE + "/writer.py", name, vers,
                     "127.0.0.1", str(port), str(self.ports["MNT"]),
                     os.path.join(self.data, name), str(self.seed),
                     "127.10.%d.%d" % (n, k)],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                    bufsize=1))

    def start_peer(self, kind):
        return begin([sys.executable, HERE + "/peers.py", "1",
                      self.server.socket, str(self.ports["RDMA"]),
                      ",".join(str(g.port) for g in self.gateways), kind,
                      "%s %d" % (self.seed, self.rng.getrandbits(32))],
                     stdout=subprocess.PIPE, text=True)

    # ---- Writers ----

    def tell(self, word):
        for w in self.writers:
            try:
                w.stdin.write(word + "\n")
                w.stdin.flush()
            except OSError:
                pass

    def hear(self):
        """What each writer says at rest."""
        for w in self.writers:
            line = w.stdout.readline()
            if not line:
                self.fault("writers-live", "%s: status %s" % (
                    w.args[2], w.poll()))
                continue
            said = json.loads(line)
            self.said[said["name"]] = said["count"]
            for text in said["wrong"]:
                self.fault("stable-writes", "%s: %s" % (
                    said["name"], text))

    # ---- Events ----

    def kill(self, program):
        program.kill()
        time.sleep(self.rng.uniform(0, 2))
        program.start()

    def few_descriptors(self):
        self.short += 1
        undo = self.server.few_descriptors(self.rng.randrange(20))
        self.undo.append((time.monotonic() + self.rng.uniform(3, 10), undo))

    def plan(self, seconds, last, kills):
        """(seconds from the beginning, function), in order."""
        out = []

        def at(n, until_, act, *args):
            for i in range(max(1, n)):
                part = until_ / max(1, n)
                out.append((part * (i + self.rng.uniform(0.1, 0.9)), act, args))

        if kills:
            end_ = seconds * (0.6 if last else 1)
            at(round(end_ / 45), end_, self.kill, self.server)
            for g in self.gateways:
                at(round(end_ / 60), end_, self.kill, g)
        at(round(seconds / 45), seconds, self.few_descriptors)
        return sorted(out, key=lambda e: e[0])

    def care(self):
        now = time.monotonic()
        for what in [x for x in self.undo if x[0] < now]:
            what[1]()
            self.undo.remove(what)
        for p in self.programs:
            p.look()
        for kind, p in self.peers:
            if p.poll() is not None:
                self.fault("peers-live", "%s: status %d" % (
                    kind, p.returncode))
                self.peers.remove((kind, p))

    def round(self, seconds, plan, kinds):
        self.tell("go")
        for load in self.loads:
            load.go()
        self.peers = [(k, self.start_peer(k)) for k in kinds]
        begun, plan = time.monotonic(), list(plan)
        while time.monotonic() < begun + seconds:
            self.care()
            if plan and time.monotonic() - begun > plan[0][0]:
                _, act, args = plan.pop(0)
                act(*args)
            time.sleep(0.2)
        for _, undo in self.undo:
            undo()
        self.undo = []
        self.rest()

    def rest(self):
        for kind, p in self.peers:
            p.terminate()
        for kind, p in self.peers:
            try:
                out, _ = p.communicate(timeout=30)
                for what, n in json.loads(out).items():
                    key = kind + " " + what
                    self.counts[key] = self.counts.get(key, 0) + n
            except (subprocess.TimeoutExpired, ValueError):
                p.kill()
                p.wait()
        self.peers = []
        self.tell("rest")
        threads = threading.Thread(target=self.hear, daemon=True)
        threads.start()
        for name in loading.settle(self.loads):
            self.fault("loads-end", name)
        while threads.is_alive():
            self.care()
            threads.join(0.2)
        self.given_back = until(self.server.at_rest, REST * PATIENCE)
        # What has been freed goes back after two seconds at rest.
        time.sleep(8 * PATIENCE)
        self.care()

    # ---- Looking ----

    def look(self, name):
        s = self.server.stats() or {"connections_now": -1, "pool": {}}
        some, files = self.server.descriptors()
        row = {"when": name, "rss": self.server.memory(),
               "peak": self.server.memory("VmHWM"),
               "descriptors": some, "files": files,
               "connections": s["connections_now"],
               "pool": s["pool"].get("bytes_in_use", -1),
               "held": s["pool"].get("bytes_held", -1),
               "refused": s["pool"].get("refused", -1),
               "start": self.server.starts}
        for g in self.gateways:
            row[g.name + " rss"] = g.memory()
            row[g.name + " pool held"] = g.held()
            row[g.name + " descriptors"] = g.descriptors()[0]
        self.table.append(row)
        print("# %6.0f s %-9s server %d: RSS %d MB (peak %d), %d descriptors "
              "and %d files, %d connections, pool %d kB in use, %d MB held, %d "
              "refused; gateways' RSS %s MB" % (
                  time.monotonic() - self.begun, name, row["start"],
                  row["rss"] // MB, row["peak"] // MB, some, files,
                  row["connections"], row["pool"] // 1024, row["held"] // MB,
                  row["refused"], " ".join(str(g.memory() // MB)
                                           for g in self.gateways)), flush=True)
        return row

    def run(self):
        warm = min(60, max(8, self.seconds // 10))
        n = max(1, round((self.seconds - warm) / 200))
        each = (self.seconds - warm) / n - (7 if n == 1 else 15)
        for p in self.programs:
            if not p.start():
                return
        self.start_writers()
        self.round(warm, (), ())
        before = self.look("warm-up")
        if not self.given_back:
            self.fault("warm-up", "not all is given back")
        for i in range(n):
            kills = i < (n + 1) // 2
            self.round(each, self.plan(each, n == 1, kills), KINDS)
            after = self.look("round %d" % (i + 1))
        self.judge(before, after)

    def judge(self, before, after):
        def held(key, allowed, name, unit=1, but=None):
            more = after[key] - before[key]
            if but:
                more -= after[but] - before[but]
            if more > allowed:
                self.fault(name, "%s: %d before, %d after" % (
                    key, before[key] // unit, after[key] // unit))

        held("rss", ALLOWED["rss"], "memory", MB, "held")
        held("descriptors", ALLOWED["descriptors"], "descriptors")
        held("connections", ALLOWED["connections"], "connections")
        held("pool", ALLOWED["pool"], "pool")
        for g in self.gateways:
            held(g.name + " rss", ALLOWED["gateway rss"], "gateway-memory", MB,
                 g.name + " pool held")
            held(g.name + " descriptors", ALLOWED["descriptors"],
                 "gateway-descriptors")
        minutes = (time.monotonic() - self.begun) / 60
        for p in self.programs:
            if p.logged() > ALLOWED["log"] * (1 + minutes):
                self.fault("logs", "%s has written %d MB" % (
                    p.name, p.logged() // MB))
        for load in self.loads:
            if not load.good:
                self.fault("loads-go-on", "%s, %d times: %s" % (
                    load.name, load.bad, load.last))
            for text in load.wrong[:3]:
                self.fault("data", text)
        for name, count in self.said.items():
            if not count["stable"]:
                self.fault("writers-go-on", name)

    def summary(self):
        print("# --- what was done ---")
        for key, n in sorted(self.counts.items()):
            print("# %-34s %10d" % (key, n))
        for load in self.loads:
            print("# %-34s %10d good, %d not" % (load.name, load.good, load.bad))
        for name, count in self.said.items():
            print("# %-34s %s" % (name, ", ".join(
                "%d %s" % (n, k) for k, n in count.items())))
        total = {k: sum(c[k] for c in self.said.values())
                 for k in ("stable", "octets", "checked")}
        print("# %-34s %10d blocks, %d MB; compared %d times" % (
            "stable writes", total["stable"], total["octets"] // MB,
            total["checked"]))
        for p in self.programs:
            print("# %-34s %10d starts, %d kills, %d kB of log" % (
                p.name, p.starts, p.kills, p.logged() // 1024))
        print("# %-34s %10d" % ("times without descriptors", self.short))
        if not self.table:
            return
        print("# --- before and after ---")
        before, after = self.table[0], self.table[-1]
        for key in before:
            if key in ("when", "start", "refused"):
                continue
            unit = MB if "rss" in key or "held" in key or key == "peak" else 1
            allowed = ALLOWED.get(key, ALLOWED["gateway rss"] if
                                  key.endswith(" rss") else None)
            print("# %-34s %10d %10d   %s" % (
                {"held": "pool held", "pool": "pool in use"}.get(key, key) +
                (" MB" if unit == MB else ""), before[key] // unit,
                after[key] // unit, "" if allowed is None else
                "%d more allowed" % (allowed // unit)))

    def close(self, done):
        for p in [p for _, p in self.peers] + self.writers:
            p.kill()
        for load in self.loads:
            load.rest()
            if load.process:
                load.process.kill()
        for p in self.programs[::-1]:
            if p.process and done:
                p.stop()
            elif p.process:
                p.process.kill()
                p.process.wait()


NAMES = ("warm-up", "stable-writes", "data", "writers-live", "writers-go-on",
         "loads-go-on", "loads-end", "peers-live", "no-crash", "memory",
         "gateway-memory", "descriptors", "gateway-descriptors", "connections",
         "pool", "logs", "ends")


SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def stop(*_):
    for s in SIGNALS:
        signal.signal(s, signal.SIG_IGN)
    raise SystemExit(143)


def main():
    # The shell that has begun this may be killed.
    LIBC.prctl(1, signal.SIGTERM, 0, 0, 0)
    for s in SIGNALS:
        signal.signal(s, stop)
    soak = Soak(float(sys.argv[1]), sys.argv[2])
    done = False
    try:
        soak.run()
        done = True
    except SystemExit:
        soak.fault("ends", "stopped by a signal")
    finally:
        soak.close(done)
    soak.summary()
    for p in soak.programs:
        soak.faults += [("no-crash", x) for x in p.faults]
    if not soak.table and not soak.faults:
        soak.fault("ends", "it was not begun")
    for name in NAMES:
        why = [text for n, text in soak.faults if n == name]
        if why:
            for text in why[1:6]:
                print("# %s: %s" % (name, text))
            print("not ok soak-%s %s%s" % (
                name, why[0].replace("\n", " "),
                " (and %d more)" % (len(why) - 1) if why[1:] else ""))
        else:
            print("ok soak-%s" % name)
    sys.exit(1 if soak.faults else 0)


if __name__ == "__main__":
    main()
