# SPDX-License-Identifier: BSD-3-Clause
"""The client that is good: how many Calls a second it gets answered.

Its command floods a server with NULL Calls until SIGINT, prints what
rpcrdma-ping --json does, and then reads a file. What it gets alone is measured
anew before each attack, because machines that are shared are faster at one time
than at another. An attacker of Python takes a processor for itself, which is no
fault of the server's; so the rate is taken twice, with the attacker at the
lowest priority and at that of the others. Rates are printed, never judged.
"""

import json
import os
import statistics
import subprocess
import threading

# For each rate; an attack of auth.py counts the connections. docs/security.md has 3.
RUNS = int(os.environ.get("ATTACK_RUNS", "1"))
LOWEST = 19
# Of rpcrdma-ping: no connection, and interrupted before it could begin.
NOT_CONNECTED = (3, 130)


class Failed(Exception):
    pass


def run(command, seconds=float(os.environ.get("ATTACK_SECONDS", "0.3"))):
    """Once: Calls a second. To be let in may take longer than it is measured."""
    r = subprocess.run(["bash", "-c", command], capture_output=True,
                       timeout=600, text=True, check=False,
                       env=dict(os.environ, ATTACK_SECONDS=str(seconds)))
    if r.returncode in NOT_CONNECTED and seconds < 10:
        return run(command, 4 * seconds)
    if r.returncode:
        raise Failed("the good client: status %d: %.300s" %
                     (r.returncode, r.stdout + r.stderr))
    said, _ = json.JSONDecoder().raw_decode(r.stdout)
    return said["answered"] / max(said["seconds"], 1e-6)


def rate(command):
    return statistics.median(run(command) for _ in range(RUNS))


def attackers():
    """Threads and children of this process, but for this thread."""
    own = threading.get_native_id()
    for tid in os.listdir("/proc/self/task"):
        if int(tid) != own:
            yield int(tid)
        try:
            with open("/proc/self/task/%s/children" % tid,
                      encoding="ascii") as f:
                yield from (int(pid) for pid in f.read().split())
        except OSError:
            pass


def priority(nice):
    """Of the attackers; what they start later is like them."""
    for which in attackers():
        try:
            os.setpriority(os.PRIO_PROCESS, which, nice)
        except OSError:
            pass  # gone; or we may not, and the two rates are alike


def amid(command, alone):
    """While an attack goes on: a text."""
    rates = []
    for nice in (LOWEST, 0):
        priority(nice)
        rates.append(rate(command))
    return "good %.0f/s alone, then %.0f/s, %.0f %%; attacker as fast as it " \
        "can: %.0f/s, %.0f %%" % (alone, rates[0], 100 * rates[0] / alone,
                                  rates[1], 100 * rates[1] / alone)
