# SPDX-License-Identifier: BSD-3-Clause
"""A delegation of one client, recalled because another opens the file.

    delegation.py HOST PORT MINOR DATA [HOW [delegation|layout [SIZE]]]

By NFSv4.MINOR. DATA is the exported directory. Exit status 0 if the first
client was given a delegation, was called back, and the second could open the
file once the delegation was returned. With "layout" it is a layout of the file
that the other wants to have. SIZE is the longest callback that its session takes. HOW is what happens
to the connection by which the first client was given it:

    stays       nothing; it is called back by it
    replaced    the client has another one, bound to its session, before
    trunked     it ends after the callback came, which was not answered; another one,
                which the session has used meanwhile, is bound in its place
    ended       the client comes back when it is about to be called
    unanswered  it ends after the callback came, which was not answered
    late        likewise, when the server has given up that callback
    slow        it ends, and the client comes back after half a minute, when
                the server may have given up more than one callback
    away        it ends, and the client does not come back

Otherwise the client binds the new connection because SEQUENCE
tells it to, hears nothing before, and must find its callbacks in order.
"""

import os
import sys
import time

from nfsclient import V4, NfsError

DELAY, TRY_LATER = 10008, 10058  # LAYOUTTRYLATER
CB_PATH_DOWN = 0x1 | 0x200
FAULT = 0x400
SERVER_GIVES_UP = 3  # seconds: Ganesha, for the answer to a callback


class Delegation:
    """What the first one holds, and the second wants."""

    def __init__(self, holder, other, name):
        self.holder, self.other, self.name = holder, other, name
        self.file = holder.open(name)
        self.held = self.file.delegation
        self.recalled = holder.recalled
        if not self.held:
            sys.exit("no delegation is given")

    def ask(self):
        """None, as long as the other does not get it."""
        try:
            return self.other.open(self.name, access=2)
        except NfsError as e:
            if e.status != DELAY:
                raise
        return None

    def give_back(self):
        self.holder.delegreturn(self.file)

    def end(self, got):
        self.other.close(got)
        self.holder.close(self.file)


class Layout(Delegation):
    def __init__(self, holder, other, name):
        super().__init__(holder, other, name)
        self.theirs = other.open(name)
        self.held = holder.layoutget(self.file)
        self.recalled = holder.layouts_recalled

    def ask(self):
        try:
            return self.other.layoutget(self.theirs)
        except NfsError as e:
            if e.status != TRY_LATER:
                raise
        return None

    def give_back(self):
        self.holder.layoutreturn(self.file, self.recalled[-1])

    def end(self, got):
        self.other.layoutreturn(self.theirs, got)
        self.other.close(self.theirs)
        self.holder.close(self.file)


def wait(what, wanted, seconds=100):
    end = time.monotonic() + seconds
    while True:
        got = wanted()
        if got:
            return got
        if time.monotonic() > end:
            sys.exit(what)
        time.sleep(0.1)


def until(d, wanted):
    """The other asks until the holder has what is wanted."""
    def asked():
        if d.ask():
            sys.exit("the other got it all the same")
        d.holder.null()  # takes what has come
        return wanted()
    wait("no callback comes", asked)


def told(holder):
    """Flags of a SEQUENCE: no other operation."""
    holder.compound([], "SEQUENCE")
    return holder.status_flags


def come_back(holder):
    """Another connection, as a client makes it the session's."""
    holder.reconnect()
    bind_it(holder)


def bind_it(holder):
    seen = len(holder.cb_seen)
    # The server may learn of the end of the old one a little later.
    wait("the client is not told that it has no back channel",
         lambda: told(holder) & CB_PATH_DOWN)
    if holder.status_flags & FAULT:
        sys.exit("the back channel is said to be beyond repair")
    time.sleep(0.5)
    holder.null()
    if len(holder.cb_seen) != seen:
        sys.exit("called back by a connection that was not bound")
    if holder.bind() != 3:
        sys.exit("the back channel is not bound")
    if told(holder):
        sys.exit("bound, and told %x" % holder.status_flags)


def drop(d):
    """The connection ends, and the other asks meanwhile."""
    d.holder.rpc.close()
    if d.ask():
        sys.exit("the other got it all the same")


def lose(d, seconds):
    """The connection ends when a callback is outstanding."""
    holder = d.holder
    holder.silent = True
    until(d, lambda: holder.cb_seen)
    time.sleep(seconds)
    holder.silent = False
    first = holder.cb_seen[0]
    come_back(holder)
    until(d, lambda: d.recalled)
    if holder.cb_seen.count(first) != 2:
        sys.exit("%r is not sent again: %r" % (first, holder.cb_seen))
    if seconds and len(set(holder.cb_seen)) < 2:
        sys.exit("the server did not give up: %r" % holder.cb_seen)


def trunk(d):
    """Two connections of one session, of which the first has the back channel."""
    holder = d.holder
    first = holder.another()
    if told(holder):
        sys.exit("by its second connection told %x" % holder.status_flags)
    second, holder.rpc = holder.rpc, first
    holder.silent = True
    until(d, lambda: holder.cb_seen)
    holder.silent = False
    holder.rpc = second
    second.xid = first.xid
    first.close()
    bind_it(holder)
    until(d, lambda: d.recalled)
    if holder.cb_seen.count(holder.cb_seen[0]) != 2:
        sys.exit("the first is not sent again: %r" % holder.cb_seen)


def main(host, port, minor, data, how="stays", what="delegation", size=4096):
    # No other file: Ganesha grants nothing soon after a recall.
    name = "delegated-%d" % os.getpid()
    with open(os.path.join(data, name), "w") as f:
        f.write("some octets")
    first = V4(host, int(port), int(minor), callback=int(size))
    second = V4(host, int(port), int(minor))
    d = (Layout if what == "layout" else Delegation)(first, second, name)
    if how == "replaced":
        come_back(first)
    elif how == "ended":
        drop(d)
        come_back(first)
    elif how == "slow":
        drop(d)
        time.sleep(30)
        come_back(first)
    elif how == "trunked":
        trunk(d)
    elif how == "unanswered":
        lose(d, 0)
    elif how == "late":
        lose(d, 3 * SERVER_GIVES_UP)
    elif how == "away":
        drop(d)
        second.close(wait("the second client cannot open the file", d.ask,
                          200))
        second.end()
        return
    until(d, lambda: d.recalled)
    if {r[4:] for r in d.recalled} != {d.held[4:]}:
        sys.exit("another one is recalled than was given")
    if first.misordered:
        sys.exit("callbacks out of order: %r" % first.cb_seen)
    d.give_back()
    got = wait("the second client does not get it", d.ask)
    if told(first):
        sys.exit("in the end told %x" % first.status_flags)
    d.end(got)
    first.end()
    second.end()


main(*sys.argv[1:])
