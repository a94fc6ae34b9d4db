#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""repackage.py TREE SPEC PACKAGE... - print a spec that makes RPMs of a Debian's packages

Writes to SPEC a package for each PACKAGE that is installed in the Debian at TREE, and for
what these depend on, with the files as they are in TREE, and with the Debian packages that
it needs; rpmbuild adds libraries and their versions. "base-files" gets the users as well,
which packages' scripts have made.
"""
import os
import re
import sys

# What rpmbuild does not find out.
PROVIDES = {"dash": "/bin/sh", "libc6": "rtld(GNU_HASH)"}
USERS = ["/etc/passwd", "/etc/group", "/etc/nsswitch.conf"]


def status(tree):
    """The installed packages by name, and which provide a name."""
    packages, provided = {}, {}
    with open(tree + "/var/lib/dpkg/status") as f:
        for text in f.read().split("\n\n"):
            fields = dict(re.findall(r"^(\S+): *(.*(?:\n .*)*)", text, re.M))
            if fields.get("Status") != "install ok installed":
                continue
            name = fields["Package"]
            packages[name] = fields
            for word in [name] + re.split(r"[ ,]+", re.sub(r"\(.*?\)", "", fields.get("Provides", ""))):
                provided.setdefault(word, name)
    return packages, provided


def needs(fields, provided):
    """What a package depends on: of alternatives the first that is installed."""
    both = ", ".join(fields[k] for k in ("Depends", "Pre-Depends") if k in fields)
    for one in filter(None, both.split(", ")):
        words = [re.split(r"[ (:]", word.strip())[0] for word in one.split("|")]
        yield next(provided[w] for w in words if w in provided)


def files(tree, fields):
    """The paths of a package that are there, each by the name without links in it."""
    info = tree + "/var/lib/dpkg/info/"
    lists = [fields["Package"], fields["Package"] + ":" + fields["Architecture"]]
    seen = set()
    with open(next(p for p in (info + n + ".list" for n in lists) if os.path.exists(p))) as f:
        paths = f.read().splitlines()
    if fields["Package"] == "base-files":
        paths += USERS
    for path in paths:
        there = tree + path
        if path == "/." or not os.path.lexists(there):
            continue
        path = os.path.join(os.path.realpath(os.path.dirname(there)), os.path.basename(there))
        path = path[len(tree):]
        if path not in seen and not path.startswith(("/usr/share/doc", "/usr/share/man")):
            seen.add(path)
            yield path


def main():
    tree, spec = os.path.realpath(sys.argv[1]), sys.argv[2]
    packages, provided = status(tree)
    todo, done = sys.argv[3:] + ["base-files"], {}
    while todo:
        name = todo.pop()
        if name not in done:
            done[name] = sorted(set(needs(packages[name], provided)) - {name})
            todo += done[name]
    with open(spec, "w") as f, open(spec + ".files", "w") as copied:
        print("""Name: repackaged
Version: 1
Release: 1
Summary: Debian's packages
License: various
%global debug_package %{nil}
%global __os_install_post %{nil}
%global __requires_exclude ^(/|perl|python|pkgconfig|rpmlib)
%global _build_id_links none
%global _binary_payload w0.gzdio
%description
%{summary}
%install
mkdir -p %{buildroot}
tar -C %{tree} --no-recursion -cf - -T %{list} | tar -C %{buildroot} -xf -""", file=f)
        for name, wants in sorted(done.items()):
            version = re.sub(r"^\d+:|-[^-]*$|[^A-Za-z0-9.+]", "", packages[name]["Version"])
            base = [] if name == "base-files" else ["base-files"]
            print(f"%package -n {name}\nVersion: {version}\nSummary: {name}", file=f)
            for want in sorted(set(wants + base) - {name} if name != "base-files" else []):
                print("Requires:", want, file=f)
            if name in PROVIDES:
                print("Provides:", PROVIDES[name], file=f)
            print(f"%description -n {name}\n{name}\n%files -n {name}", file=f)
            for path in files(tree, packages[name]):
                kind = ""
                if os.path.isdir(tree + path) and not os.path.islink(tree + path):
                    kind = "%dir "
                elif path.startswith("/etc/"):
                    kind = "%config(noreplace) "
                print(f'{kind}"{path}"', file=f)
                print("." + path, file=copied)


main()
