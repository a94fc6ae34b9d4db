# SPDX-License-Identifier: BSD-3-Clause
"""The client that is good: how many Calls a second it gets answered.

Its command floods a server with NULL Calls until SIGTERM, prints what
rpcrdma-ping --json does, and then reads a file: it has to succeed while an attack
goes on. Its rate is only told. With ATTACK_RUNS it is compared with its rate alone.

Machines that are shared are faster at one time than at another, so the two are
taken in pairs: while the attacker pauses, and while it goes on. What consists in
holding something cannot pause; then the other is the rate at a second server, the
twin, which nobody attacks, in parts of what the two had before the attack.

An attacker takes processor time for itself, which is no fault of the server's.
So the rates are taken with the attacker at the lowest priority and at that of the
others. Each is held against a control: the rate beside burn.py, which uses as much
processor time as the attacker did, at the same priority, and says nothing to the
server. What the server does for the attacker is its processor time while nobody
else is there, and what it needs more for each Call of the good client than it does
alone; that tells something on a busy machine, too. attack.test has busy polling
off, which would be in it.
"""

import glob
import json
import os
import signal
import statistics
import subprocess
import sys
import threading
import time

# Pairs for each rate, 0: none.
RUNS = int(os.environ.get("ATTACK_RUNS") or "0")
# The good client's command for the twin, and its process.
TWIN = os.environ.get("ATTACK_TWIN")
TWIN_PID = int(os.environ.get("ATTACK_TWIN_PID", "0"))
SECONDS = float(os.environ.get("ATTACK_SECONDS", "0.15"))
# How long an attack goes on before it is measured, at full speed: what a host may
# do at once is over then, and what it may do a second is left (base/pace.h).
SETTLE = float(os.environ.get("ATTACK_SETTLE", "0"))
# Of rpcrdma-ping: no connection, and ended by SIGTERM before it could begin.
NOT_CONNECTED = (3, 143)
BURN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "burn.py")


class Failed(Exception):
    pass


def used(pid):
    """Processor time of a process so far, all threads, in seconds."""
    return time.clock_gettime(~pid << 3 | 2)


def state_of(name):
    """Of what has this name here: what it waits for. A client that hangs is seldom."""
    told = []
    for task in glob.glob("/proc/[0-9]*/task/*"):
        try:
            with open(task + "/stat", encoding="ascii") as f:
                fields = f.read().rpartition(")")[2].split()
            with open(task + "/status", encoding="ascii") as f:
                status = dict(line.split(":", 1) for line in f if ":" in line)
            exe = os.readlink(task + "/../../exe")
            if os.path.basename(exe) == name:
                told.append("%s %s %s ticks %s SigPnd %s ShdPnd %s" % (
                    task[6:], status["Name"].strip(), fields[0],
                    "+".join(fields[11:13]), status["SigPnd"].strip(),
                    status["ShdPnd"].strip()))
        except OSError:
            continue
    return "; ".join(told)


class Sample:
    """Calls a second; what the others used of a processor meanwhile; and what
    the server did for each of those Calls, in us."""

    # Clients that were interrupted before they had one: the server may have let
    # each of them in, or not.
    cut_short = 0

    def __init__(self, calls, others, each):
        self.calls, self.others, self.each = calls, others, each


def run(command, server, others=lambda: 0.0, seconds=SECONDS):
    """Once. To be let in may take longer than it is measured."""
    began, was, each = time.monotonic(), others(), used(server)
    with subprocess.Popen(
            ["bash", "-c", command], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
            env=dict(os.environ, ATTACK_SECONDS=str(seconds))) as p:
        try:
            # The flood, without the file.
            p.wait(seconds)
        except subprocess.TimeoutExpired:
            pass
        share = (others() - was) / (time.monotonic() - began)
        each = used(server) - each
        try:
            out, err = p.communicate(timeout=seconds + 90)
        except subprocess.TimeoutExpired:
            hung = state_of("rpcrdma-ping")
            p.kill()
            raise Failed("the good client does not end: %s" % hung) from None
    # Interrupted before its first Call, it has failed too.
    if p.returncode and seconds < 10 and (
            p.returncode in NOT_CONNECTED or '"calls": 0,' in out):
        Sample.cut_short += 1
        return run(command, server, others, 4 * seconds)
    if p.returncode:
        raise Failed("the good client: status %d: %.300s" %
                     (p.returncode, out + err))
    said, _ = json.JSONDecoder().raw_decode(out)
    return Sample(said["answered"] / max(said["seconds"], 1e-6), share,
                  each / max(said["answered"], 1) * 1e6)


