# SPDX-License-Identifier: BSD-3-Clause
"""The table of tests/bench/guest, from the lines of mount-bench or fio.

    guest_table.py FIGURES COMMAND VERS ROUNDS SECONDS [CLIENT]
"""

import collections
import re
import sys
from statistics import median

ROWS = (("NULL, /s, 1 at once", "null", 1, "ops_per_s"),
        ("NULL, /s, 8 at once", "null", 8, "ops_per_s"),
        ("GETATTR, /s, 1 at once", "getattr", 1, "ops_per_s"),
        ("GETATTR, /s, 8 at once", "getattr", 8, "ops_per_s"),
        ("create, close, remove, /s, 4 at once", "create", 4, "ops_per_s"),
        ("READ 4 KiB, random, /s, 1 at once", "read4k", 1, "ops_per_s"),
        ("READ 4 KiB, random, /s, 8 at once", "read4k", 8, "ops_per_s"),
        ("WRITE 4 KiB, random, /s, 1 at once", "write4k", 1, "ops_per_s"),
        ("WRITE 4 KiB, random, /s, 8 at once", "write4k", 8, "ops_per_s"),
        ("READ 1 MiB, sequential, MB/s, 1 at once", "readseq", 1, "mb_per_s"),
        ("READ 1 MiB, sequential, MB/s, 4 at once", "readseq", 4, "mb_per_s"),
        ("WRITE 1 MiB, sequential, MB/s, 1 at once", "writeseq", 1, "mb_per_s"),
        ("WRITE 1 MiB, sequential, MB/s, 4 at once", "writeseq", 4, "mb_per_s"))
# Who, what the head of the column says, and whose figure is 1.
WHO = (("kr", "knfsd, rxe", None), ("or", "this server, rxe", "kr"),
       ("ov", "variant, rxe", "or"),
       ("ks", "knfsd, siw", None), ("os", "this server, iwarp", "ks"),
       ("iv", "variant, iwarp", "os"),
       ("kt", "knfsd, TCP", None), ("ot", "Ganesha, TCP", "kt"),
       ("gw", "gateway, iwarp", "ot"))

# What rxe counts that tells of losses, and the veth pair below it.
LOSSES = (("completer_retry_err", "sent again"),
          ("duplicate_request", "came twice"),
          ("out_of_seq_request", "out of sequence"),
          ("rcvd_rnr_err", "not ready"), ("send_err", "not sent"),
          ("dropped", "dropped by the link"),
          ("retry_exceeded_err", "given up"),
          ("retry_rnr_exceeded_err", "given up, not ready"))


def losses(got, present):
    """For each row by rxe what was lost, if anything was."""
    out = []
    for title, test, depth, _ in ROWS:
        for who, head, _ in present:
            if who not in ("kr", "or", "ov"):
                continue
            found = [(said, sum(got.get((who, test, depth, name), ())))
                     for name, said in LOSSES]
            if any(n for _, n in found):
                out.append(f"- {re.sub(', M?B?/s', '', title)}, {head}: " + ", ".join(
                    f"{said} {n:.0f}" for said, n in found if n))
    print("\nWhat rxe counted of losses, in all rounds" +
          (":\n\n" + "\n".join(out) if out else ": nothing."))


def switches(mid, present):
    print("\nContext switches of the whole guest for each operation:\n")
    print("| |" + "".join(f" {head} |" for _, head, _ in present))
    print("|---|" + "--:|" * len(present))
    for title, test, depth, _ in ROWS:
        cells = [text(mid(who, test, depth, "switches_per_op"))
                 for who, _, _ in present]
        print(f"| {re.sub(', M?B?/s', '', title)} | " + " | ".join(cells) + " |")


def beside(mid, what, heads, pairs):
    """A table of ratios: of each pair the first by the second."""
    print(f"\n{what}:\n\n| {' | '.join(heads)} |\n|---|" + "--:|" * len(pairs))
    for title, test, depth, name in ROWS:
        values = [(mid(a, test, depth, name), mid(b, test, depth, name))
                  for a, b in pairs]
        cells = [f"{a / b:.2f}" if a and b else "" for a, b in values]
        if any(cells):
            print(f"| {re.sub(', M?B?/s', '', title)} | " + " | ".join(cells) + " |")


def times(mid):
    """What an operation takes, and how much of that Ganesha executes it."""
    pairs = [(ours, his) for ours, his in (("or", "kr"), ("os", "ks"))
             if mid(ours, "getattr", 1, "executed_us") and
             mid(his, "getattr", 1, "ops_per_s")]
    if not pairs:
        return
    heads = dict((who, head) for who, head, _ in WHO)
    print("\nHow long an operation takes, us, and for how long of that Ganesha "
          "executes it:\n")
    print("| |" + "".join(f" {heads[his]} | {heads[ours]} | Ganesha executes |"
                          for ours, his in pairs))
    print("|---|" + "--:|" * 3 * len(pairs))
    for title, test, depth, _ in ROWS:
        if test == "null":
            continue
        cells = []
        for ours, his in pairs:
            cells += [text(1e6 * depth / rate) if rate else "" for rate in
                      (mid(who, test, depth, "ops_per_s") for who in (his, ours))]
            cells.append(text(mid(ours, test, depth, "executed_us")))
        print(f"| {re.sub(', M?B?/s', '', title)} | " + " | ".join(cells) + " |")


def text(x):
    return "" if x is None else "%.3g" % x if x < 100 else "{:,.0f}".format(x)


def main(path, command, vers, rounds, seconds, client=""):
    got = collections.defaultdict(list)
    for line in open(path):
        v = dict(w.split("=", 1) for w in line.split())
        key = v["who"], v["test"], int(v["depth"])
        for name, value in v.items():
            if re.fullmatch(r"[0-9.]+", value):
                got[key + (name,)].append(float(value))

    def mid(*key):
        return median(got[key]) if key in got else None

    present = [w for w in WHO if any(k[0] == w[0] for k in got)]
    print(f"Made by `{command}`: NFSv{vers}, medians of {rounds} rounds of "
          f"{seconds} s each, {f'by {client}, ' if client else ''}emulated.\n")
    print("| |" + "".join(f" {head} |" for _, head, _ in present))
    print("|---|" + "--:|" * len(present))
    for title, test, depth, name in ROWS:
        if client and not any(k[1:3] == (test, depth) for k in got):
            continue
        cells = []
        for who, _, base in present:
            value = mid(who, test, depth, name)
            cell = text(value)
            reference = mid(base, test, depth, name)
            if value and reference:
                cell = f"**{value / reference:.2f}** ({cell})"
            cells.append(cell)
        print(f"| {title} | " + " | ".join(cells) + " |")
    print("\nBold: the figure beside knfsd's on the same devices, or by TCP" +
          (", and the gateway's beside Ganesha's by TCP."
           if any(w[0] == "gw" for w in present) else "."))
    who = {w[0] for w in present}
    if "ot" in who and who & {"or", "os"}:
        beside(mid, "This server's mounts over RDMA beside its mount over TCP",
               ("RDMA / TCP", "rxe", "iwarp"), (("or", "ot"), ("os", "ot")))
    if "gw" in who:
        beside(mid, "The gateway beside TCP to a server",
               ("gateway /", "Ganesha, TCP", "knfsd, TCP"),
               (("gw", "ot"), ("gw", "kt")))
    if client:  # which tells neither of switches nor of losses
        return
    switches(mid, present)
    times(mid)
    if any(w[0] in ("kr", "or", "ov") for w in present):
        losses(got, present)


main(*sys.argv[1:])
