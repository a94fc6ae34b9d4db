#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Duplicate requests against a model of them.

    duplicates.py SEEDS TCP-PORT MOUNT-PORT RDMA-PORT GATEWAY-PORT FOLDER

The server exports FOLDER as /export. Each seed is a sequence of steps: clients open
connections by version 1 and 2, by TCP and by TCP through the gateway, close them in order
or break them, send Calls of NFSv3, 4.0, 4.1 and 4.2, send them again on whatever
connection, use an XID again for another Call, leave Calls without waiting for a Reply, and
restart; and so does the server. Some clients share address, name and XIDs. The model has
all states that the server may be in: each step has the outcomes that one of them allows,
and what comes tells which remain. If none does, the sequence has failed: it is made
shorter, as long as it fails, and printed. In the end the directory must be that of one of
the states.
"""

import os
import random
import sys
import time

import nfsclient
from peers import Call, Gone, Silence, Session, Tcp, Version1, Version2
from duplicates_calls import Message, SLOTS
from duplicates_model import MISORDERED, Model, READS, Tree, VARIANTS, content, there
from driver import Driver
from rpcrdma_conformance import rpc
from rpcrdma_conformance.rpc import u32

NAMES = "abc"


class Failure(Exception):
    pass


class Connection:
    number = 0

    """@domain: who shares a cache; @origin: whose Calls are known again; @forgets: not
    what came by one that has been closed in order"""

    def __init__(self, c, domain, origin, forgets):
        Connection.number += 1
        self.number = Connection.number
        self.c, self.domain, self.origin, self.state = c, domain, origin, "alive"
        self.forgets = forgets


class Client:
    def __init__(self, name, address, ports):
        self.name, self.address, self.ports = name, address, ports
        self.conns, self.session, self.owner = {}, None, random.randbytes(8)
        self.verifier, self.seqs = random.randbytes(8), [0] * SLOTS


def steps_of(seed):
    """The sequence of @seed: clients, and steps that are tuples."""
    rnd = random.Random(seed)
    # Where the first of them is; the second is where the first is, or elsewhere.
    place = rnd.choice(("rdma", "rdma", "rdma", "gateway", "gateway", "tcp"))
    twins = rnd.random() < 0.4
    clients = [(place, 0), (place, 0 if twins else 1),
               (rnd.choice(("rdma", "gateway", "tcp")), 2)]
    out, opened, calls, xids = [], {}, [], {}
    unique = rnd.getrandbits(24) << 6

    def op(vers):
        n, f = rnd.choice(NAMES), rnd.randrange(2)
        kinds = [("mkdir", n), ("mkdir", n), ("remove", n), ("rename", n, rnd.choice(NAMES)),
                 ("write", f, rnd.randrange(VARIANTS)), ("write", f, rnd.randrange(VARIANTS)),
                 ("setattr", f, rnd.choice((0o600, 0o640, 0o666))), ("read", f),
                 ("readdir",), ("getattr", f)]
        if vers == "3":
            kinds += [("rmdir", n), ("create", n, rnd.choice(
                ("unchecked", "guarded", "x", "y")))] * 2
        return rnd.choice(kinds)

    def back(i, k):
        """The client comes back, and asks for what it has no Reply to, or thinks so."""
        mine = [c for c in calls if c[1] == i]
        if mine and rnd.random() < 0.6:
            opened[i, k] = rnd.choice(("v1", "v2")) if clients[i][0] == "rdma" else "tcp"
            xids[i, k] = 0
            out.append(("open", i, k, opened[i, k]))
            out.append(("again", i, k, mine[-1][0], rnd.getrandbits(8)))

    for _ in range(rnd.choice((8, 15, 30))):
        i = rnd.randrange(len(clients))
        k = rnd.randrange(2)
        roll = rnd.random()
        if (i, k) not in opened:
            opened[i, k] = rnd.choice(("v1", "v2")) if clients[i][0] == "rdma" else "tcp"
            out.append(("open", i, k, opened[i, k]))
            xids[i, k] = 0
            continue
        if roll < 0.12:
            out.append((rnd.choice(("close", "close", "break")), i, k))
            del opened[i, k]
            back(i, k)
        elif roll < 0.32 and calls:
            of = rnd.choice(calls[-6:])
            j = rnd.choice([c for c in opened if c[0] == of[1]] or [(i, k)])
            if j[0] == of[1]:
                out.append(("again", j[0], j[1], of[0], rnd.getrandbits(8)))
        elif roll < 0.34:
            out.append(("restart", rnd.choice(("stop", "kill"))))
            opened.clear()
        elif roll < 0.36:
            out.append(("crash", i))
            for key in [c for c in opened if c[0] == i]:
                del opened[key]
        else:
            vers = rnd.choice(("3", "3", "3", "4.0", "4.1", "4.2"))
            what = op(vers)
            xids[i, k] += 1
            xid = xids[i, k]
            if calls and rnd.random() < 0.25:
                # The XID of another, and as little else as can be.
                _, _, vers, xid, what = rnd.choice(calls[-6:])
                if what[0] == "write":
                    what = what[:2] + (rnd.randrange(VARIANTS),)
                elif rnd.random() < 0.5:
                    what = op(vers)
            if clients[i][0] == "tcp":
                xid = unique + len(calls)
            ident = len(calls)
            calls.append((ident, i, vers, xid, what))
            how = rnd.choice(("wait",) * 8 + ("break", "shut"))
            slot = (rnd.randrange(SLOTS), rnd.random() < 0.5,
                    rnd.choice((0,) * 9 + (1, -1))) if vers > "4.0" else ()
            out.append(("call", i, k, ident, vers, xid, what, how, slot, rnd.getrandbits(8)))
            if how != "wait":
                del opened[i, k]
                back(i, k)
    return clients, out


class Run:
    def __init__(self, bench, clients, trace=None):
        self.bench, self.trace = bench, trace
        self.name = "model-%x" % random.getrandbits(48)
        self.folder = os.path.join(bench.folder, self.name)
        self.prepare()
        tag = "%x" % random.getrandbits(32)
        self.clients, self.places = [], [p for p, _ in clients]
        for place, number in clients:
            like = next((c for c, n in zip(self.clients, clients) if n[1] == number), None)
            address = like.address if like else "127.4.%d.%d" % (
                random.randrange(256), random.randrange(1, 255))
            self.clients.append(Client("%s-%d" % (tag, number), address, {}))
        self.model = Model(Tree())
        self.calls = {}

    def prepare(self):
        v3 = nfsclient.connect("3", "127.0.0.1", self.bench.tcp, self.bench.mount)
        v3.mkdir(self.name)
        for f in ("f0", "f1"):
            v3.put("%s/%s" % (self.name, f), content(0), stable=2)
        self.dir3 = v3.lookup(self.name)
        self.file3 = [v3.lookup("%s/%s" % (self.name, f)) for f in ("f0", "f1")]
        v3.end()
        v4 = nfsclient.connect("4.1", "127.0.0.1", self.bench.tcp, 0)

        def handle(name):
            r = v4.at(name, [u32(10)], "GETFH")
            return v4.result(r, 10).opaque()

        self.dir4 = handle(self.name)
        self.file4 = [handle("%s/%s" % (self.name, f)) for f in ("f0", "f1")]
        v4.end()

    def tidy(self):
        for client in self.clients:
            for conn in client.conns.values():
                try:
                    conn.c.break_off()
                except OSError:
                    pass
            client.conns = {}

    # ---- Each step ----

    def step(self, s):
        getattr(self, "do_" + s[0])(*s[1:])

    def do_open(self, i, k, kind):
        client, place = self.clients[i], self.places[i]
        if k in client.conns:
            return
        bench = self.bench
        if place == "rdma":
            c = {"v1": Version1, "v2": Version2}[kind](bench.rdma, client.address)
        else:
            port = bench.tcp if place == "tcp" else bench.gateway
            # Ganesha knows a client by its port; so a twin has another.
            c = Tcp(port, client.address, client.ports.get(k, 0))
            client.ports[k] = c.source
        origin = "%s %s %d" % (place, client.address, c.source)
        domain = "gateway" if place == "gateway" else origin
        conn = Connection(c, domain, origin, place == "rdma")
        client.conns[k] = conn
        self.model.conns.append(conn)

    def gone(self, i, k, state):
        self.clients[i].conns.pop(k).state = state

    def do_close(self, i, k):
        if k in self.clients[i].conns:
            self.clients[i].conns[k].c.close()
            self.gone(i, k, "closed")

    def do_break(self, i, k):
        if k in self.clients[i].conns:
            self.clients[i].conns[k].c.break_off()
            self.gone(i, k, "broken")

    def do_restart(self, how):
        for client in self.clients:
            for conn in client.conns.values():
                conn.c.break_off()
            client.conns = {}
            client.session = None
        self.bench.restart(how)
        self.model.restarted()
        # Ganesha 6.5 has no READDIR of NFSv3 for a handle that it has not looked up.
        v3 = nfsclient.connect("3", "127.0.0.1", self.bench.tcp, self.bench.mount)
        v3.lookup(self.name)
        v3.end()
        for m in self.calls.values():
            m.dead = True

    def do_crash(self, i):
        client = self.clients[i]
        for k in list(client.conns):
            self.do_break(i, k)
        client.verifier = random.randbytes(8)
        client.session = None

    def session(self, client, conn, minor):
        """Its session over @conn; another if it has none."""
        if not client.session:
            client.session = Session(conn.c, minor, SLOTS, "%s-%s" % (
                client.name, client.owner.hex()), client.verifier, 65536)
            client.seqs = list(client.session.seqs)
            # What there was of an earlier instance has ended.
            self.model.now()
            for m in self.calls.values():
                if m.client is client and m.live is not client.session:
                    m.dead = True
        return client.session

    def do_call(self, i, k, ident, vers, xid, op, how, slot, form):
        client = self.clients[i]
        conn = client.conns.get(k)
        if conn is None:
            return
        if slot:
            number, keep, skew = slot
            if self.places[i] == "tcp" and op[0] in READS:
                keep = False
            session = self.session(client, conn, int(vers[2:]))
            seq = client.seqs[number] + 1
            if skew and seq + skew > 0 and how == "wait":
                # Of no Call, or of another that was before.
                m = Message(self, client, vers, xid, op, session, number, seq + skew, keep)
            else:
                m = Message(self, client, vers, xid, op, session, number, seq, keep)
                client.seqs[number] = seq
        else:
            m = Message(self, client, vers, xid, op)
        self.calls[ident] = m
        self.send(i, k, conn, m, how, form)

    def do_again(self, i, k, ident, form):
        conn = self.clients[i].conns.get(k)
        if conn is None or ident not in self.calls:
            return
        try:
            self.send(i, k, conn, self.calls[ident], "wait", form)
        except Gone:
            if self.places[i] != "rdma":
                raise
            # It had waited for the Call, and is answered on the connection that replaces
            # this one: call_drop() in ntirpc/svc_call.c.
            self.gone(i, k, "broken")
            self.do_open(i, k, "v1" if isinstance(conn.c, Version1) else "v2")
            self.send(i, k, self.clients[i].conns[k], self.calls[ident], "wait", form)

    def send(self, i, k, conn, m, how, form):
        call = m.call(form)
        forms = call.forms(type(conn.c))
        chosen = forms[form % len(forms)]
        if how != "wait":
            conn.c.send(call, chosen)
            self.model.left(m, conn)
            if how == "break":
                self.do_break(i, k)
            else:
                conn.c.shut()
                self.bench.shut.append(conn.c)
                self.clients[i].ports.pop(k, None)  # it is still taken
                self.gone(i, k, "left")
            return
        silent = self.model.may_be_silent(m)
        for _ in range(20 if silent else 1):
            conn.c.send(call, chosen)
            try:
                reply = conn.c.receive(m.xid, 1 if silent else 20)
                break
            except Silence:
                if not silent or not self.model.silent(m):
                    raise Failure("no answer") from None
        else:
            raise Failure("no answer, however often it is sent")
        seen = m.seen(reply)
        if self.trace is not None:
            self.trace.append(str(seen))
        if seen.status == MISORDERED and m.session:
            self.clients[i].seqs[m.slot] = min(self.clients[i].seqs[m.slot], m.seq - 1)
        before = len(self.model.worlds)
        states = [w.tree.key() for w in self.model.worlds]
        if not self.model.answered(m, conn, seen):
            raise Failure("%s, which none of %d states allows: %s" % (
                seen, before, "; ".join(map(str, states[:3]))))

    def finish(self):
        """What has been left may still be executed."""
        end = time.monotonic() + 5 * any(w.pending for w in self.model.worlds)
        while not self.model.allows(there(self.folder)):
            if time.monotonic() > end:
                tree = there(self.folder)
                raise Failure("in the end there are %s, %s; the model has %s" % (
                    tree.names, tree.files, [w.tree.key() for w in self.model.worlds][:3]))
            time.sleep(0.1)


# ---- Seeds ------------------------------------------------------------------------------

class Bench:
    def __init__(self, tcp, mount, rdma, gateway, folder):
        self.tcp, self.mount, self.rdma, self.gateway = tcp, mount, rdma, gateway
        self.folder, self.driver = folder, Driver()
        self.shut, self.started = [], time.time()

    def restart(self, how):
        getattr(self.driver, how)()
        # Ganesha numbers its clients by the second of its start.
        time.sleep(max(0, self.started + 1.1 - time.time()))
        self.start()

    def start(self):
        self.started = time.time()
        self.driver.start()

    def alive(self):
        try:
            c = Tcp(self.tcp, patience=20)
            c.call(Call(rpc.null(1)))
            c.close()
            return True
        except (Gone, Silence):
            return False

    def run(self, clients, steps, trace=None):
        """What goes wrong, or None."""
        run, s, wrong = Run(self, clients, trace), None, None
        try:
            for s in steps:
                if trace is not None:
                    trace.append(s)
                run.step(s)
            s = ("end",)
            run.finish()
        except (Failure, Gone, Silence, rpc.Short) as e:
            wrong = "%s: %s: %s" % (s, type(e).__name__, e)
        run.tidy()
        for c in self.shut:
            try:
                c.break_off()
            except OSError:
                pass
        self.shut = []
        if not self.alive():
            wrong = "the server dies (%s) at %s" % (self.driver.died(), s)
            self.start()
        return wrong

    def shorten(self, clients, steps):
        """Delta debugging: the steps that are needed, as far as is found in time."""
        end = time.monotonic() + float(os.environ.get("DUPLICATES_SHRINK", "60"))
        n = 2
        while len(steps) > 1 and time.monotonic() < end:
            size = max(1, len(steps) // n)
            for at in range(0, len(steps), size):
                less = steps[:at] + steps[at + size:]
                # What fails by chance gets a second one.
                if self.run(clients, less) or self.run(clients, less):
                    steps, n = less, max(n - 1, 2)
                    break
                if time.monotonic() > end:
                    break
            else:
                if size == 1:
                    break
                n = min(2 * n, len(steps))
        return steps


def main(seeds, *where):
    bench = Bench(*map(int, where[:4]), where[4])
    first = os.environ.get("RPCRDMA_SEED")
    first = int(first) if first else random.getrandbits(31)
    failed = done = count = 0
    end = time.monotonic() + float(os.environ.get("DUPLICATES_SECONDS", "1e9"))
    while done < seeds and time.monotonic() < end and failed < 5:
        seed = first + done
        done += 1
        clients, steps = steps_of(seed)
        count += len(steps)
        wrong = bench.run(clients, steps)
        if not wrong:
            continue
        failed += 1
        print("# seed %d, %d steps: %s" % (seed, len(steps), wrong), flush=True)
        steps = bench.shorten(clients, steps)
        trace = []
        wrong = bench.run(clients, steps, trace) or "by chance"
        print("#   clients %s; the shortest that fails (%s):" % (clients, wrong))
        for line in trace:
            print("#     %s%s" % ("" if isinstance(line, tuple) else "  -> ", line),
                  flush=True)
    print("# %d sequences from seed %d, %d steps: %d failed" % (done, first, count, failed),
          flush=True)
    return failed != 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), *sys.argv[2:]))
