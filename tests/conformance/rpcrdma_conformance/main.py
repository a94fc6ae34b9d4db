# SPDX-License-Identifier: BSD-3-Clause
"""rpcrdma-conformance: the command line."""

import argparse
import errno
import importlib
import ipaddress
import json
import os
import pkgutil
import re
import shutil
import signal
import socket
import sys

from . import iwarp, kit


# Options that mean something for some roles only.
OF_ROLES = {"port": ("host", "relay"), "path": ("host",),
            "mount_port": ("host",), "server_is": ("host",),
            "host_auth": ("host",), "server_address": ("requester", "relay"),
            "requester_address": ("requester",)}
NEEDS = {kit.SERVER: "--host", kit.REQUESTER: "--requester",
         kit.CLIENT: "--relay"}


class Interrupted(BaseException):
    """A signal asks the program to end."""


def interrupt(number, _):
    # The next one ends the program at once.
    for s in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
        signal.signal(s, signal.SIG_DFL)
    raise Interrupted(number)


def load():
    here = os.path.dirname(__file__)
    for m in sorted(m.name for m in pkgutil.iter_modules([here])):
        if m.endswith("_checks"):
            importlib.import_module(__package__ + "." + m)


def number(kind, low, high):
    def take(text):
        try:
            n = kind(text) if re.fullmatch(r"[0-9.]+", text) else low - 1
        except ValueError:
            n = low - 1
        if not low <= n <= high:
            raise argparse.ArgumentTypeError(
                "'%s' is not a number from %d to %d" % (text, low, high))
        return n
    return take


def address(text):
    """An address or a name; brackets around IPv6 as others want them."""
    inner = text[1:-1] if text[:1] + text[-1:] == "[]" else text
    if not inner or set(inner) & set("[]") or (inner != text and
                                               ":" not in inner):
        raise argparse.ArgumentTypeError(
            "'%s' is not an address such as 192.0.2.1, 2001:db8::1 or "
            "fe80::1%%eth0" % text)
    return inner


def numeric(text):
    """An address, not a name."""
    inner = address(text)
    try:
        ipaddress.ip_address(inner)
        socket.getaddrinfo(inner, 0, flags=socket.AI_NUMERICHOST)
    except (ValueError, OSError):
        raise argparse.ArgumentTypeError(
            "'%s' is not an address such as 192.0.2.1, 2001:db8::1 or "
            "fe80::1%%eth0" % text) from None
    return inner


def both(text):
    """ADDR:PORT, of a server of TCP."""
    host, colon, port = text.rpartition(":")
    if not colon:
        raise argparse.ArgumentTypeError("'%s' is not ADDR:PORT" % text)
    return address(host), number(int, 1, 65535)(port)


class Parser(argparse.ArgumentParser):
    """One that is short with nonsense: a line that says what is allowed."""

    def error(self, message):
        self.exit(2, "%s: %s\n" % (self.prog, message))


def parse(argv):
    p = Parser(
        prog="rpcrdma-conformance",
        description="Check a peer of RPC-over-RDMA version 2 over iWARP "
        "(TCP), octet by octet. Prints ok, not ok or skip for each "
        "requirement. Exit status: 0 nothing failed, 1 something did, "
        "2 usage, 3 there is no connection.")
    p.add_argument("--host", metavar="ADDR", type=address, help="address of a live server")
    p.add_argument("--port", metavar="N", type=number(int, 1, 65535),
                   default=20049, help="its port (20049)")
    p.add_argument("--path", metavar="DIR", default="/export",
                   help="a directory there that NFSv4.0 may write to "
                   "(/export)")
    p.add_argument("--mount-port", metavar="N", type=number(int, 1, 65535),
                   help="its TCP port for MOUNT version 3; without it the "
                   "checks of NFSv3 are skipped")
    p.add_argument("--server-is", default="plain", metavar="WORD",
                   help="which server it is; --list shows the words (plain)")
    p.add_argument("--host-auth", default="none", metavar="POLICY",
                   choices=("none", "optional"),
                   help="whether it takes part in host authentication as "
                   "docs/protocol.md has it: none or optional (none)")
    p.add_argument("--requester", metavar="PROGRAM",
                   help="check this rpcrdma-gateway as Requester")
    p.add_argument("--relay", metavar="ADDR:PORT", type=both,
                   help="check any client of version 1: be its server, at "
                   "--server-address and --port, and pass its Calls on to this "
                   "NFS server by TCP, until SIGTERM or SIGINT")
    p.add_argument("--server-address", metavar="ADDR", default="127.0.0.1",
                   type=numeric,
                   help="where the Requester finds its server, which is this "
                   "program (127.0.0.1)")
    p.add_argument("--requester-address", metavar="ADDR", default="127.0.0.1",
                   type=numeric,
                   help="where the Requester takes RPC over TCP (127.0.0.1)")
    p.add_argument("--no-raw", action="store_true",
                   help="leave out what breaks MPA, DDP or RDMAP on purpose "
                   "or is up to a device, and do not look at the causes of "
                   "Terminates")
    p.add_argument("--no-crc", action="store_true",
                   help="do not ask for CRCs of MPA, which take most of the "
                   "time")
    p.add_argument("--version", metavar="N", choices=("1", "2"),
                   help="check what RPC-over-RDMA version 1 demands (V1-, PD-, "
                   "BD-), and speak no other; or what version 2 does. Without: "
                   "both")
    p.add_argument("--only", metavar="ID,...",
                   help="these requirements only; a prefix with * for many")
    p.add_argument("--about", metavar="WORD,...",
                   help="the checks of these files only: chunk is "
                   "chunk_checks.py")
    p.add_argument("--patience", metavar="SECONDS", default=10,
                   type=number(float, 1, 3600),
                   help="when an answer counts as missing (10)")
    p.add_argument("--list", action="store_true",
                   help="show the checks: identifier, role, server, title")
    p.add_argument("--json", action="store_true", help="one JSON document")
    return p.parse_args(argv), p


