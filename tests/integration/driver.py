# SPDX-License-Identifier: BSD-3-Clause
"""The other end of driven() in lib.sh: a test that ends and starts its server."""

import os
import random
import sys


class Driver:
    def __init__(self):
        self.seed = int(os.environ.get("RPCRDMA_SEED") or random.getrandbits(31))

    @staticmethod
    def say(line):
        print(line, flush=True)

    def _ask(self, what):
        self.say("server " + what)
        answer = sys.stdin.readline().split(None, 1)
        if not answer or answer[0] != "done":
            sys.exit("the server does not %s: %s" % (what, answer))
        return answer[1].strip() if len(answer) > 1 else ""

    def died(self):
        """How it has ended."""
        return self._ask("died")

    def start(self):
        self._ask("start")

    def stop(self):
        self._ask("stop")

    def kill(self):
        self._ask("kill")
