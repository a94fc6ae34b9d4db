#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A delegation is given back just when Ganesha is busy with its recall.

    delegation_race.py answer|retry|revoke PORT DATA ROUNDS

By NFSv4.1. DATA is the exported directory. A client has delegations of several
files, and another one opens these to write.

    answer  The first sends its answer to the callback and DELEGRETURN at the same
            time.
    retry   It says that it has no time for the callback, and gives the delegation
            back when Ganesha is about to ask again, a second later.
    revoke  It answers, gives nothing back, and asks by TEST_STATEID without a pause
            whether the delegation is still its own, until Ganesha revokes it. A
            round takes a lease.

Ganesha 4.3 may free what it knows of the delegation in a thread that serves no Call
then, or in a Call that names no file, where it knows of no file system to do so: by TCP
this ends it.
"""

import os
import random
import sys
import time

from nfsclient import (DELEGRETURN, OPEN, PUTFH, V4, NfsError, opaque, u32, u64)

DELAY = 10008
TEST_STATEID = 55
RETRY = 1.0  # seconds: Ganesha's


class Holder(V4):
    returned = {}
    retry = False

    def give_back(self, stateid):
        f = self.held[stateid[4:]]
        self.returned[f] = self.send([u32(PUTFH) + opaque(f.fh),
                                      u32(DELEGRETURN) + f.delegation])

    def answer(self, xid, program, version, proc, r):
        n = len(self.recalled)
        body = super().answer(xid, program, version, proc, r)
        if len(self.recalled) == n or body is None:
            return body
        if self.retry:
            # The same, but with another status, for the COMPOUND too.
            return u32(DELAY) + body[4:-4] + u32(DELAY)
        reply = u32(xid, 1, 0, 0, 0, 0) + body
        if random.random() < 0.5:
            self.rpc.write(reply)
            self.give_back(self.recalled[-1])
        else:
            self.give_back(self.recalled[-1])
            self.rpc.write(reply)
        return None


def ask(other, names):
    """OPEN of all, to write; the answers are for later."""
    sent = []
    for name in names:
        head, tail = other.split(name)
        other.owners += 1
        owner = opaque("%s-%d" % (other.name, other.owners))
        sent.append(other.send(other.walk(head) + [
            u32(OPEN, 0, 2, 0) + u64(other.clientid) + owner + u32(0) +
            u32(0) + opaque(tail)]))
    return sent


def answers(client, sent):
    for xid in sent:
        client.rpc.receive(xid)
        client.free_slot(xid)


def once(holder, other, data, number, retry):
    files = 7 if retry else 4
    names = ["race-%d-%d-%d" % (os.getpid(), number, i) for i in range(files)]
    for name in names:
        with open(os.path.join(data, name), "w") as f:
            f.write("some octets")
    holder.retry, holder.returned, holder.recalled = retry, {}, []
    opened = [holder.open(name) for name in names]
    if not all(f.delegation for f in opened):
        sys.exit("no delegation is given")
    holder.held = {f.delegation[4:]: f for f in opened}
    asked = ask(other, names)
    begun = time.monotonic()
    if retry:
        answers(other, asked)
        holder.null()
        time.sleep(max(0, begun + RETRY - time.monotonic() +
                       random.uniform(-0.002, 0.004)))
        for f in opened:
            holder.give_back(f.delegation)
            time.sleep(random.uniform(0, 0.0005))
    else:
        while len(holder.returned) < files:
            holder.rpc.take()
        answers(other, asked)
    for f, xid in holder.returned.items():
        r = holder.rpc.receive(xid)
        holder.free_slot(xid)
        try:
            holder.received(r, "DELEGRETURN")
        except NfsError as e:
            if e.status != 10025:
                raise
    for f, name in zip(opened, names):
        holder.close(f)
        os.unlink(os.path.join(data, name))


def still_ours(holder, stateid):
    """Asked 500 times by one Call, which is for the last of the answers."""
    xid = holder.send([u32(TEST_STATEID, 500) + stateid * 500])

    def result():
        r = holder.rpc.receive(xid)
        holder.free_slot(xid)
        holder.result(holder.received(r, "TEST_STATEID"), TEST_STATEID)
        return [r.u32() for _ in range(1 + 500)][-1] == 0
    return result


def revoked(holder, other, data, number):
    """Delegations are recalled one by one, and so revoked; the next one is asked for."""
    files = 4
    names = ["race-%d-%d-%d" % (os.getpid(), number, i) for i in range(files)]
    for name in names:
        with open(os.path.join(data, name), "w") as f:
            f.write("some octets")
    holder.recalled = []
    opened = [holder.open(name) for name in names]
    due = [f.delegation for f in opened]
    if not all(due):
        sys.exit("no delegation is given")
    asked, last, waiting = [], 0, []
    while due:
        if time.monotonic() > last + 1.1:
            last = time.monotonic()
            asked += ask(other, names[len(asked):][:1])
            other.compound([], "SEQUENCE")  # its lease is short as well
        while len(waiting) < 4:
            waiting.append((due[0], still_ours(holder, due[0])))
        stateid, result = waiting.pop(0)
        if not result() and stateid in due:
            due.remove(stateid)
    for _, result in waiting:
        result()
    answers(other, asked)
    for f, name in zip(opened, names):
        holder.close(f)
        os.unlink(os.path.join(data, name))


def main(how, port, data, rounds):
    kind = V4 if how == "revoke" else Holder
    holder = kind("127.0.0.1", int(port), 1)
    other = V4("127.0.0.1", int(port), 1)
    for number in range(int(rounds)):
        if how == "revoke":
            revoked(holder, other, data, number)
        else:
            once(holder, other, data, number, how == "retry")
    holder.end()
    other.end()


try:
    main(*sys.argv[1:])
except ConnectionError as e:
    sys.exit("the server has gone: %s" % e)
