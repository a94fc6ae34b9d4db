# SPDX-License-Identifier: BSD-3-Clause
"""A model of a server that gets duplicate requests.

A Model has all states (World) that the server may be in. An answer that comes leaves
those that allow it; if there are none, the server is wrong.

What may be in an answer (RFC 1813, 7530, 8881; draft 3.1.3; docs/protocol.md [E11]):

- A Call that has not been executed is executed, also if another one has had its XID.
- One that changes something, and comes again by RDMA from the same address, has its first
  Reply if a connection that brought it is alive or was broken. It is executed if all that
  brought it were closed in order. If its client has left with a Call outstanding, the
  server may have seen either.
- One that only reads may have its first Reply on the same connection, or what is there now.
- In a slot of a session, a sequence id is executed once. Sent again it has its first Reply
  or NFS4ERR_RETRY_UNCACHED_REP; with another Call also NFS4ERR_SEQ_FALSE_RETRY.
- By TCP and through the gateway a connection has the port of the one before. Plain Ganesha
  then remembers also what was closed in order; and as it can mistake a Call by TCP for
  another with its XID, XIDs are used once there. Nor is a Reply with data to be kept there.
- After a restart of the server nothing is remembered.
"""

import os
import random

VARIANTS, LENGTH, COMMON = 4, 900, 500
HEAD = random.Random(7).randbytes(COMMON)
TAILS = [random.Random(v).randbytes(LENGTH - COMMON) for v in range(VARIANTS)]
(OK, NOENT, EXIST, NOTDIR, ISDIR, STALE) = (0, 2, 17, 20, 21, 70)
(DELAY, BADSESSION, MISORDERED, RETRY_UNCACHED, FALSE_RETRY, DEADSESSION) = \
    (10008, 10052, 10063, 10068, 10076, 10078)
READS = ("read", "readdir", "getattr")


def content(variant):
    return HEAD + TAILS[variant]


# ---- What an operation does ------------------------------------------------------

class Tree:
    """A directory: names, and two files that stay."""

    def __init__(self, names=(), files=((0, 0o644), (0, 0o644))):
        self.names, self.files = dict(names), list(files)

    def key(self):
        return tuple(sorted(self.names.items())), tuple(self.files)

    def after(self, op, v4):
        """(status that may be, what is read, the tree behind it)"""
        what, *a = op
        new = Tree(self.names, self.files)
        kind = self.names.get(a[0]) if a else None
        one = {OK}
        got = None
        if what == "mkdir" or what == "create" and a[1] == "guarded":
            if kind:
                one = {EXIST}
            else:
                new.names[a[0]] = "d" if what == "mkdir" else "f"
        elif what == "create" and a[1] == "unchecked":
            if kind == "d":
                one = {EXIST, ISDIR}
            elif not kind:
                new.names[a[0]] = "f"
        elif what == "create":
            if not kind:
                new.names[a[0]] = a[1]
            elif kind != a[1]:
                one = {EXIST}
        elif what in ("remove", "rmdir"):
            if not kind:
                one = {NOENT}
            elif not v4 and kind == "d" and what == "remove":
                one = {ISDIR}
            elif not v4 and kind != "d" and what == "rmdir":
                one = {NOTDIR}
            else:
                del new.names[a[0]]
        elif what == "rename":
            other = self.names.get(a[1])
            if not kind:
                one = {NOENT}
            elif a[0] != a[1]:
                if other and (kind == "d") != (other == "d"):
                    one = {EXIST, NOTDIR, ISDIR}
                else:
                    new.names[a[1]] = new.names.pop(a[0])
        elif what == "write":
            new.files[a[0]] = (a[1], self.files[a[0]][1])
        elif what == "setattr":
            new.files[a[0]] = (self.files[a[0]][0], a[1])
        elif what == "read":
            got = content(self.files[a[0]][0])
        elif what == "readdir":
            got = tuple(sorted(list(self.names) + ["f0", "f1"]))
        elif what == "getattr":
            got = self.files[a[0]][1]
        return one, got if OK in one else None, new