def chosen(only):
    """Identifiers, in order; None for one that nobody knows."""
    ids = sorted(kit.CHECKS)
    if only is None:
        return ids
    out = []
    for word in only.split(","):
        if word.endswith("*"):
            found = [i for i in ids if i.startswith(word[:-1])]
        else:
            found = [word] if word in kit.CHECKS else []
        if not found:
            print("rpcrdma-conformance: no check of '%s'" % word,
                  file=sys.stderr)
            return None
        out += [i for i in found if i not in out]
    return out


def of_version(ids, version):
    """Those of ids that are of that version; all without one."""
    return [i for i in ids if not version or
            i.startswith(kit.VERSION_1) == (version == "1")]


def about(ids, words):
    """Those of ids that are in the files; None if there is no such file."""
    if words is None:
        return ids
    files = {i: c.fn.__module__.rpartition(".")[2]
             for i, c in kit.CHECKS.items()}
    wanted = {w + "_checks" for w in words.split(",")}
    for unknown in sorted(wanted - set(files.values())):
        print("rpcrdma-conformance: no check in %s.py" % unknown,
              file=sys.stderr)
        return None
    return [i for i in ids if files[i] in wanted]


def one_role(o, parser):
    """Which of --host, --requester and --relay there is; nothing else is
    given that only another needs."""
    given = [w for w in ("host", "requester", "relay")
             if getattr(o, w) is not None]
    if len(given) != 1:
        parser.error("one of --host, --requester or --relay is needed, and no "
                     "other")
    for option, roles in OF_ROLES.items():
        if getattr(o, option) != parser.get_default(option) and \
                given[0] not in roles:
            parser.error("--%s means nothing with --%s" % (
                option.replace("_", "-"), given[0]))
    return given[0]


def server(o, how):
    try:
        # Once for all checks. Not by TCP alone: Linux' siw may stop
        # listening after a connection that ends at once.
        iwarp.Iwarp.connect(o.host, o.port, o.patience,
                            crc=not o.no_crc).close()
    except (iwarp.Refused, iwarp.Silence):
        pass  # that is the checks' affair
    except OSError as e:
        raise kit.Unusable("no connection to %s port %d: %s" % (
            o.host, o.port, e)) from None
    return kit.Server(o.host, o.port, o.path, o.patience,
                      o.host_auth == "optional", o.mount_port,
                      int(o.version or 2), **how)


def requester(o, how, parser):
    from .requester import Requester, serve
    try:
        serve(o.server_address).close()
    except OSError as e:
        raise kit.Unusable("cannot listen at %s: %s" % (
            o.server_address, e)) from None
    bench = Requester(o.requester, o.patience, o.server_address,
                      o.requester_address, **how)
    try:
        bench.start().tcp()
    except OSError as e:
        parser.error("%s does not listen as rpcrdma-gateway does: %s" % (
            o.requester, e))
    finally:
        bench.end()
    return bench


def relay(o, how):
    from .relay import Client
    try:
        socket.create_connection(o.relay, o.patience).close()
    except OSError as e:
        raise kit.Unusable("no connection to %s port %d: %s" % (
            *o.relay, e)) from None
    try:
        client = Client((o.server_address, o.port), o.relay, o.patience,
                        **how)
    except OSError as e:
        raise kit.Unusable("cannot listen at %s port %d: %s" % (
            o.server_address, o.port, e)) from None
    client.serve(lambda: print("# ready", file=sys.stderr, flush=True))
    return client


