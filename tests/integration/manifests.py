#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Kubernetes manifests against the API that the Python client knows.

    manifests.py check FILE...          unknown fields, missing ones, wrong types
    manifests.py get FILE KIND KEY...   what is there in a document of this kind
"""

import re
import sys

import yaml
from kubernetes import client

PLAIN = {"str": str, "int": int, "bool": bool, "float": (int, float)}


def check(value, kind, where):
    """@value as the client's type @kind; raises ValueError."""
    many = re.fullmatch(r"list\[(.*)\]", kind)
    named = re.fullmatch(r"dict\(str, (.*)\)", kind)
    if kind == "object":  # a number or a name
        return value
    if kind in PLAIN:
        if not isinstance(value, PLAIN[kind]):
            raise ValueError("%s: %r is no %s" % (where, value, kind))
        return value
    if many:
        if not isinstance(value, list):
            raise ValueError(where + ": no list")
        return [check(v, many[1], "%s[%d]" % (where, i))
                for i, v in enumerate(value)]
    if not isinstance(value, dict):
        raise ValueError(where + ": no mapping")
    if named:
        return {k: check(v, named[1], where + "." + k)
                for k, v in value.items()}
    model = getattr(client, kind)
    fields = {v: k for k, v in model.attribute_map.items()}
    for name in value:
        if name not in fields:
            raise ValueError("%s.%s: unknown" % (where, name))
    try:
        return model(**{
            fields[k]: check(v, model.openapi_types[fields[k]],
                             where + "." + k) for k, v in value.items()})
    except ValueError as e:
        raise ValueError(str(e) if ": " in str(e) else
                         "%s: %s" % (where, e)) from None


def documents(path):
    with open(path) as f:
        return [d for d in yaml.safe_load_all(f) if d]


def main(argv):
    if argv[1] == "get":
        found, = [d for d in documents(argv[2]) if d["kind"] == argv[3]]
        for key in argv[4:]:
            found = found[int(key) if key.isdigit() else key]
        print(*found if isinstance(found, list) else [found])
        return 0
    for path in argv[2:]:
        for d in documents(path):
            what = check(d, "V1" + d["kind"], d["kind"])
            if isinstance(what, (client.V1Deployment, client.V1DaemonSet)):
                labels = what.spec.template.metadata.labels
                if what.spec.selector.match_labels.items() - labels.items():
                    raise ValueError(d["kind"] + ": selects other pods")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