def median(samples):
    return Sample(*(statistics.median(getattr(s, which) for s in samples)
                    for which in ("calls", "others", "each")))


class Pairs:
    """RUNS times alone() and then beside(), which measure: the medians, and that
    of the ratios, in parts of @level."""

    def __init__(self, alone, beside, level=1.0):
        pairs = [(alone(), beside()) for _ in range(RUNS)]
        self.alone = median([alone for alone, _ in pairs])
        self.beside = median([beside for _, beside in pairs])
        self.ratio = statistics.median(beside.calls / alone.calls
                                       for alone, beside in pairs) / level


def level(command, server, attack):
    """Before the attack: the rate at the server in parts of that at the twin."""
    if attack.pauses or not RUNS:
        return 1.0
    return Pairs(lambda: run(TWIN, TWIN_PID),
                 lambda: run(command, server)).ratio


def children():
    for tid in os.listdir("/proc/self/task"):
        try:
            with open("/proc/self/task/%s/children" % tid,
                      encoding="ascii") as f:
                yield from (int(pid) for pid in f.read().split())
        except OSError:
            pass


def attackers():
    """Threads and children of this process, but for this thread."""
    own = threading.get_native_id()
    yield from (int(tid) for tid in os.listdir("/proc/self/task")
                if int(tid) != own)
    yield from children()


def priority(which, lowest):
    """The lowest: it runs when nobody else wants the processor."""
    try:
        os.sched_setscheduler(
            which, os.SCHED_IDLE if lowest else os.SCHED_OTHER,
            os.sched_param(0))
    except OSError:
        pass  # gone; or we may not, and the two rates are alike


class Amid:
    """While an attack goes on: what it takes, and the rates. It has pauses, pause()
    and go_on(), and turns; @before is the level()."""

    def __init__(self, command, server, attack, before):
        pids = list(children())

        def own():
            return time.process_time() + sum(used(pid) for pid in pids)

        time.sleep(SETTLE)
        was = time.monotonic(), used(server), own(), attack.turns
        time.sleep(max(SECONDS, SETTLE / 2))
        now = time.monotonic(), used(server), own(), attack.turns
        self.server, self.own, self.turns = (
            (b - a) / (now[0] - was[0]) for a, b in zip(was[1:], now[1:]))
        self.rates = []
        self.sample = None
        if not RUNS:
            self.sample = run(command, server)
            return

        def alone():
            if not attack.pauses:
                return run(TWIN, TWIN_PID)
            attack.pause()
            try:
                return run(command, server)
            finally:
                attack.go_on()

        for lowest in (True, False):
            # What they start later is like them.
            for which in attackers():
                priority(which, lowest)
            self.rates.append(
                Pairs(alone, lambda: run(command, server, own), before))


def control(command, server, share, lowest):
    """The rates beside somebody who uses that share of a processor."""
    with subprocess.Popen([sys.executable, BURN, str(share)]) as p:
        def alone():
            p.send_signal(signal.SIGSTOP)
            try:
                return run(command, server)
            finally:
                p.send_signal(signal.SIGCONT)

        try:
            priority(p.pid, lowest)
            return Pairs(alone, lambda: run(command, server))
        finally:
            p.kill()


def told(command, server, amid):
    """Afterwards, with nobody there but the controls: a text."""
    parts = []
    if amid.sample:
        parts.append("%.0f/s" % amid.sample.calls)
    for lowest, r in zip((True, False), amid.rates):
        parts.append("%s %.0f of %.0f/s, %.0f %%, %.1f for %.1f us" % (
            "lowest:" if lowest else "as others:", r.beside.calls,
            r.alone.calls, 100 * r.ratio, r.beside.each, r.alone.each))
        beside = control(command, server, r.beside.others, lowest)
        parts[-1] += " (control %.0f %%, %.1f us)" % (
            100 * beside.ratio, beside.beside.each)
    return ("good %s; the attack takes %.1f %% of a processor of the server's "
            "and %.1f %% of its own at %.0f turns/s" %
            ("; ".join(parts), 100 * amid.server, 100 * amid.own, amid.turns))
