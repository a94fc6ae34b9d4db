# SPDX-License-Identifier: BSD-3-Clause
"""rpcrdma-conformance: the command line."""

import argparse
import importlib
import json
import os
import pkgutil
import re
import shutil
import sys

from . import iwarp, kit


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
    p.add_argument("--server-address", metavar="ADDR", default="127.0.0.1",
                   type=address,
                   help="where the Requester finds its server, which is this "
                   "program (127.0.0.1)")
    p.add_argument("--requester-address", metavar="ADDR", default="127.0.0.1",
                   type=address,
                   help="where the Requester takes RPC over TCP (127.0.0.1)")
    p.add_argument("--no-raw", action="store_true",
                   help="leave out what breaks MPA, DDP or RDMAP on purpose "
                   "or is up to a device, and do not look at the causes of "
                   "Terminates")
    p.add_argument("--no-crc", action="store_true",
                   help="do not ask for CRCs of MPA, which take most of the "
                   "time")
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
    if not only:
        return ids
    out = []
    for word in only.split(","):
        if word.endswith("*"):
            found = [i for i in ids if i.startswith(word[:-1])]
        else:
            found = [word] if word in kit.CHECKS else []
        if not found:
            print("rpcrdma-conformance: no check of %s" % word,
                  file=sys.stderr)
            return None
        out += found
    return out


def about(ids, words):
    """Those of ids that are in the files; None if one of these has none."""
    if not words:
        return ids
    files = {i: kit.CHECKS[i].fn.__module__.rpartition(".")[2] for i in ids}
    wanted = {w + "_checks" for w in words.split(",")}
    for unknown in sorted(wanted - set(files.values())):
        print("rpcrdma-conformance: no check in %s.py" % unknown,
              file=sys.stderr)
        return None
    return [i for i in ids if files[i] in wanted]


def main(argv=None):
    o, parser = parse(argv)
    load()
    ids = chosen(o.only)
    if ids is not None:
        ids = about(ids, o.about)
    if ids is None:
        return 2
    words = {c.server_is for c in kit.CHECKS.values()}
    if o.server_is not in words:
        parser.error("--server-is is one of %s" % ", ".join(sorted(words)))
    if o.list:
        for i in ids:
            c = kit.CHECKS[i]
            if not (c.raw and o.no_raw):
                print("%-16s %-9s %-15s %s%s" % (i, c.role, c.server_is,
                                                 c.title, c.raw and " (raw)"
                                                 or ""))
        return 0
    if not o.host and not o.requester:
        parser.error("--host or --requester is needed")
    benches, how = {}, {"crc": not o.no_crc, "codes": not o.no_raw}
    if o.host:
        todo = {kit.CHECKS[i].fn for i in ids
                if (kit.CHECKS[i].role, kit.CHECKS[i].server_is) ==
                (kit.SERVER, o.server_is)}
        try:
            # Once for all checks; a single one says it itself. Not by TCP
            # alone: Linux' siw may stop listening after a connection that
            # ends at once.
            if len(todo) > 1:
                iwarp.Iwarp.connect(o.host, o.port, o.patience,
                                    crc=not o.no_crc).close()
        except (iwarp.Refused, iwarp.Silence):
            pass  # that is the checks' affair
        except OSError as e:
            print("rpcrdma-conformance: no connection to %s port %d: %s" %
                  (o.host, o.port, e), file=sys.stderr)
            return 3
        benches[kit.SERVER] = kit.Server(o.host, o.port, o.path, o.patience,
                                         o.host_auth == "optional",
                                         o.mount_port, **how)
    if o.requester:
        if not shutil.which(o.requester):
            parser.error("%s is no program" % o.requester)
        from .requester import Requester
        benches[kit.REQUESTER] = Requester(o.requester, o.patience,
                                           o.server_address,
                                           o.requester_address, **how)
    results, done, elsewhere, raw = [], {}, 0, 0
    for i in ids:
        c = kit.CHECKS[i]
        # What was asked for by name is not passed over.
        if not o.only and (c.role not in benches or
                           c.role == kit.SERVER and
                           c.server_is != o.server_is):
            elsewhere += 1
            continue
        if c.raw and o.no_raw and not o.only:
            raw += 1
            continue
        if c.role not in benches:
            r = ("skip", "needs --host" if c.role == kit.SERVER else
                 "needs --requester")
        elif c.role == kit.SERVER and c.server_is != o.server_is:
            r = "skip", "needs --server-is " + c.server_is
        elif c.raw and o.no_raw:
            r = "skip", "left out by --no-raw"
        else:
            if c not in done:
                done[c] = kit.run_one(c, benches[c.role])
            r = done[c]
        results.append((i,) + r)
        if not o.json:
            print(("%s %s %s" % (r[0], i, r[1])).rstrip(), flush=True)
    if kit.SERVER in benches:
        left = benches[kit.SERVER].tidy()
        if left:
            print("# " + left, file=sys.stderr)
    n = {w: sum(r[1] == w for r in results) for w in ("ok", "not ok", "skip")}
    if o.json:
        json.dump({"results": [dict(zip(("id", "result", "reason"), r))
                               for r in results], "elsewhere": elsewhere,
                   "raw": raw},
                  sys.stdout, indent=1)
        print()
    else:
        print("# %d ok, %d not ok, %d skipped; %d for other roles or servers"
              "%s" % (n["ok"], n["not ok"], n["skip"], elsewhere,
                      "; %d raw" % raw if raw else ""))
    return 1 if n["not ok"] else 0