def there(folder):
    """The Tree that is in @folder, without the verifiers of exclusive creation."""
    tree = Tree()
    for n in os.listdir(folder):
        path = os.path.join(folder, n)
        if n in ("f0", "f1"):
            with open(path, "rb") as f:
                data = f.read()
            variant = next((v for v in range(VARIANTS) if content(v) == data), None)
            tree.files[int(n[1])] = (variant, os.stat(path).st_mode & 0o777)
        else:
            tree.names[n] = "d" if os.path.isdir(path) else "f"
    return tree


# ---- What the server may be like ---------------------------------------------------

class Execution:
    """A Call that has been executed, and what came of it."""

    def __init__(self, key, xid, domain, conns, status, got, reply):
        self.key, self.xid, self.domain, self.conns = key, xid, domain, conns
        self.status, self.got, self.reply = status, got, reply
        self.loose = False  # its XID has been used again

    def frozen(self):
        return (self.key, self.domain, tuple(sorted(c.number for c in self.conns)),
                tuple(sorted(self.status)), self.got, self.reply, self.loose)


class World:
    def __init__(self, tree):
        self.tree, self.done, self.pending, self.slots = tree, [], [], {}

    def copy(self):
        w = World(self.tree)
        w.done, w.pending, w.slots = list(self.done), list(self.pending), dict(self.slots)
        return w

    def key(self):
        return (self.tree.key(), tuple(e.frozen() for e in self.done),
                tuple((m.key, c.number) for m, c in self.pending),
                tuple(sorted((k, (s, e and e.frozen()))
                             for k, (s, e) in self.slots.items())))


def same(status, got, reply, seen):
    """Does what came (@seen: Seen) answer to that? @reply: these octets."""
    if seen is None:
        return False
    if reply is not None:
        return seen.reply == reply
    return seen.status in status and (seen.status != OK or seen.got == got)


class Seen:
    def __init__(self, reply, status, got, where=None):
        self.reply, self.status, self.got, self.where = reply, status, got, where

    def __str__(self):
        got = self.got
        if isinstance(got, bytes):
            got = next(("variant %d" % v for v in range(VARIANTS) if content(v) == got),
                       "%d other octets" % len(got))
        return "status %s%s" % (self.status, "" if got is None else ", %s" % (got,))


