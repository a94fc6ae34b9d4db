# SPDX-License-Identifier: BSD-3-Clause
"""What a check is, what it has at hand, and what runs it.

A check is a function with the identifiers of the requirements that it shows.
It gets a Server (or a Requester, see requester.py) and raises Wrong. Whatever
else the connections it made have seen against the rules counts against it.
"""

import traceback

from . import iwarp, rpc, v1, v2

CHECKS = {}  # identifier -> Check
SERVER, REQUESTER, CLIENT = "server", "requester", "client"
# Prefixes of identifiers: what is of version 1.
VERSION_1 = ("V1-", "PD-", "BD-")


class Wrong(Exception):
    pass


class Skip(Exception):
    pass


class Unusable(BaseException):
    """No check can be made: there is no peer, or no place for its files."""


class Check:
    def __init__(self, ids, role, server_is, raw, fn):
        self.ids, self.role, self.server_is = ids, role, server_is
        self.raw = raw
        self.fn, self.title = fn, (fn.__doc__ or "").split("\n")[0].strip()


def check(*ids, role=SERVER, server_is="plain", raw=False):
    """@raw: MPA, DDP or RDMAP are broken on purpose, or it counts how they
    end a connection. With a device that is the device's own affair."""
    def put(fn):
        c = Check(ids, role, server_is, raw, fn)
        for i in ids:
            if i in CHECKS:
                raise ValueError("two checks of " + i)
            CHECKS[i] = c
        return fn
    return put


def expect(cond, text):
    if not cond:
        raise Wrong(text)


def same(got, want, what):
    if got != want:
        raise Wrong("%s: %.120r instead of %.120r" % (what, got, want))


def is_error(answer, *error):
    """@answer (Answer or Header) is an RDMA2_ERROR with just that in it."""
    h = answer.last if isinstance(answer, v2.Answer) else answer
    if h.htype != v2.ERROR:
        raise Wrong("%s instead of error %r" % (h, error))
    same(h.error, error, "the error")
    return h


def good(answer):
    """@answer is an accepted RPC Reply; it, once more."""
    if answer.error:
        raise Wrong("%s instead of a Reply" % answer.last)
    if not answer.rpc.ok:
        raise Wrong("RPC: denied %d, status %d" % (answer.rpc.denied,
                                                   answer.rpc.stat))
    return answer


class Bench:
    """What all checks have at hand: connections that end with the check."""

    def __init__(self, crc=True, codes=True):
        self.conns = []
        self.crc = crc  # ask for CRCs
        self.codes = codes  # compare what a Terminate says
        self.faulty = False  # faults of the peer are what is looked for

    def keep(self, iw):
        self.conns.append(iw)
        return iw

    @staticmethod
    def quiet(conn, seconds=0.4):
        """Nothing comes on @conn for a while."""
        return not conn.backlog and conn.iw.quiet(seconds)

    def ended(self, iw, cause, what):
        """The peer ends @iw, with that Terminate: (layer, type, code)."""
        got = iw.wait_end()
        if self.codes:
            same(got, cause, "Terminate after " + what)

    def faults(self):
        return [f for c in self.conns for f in c.faults]

    def end(self):
        for c in self.conns:
            c.close()
        self.conns = []


class Server(Bench):
    """A live server. `path`: a directory that NFSv4.0 may write to."""

    def __init__(self, host, port, path, patience, takes_part=False,
                 mount_port=None, version=2, **how):
        super().__init__(**how)
        self.version = version  # in which the checks prepare themselves
        self.mount_port, self._files3 = mount_port, None
        self.host, self.port, self.path = host, port, path
        self.takes_part = takes_part  # in host authentication
        self.patience = patience
        self._files = self._no_files = None
        self._made = None  # what has perhaps been made there

    def iwarp(self, **options):
        options.setdefault("crc", self.crc)
        return self.keep(iwarp.Iwarp.connect(self.host, self.port,
                                             self.patience, **options))

    def raw(self, advertise=32, replenish=True, **options):
        """A connection on which nothing has been sent."""
        return v2.Conn(self.iwarp(**options), advertise, replenish)

    def connect(self, props=(), **options):
        """A connection past the exchange of properties."""
        c = self.raw(**options)
        c.hello(props)
        return c

    def caller(self):
        """What calls on a connection of its own, without chunks: a function
        from an RPC Call to its Reply."""
        if self.version == 1:
            c1 = v1.Conn(self.iwarp(), threshold=4096)
            return lambda message: c1.good(message)[1]
        c = self.connect()
        return lambda message: good(c.call(message)).payload

    @property
    def files(self):
        if self._no_files:
            raise Wrong(self._no_files)
        if self._files is None:
            f = self._made = rpc.Files(self.caller(), self.path)
            try:
                f.make()
            except rpc.NoDirectory as e:
                self._made = None
                raise Unusable("no use of directory %s: %s" % (
                    self.path, e)) from None
            except (Wrong, rpc.Short) as e:
                self._no_files = "no use of directory %s: %s" % (self.path, e)
                raise Wrong(self._no_files) from None
            self._files = f
        return self._files

    def mount(self, proc, args=b""):
        """A procedure of MOUNT version 3 over TCP: its results."""
        from .requester import Tcp
        if not self.mount_port:
            raise Skip("needs --mount-port")
        tcp = Tcp(self.host, self.mount_port, self.patience)
        try:
            tcp.send(rpc.call(proc + 1, rpc.MOUNT, 3, proc, args))
            reply = tcp.reply()
            expect(reply.ok, "MOUNT is not accepted")
            return reply.r
        finally:
            tcp.s.close()

    @property
    def files3(self):
        """Handles of NFSv3 of what is in `files`, by name."""
        if self._files3 is None:
            r = self.mount(1, rpc.opaque(self.path))
            same(r.u32(), 0, "status of MNT")
            root, c = r.opaque(), self.connect()

            def lookup(at, name):
                a = good(c.call(rpc.call(c.new_xid(), rpc.NFS, 3, rpc.LOOKUP3,
                                         rpc.opaque(at) + rpc.opaque(name))))
                r = a.rpc.r
                same(r.u32(), 0, "status of LOOKUP %s" % name)
                return r.opaque()

            top = lookup(root, self.files.name)
            self._files3 = {n: lookup(top, n) for n in
                            ("data", "scratch", "link")}
            self._files3["dir"] = top
        return self._files3

    def tidy(self):
        """Remove what was made on the server; what went wrong with it."""
        if self._made is None or not self._made.begun:
            return None
        try:
            self._made.do = self.caller()
            self._made.remove()
            return None
        except Exception as e:
            return "%s is left over: %s" % (self._made.name, e)
        finally:
            self.end()


def run_one(c, bench):
    """("ok" | "not ok" | "skip", reason)"""
    bench.faulty = False
    try:
        c.fn(bench)
        faults = bench.faults()
        if faults and not bench.faulty:
            return "not ok", "; ".join(faults[:3])
        return "ok", ""
    except Skip as e:
        return "skip", str(e)
    except Exception as e:
        # Also what a message so wrong does to a check that it ends it by an
        # error in Python.
        frames = [f for f in traceback.extract_tb(e.__traceback__)
                  if f.filename == c.fn.__code__.co_filename]
        text = "%s: %s" % (type(e).__name__, e)
        if frames:
            text += " (%s:%d)" % (frames[-1].filename.rsplit("/", 1)[-1],
                                  frames[-1].lineno)
        faults = [f for f in bench.faults() if f not in text]
        if faults:
            text += "; also " + "; ".join(faults[:2])
        return "not ok", text
    finally:
        bench.end()