class Run:
    """The results of the checks, also of those before an early end."""

    def __init__(self, o):
        self.o, self.results, self.done = o, [], {}
        self.elsewhere = self.raw = 0
        self.todo = []

    def plan(self, ids, role):
        """Leave out what is for others. Without @role: for --list."""
        for i in ids:
            c = kit.CHECKS[i]
            # What was asked for by name is not passed over.
            if self.o.only is None and (c.role != role or not
                                        self.fits(c)):
                self.elsewhere += 1
            elif self.o.only is None and c.raw and self.o.no_raw:
                self.raw += 1
            else:
                self.todo.append(i)

    def fits(self, c):
        return c.role != kit.SERVER or c.server_is == self.o.server_is

    def one(self, c, bench, role):
        if c.role != role:
            return "skip", "needs " + NEEDS[c.role]
        if not self.fits(c):
            return "skip", "needs --server-is " + c.server_is
        if c.raw and self.o.no_raw:
            return "skip", "left out by --no-raw"
        if c not in self.done:
            self.done[c] = kit.run_one(c, bench)
        return self.done[c]

    def all(self, bench, role):
        for i in self.todo:
            r = self.one(kit.CHECKS[i], bench, role)
            self.results.append((i,) + r)
            if not self.o.json:
                print(("%s %s %s" % (r[0], i, r[1])).rstrip(), flush=True)

    def count(self, word):
        return sum(r[1] == word for r in self.results)

    def sum_up(self, why):
        """@why: why it has ended early, or None."""
        if self.o.json:
            out = {"results": [dict(zip(("id", "result", "reason"), r))
                               for r in self.results],
                   "elsewhere": self.elsewhere, "raw": self.raw}
            if why:
                out["ended"] = why
            json.dump(out, sys.stdout, indent=1)
            print(flush=True)
            return
        print("# %d ok, %d not ok, %d skipped; %d for other roles or servers"
              "%s%s" % (self.count("ok"), self.count("not ok"),
                        self.count("skip"), self.elsewhere,
                        "; %d raw" % self.raw if self.raw else "",
                        "; ended early: " + why if why else ""), flush=True)


def complain(text):
    print("rpcrdma-conformance: " + text, file=sys.stderr)


def show(ids, no_raw):
    for i in ids:
        c = kit.CHECKS[i]
        if not (c.raw and no_raw):
            print("%-16s %-9s %-15s %s%s" % (i, c.role, c.server_is,
                                             c.title, c.raw and " (raw)"
                                             or ""))
    sys.stdout.flush()


def carry_out(o, parser, ids):
    given = one_role(o, parser)
    role = {v: k for k, v in NEEDS.items()}["--" + given]
    if o.requester is not None and not shutil.which(o.requester):
        parser.error("%s is no program" % o.requester)
    run = Run(o)
    run.plan(ids, role)
    if not run.todo:
        parser.error("nothing to check: no such check is for --%s%s" % (
            given, given == "host" and " --server-is " + o.server_is or ""))
    for s in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
        if signal.getsignal(s) != signal.SIG_IGN:  # as by nohup
            signal.signal(s, interrupt)
    how = {"crc": not o.no_crc, "codes": not o.no_raw}
    bench = status = why = None
    try:
        if given == "host":
            bench = server(o, how)
        elif given == "requester":
            bench = requester(o, how, parser)
        else:
            bench = relay(o, how)
        run.all(bench, role)
    except Interrupted as e:
        status, why = 128 + e.args[0], signal.Signals(e.args[0]).name
    except kit.Unusable as e:
        status, why = 3, str(e)
        complain(why)
        if bench is None:
            return status
    finally:
        left = given == "host" and bench and bench.tidy()
        if left:
            print("# " + left, file=sys.stderr)
    run.sum_up(why)
    if status:
        return status
    if run.count("not ok"):
        return 1
    if not run.count("ok"):
        complain("nothing was checked")
        return 2
    return 0


def main(argv=None):
    o, parser = parse(argv)
    load()
    ids = chosen(o.only)
    if ids is not None:
        ids = about(of_version(ids, o.version), o.about)
    if ids is None:
        return 2
    words = {c.server_is for c in kit.CHECKS.values()}
    if o.server_is not in words:
        parser.error("--server-is is one of %s" % ", ".join(sorted(words)))
    if not ids:
        parser.error("nothing to check")
    try:
        if o.list:
            show(ids, o.no_raw)
            return 0
        return carry_out(o, parser, ids)
    except OSError as e:
        # Only the output is left: whatever a check meets is its result.
        if e.errno != errno.EPIPE:
            complain("output: %s" % e.strerror)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 3