class Model:
    def __init__(self, tree):
        self.worlds = [World(tree)]
        self.conns = []

    def distinct(self, worlds):
        self.worlds = list({w.key(): w for w in worlds}.values())
        return self.worlds

    def executed(self, w, m, conn, seen):
        """The world behind the execution of @m, or None if it was not that."""
        status, got, tree = w.tree.after(m.op, m.v4)
        # By TCP it may be executed twice at once: the second finds what is just going.
        if NOENT in status and conn.domain.startswith("tcp"):
            status = status | {STALE}
        if seen is not None and not same(status, got, None, seen):
            return None
        if seen is not None:
            status = {seen.status}
        w = w.copy()
        w.tree = tree
        e = Execution(m.key, m.xid, conn.domain, (conn,), frozenset(status), got,
                      seen and seen.reply)
        if m.session is not None:
            w.slots[m.session, m.slot] = (m.seq, e)
            return w
        w.done = [x for x in w.done if x.key != m.key or x.domain != conn.domain]
        for i, x in enumerate(w.done):
            if x.xid == m.xid and x.domain == conn.domain and not x.loose:
                w.done[i] = Execution(x.key, x.xid, x.domain, x.conns, x.status, x.got,
                                      x.reply)
                w.done[i].loose = True
        w.done.append(e)
        return w

    def arrived(self, w, m, conn, seen):
        """Worlds in which @m by @conn is answered by @seen. None: it was not waited for."""
        out = []
        if m.session is not None:
            return self.arrived_41(w, m, conn, seen)
        for e in w.done:
            if e.key != m.key or e.domain != conn.domain:
                continue
            must = not e.loose and any(c.state in ("alive", "broken") and
                                       c.origin == conn.origin for c in e.conns)
            never = conn.forgets and all(c.state == "closed" for c in e.conns)
            if m.op[0] in READS:
                must, never = False, conn.forgets and conn not in e.conns
            if not never and (seen is None or same(e.status, e.got, e.reply, seen)):
                v = w.copy()
                v.done.remove(e)
                v.done.append(Execution(e.key, e.xid, e.domain, e.conns + (conn,), e.status,
                                        e.got, e.reply or seen and seen.reply))
                v.done[-1].loose = e.loose
                out.append(v)
            if must:
                return out
        new = self.executed(w, m, conn, seen)
        if new:
            # What is still on its way of it is then not executed.
            new.pending = [p for p in new.pending if p[0].key != m.key]
            out.append(new)
        return out

    def arrived_41(self, w, m, conn, seen):
        if m.dead:
            ok = seen is None or seen.status in (BADSESSION, DEADSESSION)
            return [w] if ok else []
        last, e = w.slots.get((m.session, m.slot), (m.live.used[m.slot], None))
        if m.seq == last + 1:
            new = self.executed(w, m, conn, seen)
            if new:
                new.pending = [p for p in new.pending if p[0].key != m.key]
            return [new] if new else []
        if m.seq == last and not e:
            ok = seen is None or seen.status in (RETRY_UNCACHED, FALSE_RETRY)
            return [w] if ok else []
        if m.seq == last:
            if seen is None or seen.status in (RETRY_UNCACHED, DELAY):
                return [w]
            if e.key != m.key and seen.status == FALSE_RETRY:
                return [w]
            if e.reply is not None and seen.reply == e.reply:
                return [w]
            if e.reply is None and same(e.status, e.got, None, seen):
                v = w.copy()
                v.slots[m.session, m.slot] = (last, Execution(
                    e.key, e.xid, e.domain, e.conns, e.status, e.got, seen.reply))
                return [v]
            return []
        return [w] if seen is None or seen.status == MISORDERED else []

    def settle(self, w):
        """Calls that were not waited for may be executed at any time."""
        yield w
        for p in w.pending:
            v = w.copy()
            v.pending.remove(p)
            for u in self.arrived(v, p[0], p[1], None):
                yield from self.settle(u)

    def now(self):
        """What is pending may have been executed by now, or not."""
        self.distinct(u for w in self.worlds for u in self.settle(w))

    def answered(self, m, conn, seen):
        """False: nothing allows that."""
        return bool(self.distinct(
            v for w in self.worlds for u in self.settle(w)
            for v in self.arrived(u, m, conn, seen)))

    def silent(self, m):
        """No answer: Ganesha drops what it is executing, or is about to note as executed."""
        return bool(self.distinct(
            u for w in self.worlds if self.busy(w, m) for u in self.settle(w)))

    @staticmethod
    def busy(w, m):
        return any(p[0].key == m.key for p in w.pending) or \
            any(e.key == m.key for e in w.done)

    def left(self, m, conn):
        """@m was sent and not waited for."""
        for w in self.worlds:
            w.pending.append((m, conn))

    def may_be_silent(self, m):
        return any(self.busy(w, m) for w in self.worlds)

    def restarted(self):
        worlds = []
        for w in self.worlds:
            for u in self.settle(w):
                v = u.copy()
                v.done, v.pending, v.slots = [], [], {}
                worlds.append(v)
        self.distinct(worlds)
        self.conns = []

    def allows(self, tree):
        def plain(t):
            return tuple(sorted((n, k if k == "d" else "f")
                                for n, k in t.names.items())), tuple(t.files)
        return any(plain(u.tree) == plain(tree) for w in self.worlds for u in self.settle(w))
