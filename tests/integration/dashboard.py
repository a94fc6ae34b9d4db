#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The dashboard for Grafana and the alerts for Prometheus, in config_samples.

    dashboard.py schema            the dashboard is one that Grafana can import
    dashboard.py rules             each alert has a severity, a remedy, and a section there is
    dashboard.py tests FILE        write tests of the alerts, for promtool test rules
    dashboard.py queries FILE      write the dashboard's queries as rules
    dashboard.py names PROM...     each metric that is asked for is in one of these files
    dashboard.py answers URL       each query of the dashboard has an answer of Prometheus
"""

import json
import os
import re
import sys
import urllib.parse
import urllib.request

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SAMPLES = os.path.join(TOP, "config_samples")

# What a server without an RDMA device does not have, and what is node_exporter's.
ELSEWHERE = re.compile(r"rpcrdma_port_(retransmitted|out_of_sequence|timeouts|rnr)_total$|"
                       r"rpcrdma_device_objects(_limit)?$|"
                       r"node_textfile_mtime_seconds$")

# The series of a minute each with which an alert fires, and with which it does not. 90
# minutes pass, or for the last a day and a half.
CASES = {
    "RpcrdmaDown": ("rpcrdma_up", "0x90", "1x90"),
    "RpcrdmaHostDown": ('up{job="rpcrdma"}', "1x40 0x50", "1x90"),
    "RpcrdmaNotScraped": ('node_textfile_mtime_seconds{file="/a/rpcrdma.prom"}',
                          "0x90", "0+60x90"),
    "RpcrdmaRestarting": ("rpcrdma_uptime_seconds", "5000x50 5 4 3 2 1x36", "0+60x90"),
    "RpcrdmaListenerDown": ("rpcrdma_listener_up", "1x40 0x50", "0x10 1x80"),
    "RpcrdmaConnectionsNearLimit": ("rpcrdma_connections", "10x40 91x50", "90x90"),
    "RpcrdmaDescriptorsNearLimit": ("rpcrdma_descriptors_used", "10x40 91x50", "90x90"),
    "RpcrdmaDeviceNearLimit": ('rpcrdma_device_objects{device="a",object="queue_pairs"}',
                               "10x40 91x50", "90x90"),
    "RpcrdmaExportsMissing": ("rpcrdma_exports_served", "3x40 2x50", "3x80 2x3 3x7"),
    "RpcrdmaReloadFailed": ("rpcrdma_reload_failed", "0x40 1x50", "1x40 0x50"),
    "RpcrdmaDrained": ("rpcrdma_draining", "0x20 1x70", "0x60 1x30"),
    "RpcrdmaConnectionsRefused": ("rpcrdma_connections_refused_total", "0x84 1x6", "1x90"),
    "RpcrdmaMemoryShort": ("rpcrdma_shortages_total", "0+120x90", "0+30x90"),
    "RpcrdmaHostAuthenticationFails": ("rpcrdma_auth_failed_total", "0x84 1x6", "1x90"),
    "RpcrdmaProtocolErrors": ("rpcrdma_errors_sent_total", "0x84 1x6", "1x90"),
    "RpcrdmaGatewayReconnects": ("rpcrdma_gateway_reconnects_total", "0+1x90", "0x80 1x10"),
    "RpcrdmaRetransmissions": ("rpcrdma_port_retransmitted_total", "0+120x90", "0+30x90"),
    "RpcrdmaVersionsDiffer": ('rpcrdma_info{version="2",program="ganesha"}', "1x2000",
                              "_x2000"),
}
# Of a failover pair: each host's series, and how many hosts the alert is of.
PAIRS = (("RpcrdmaDown", "rpcrdma_up", ("1x90", "0x90"), 0),
         ("RpcrdmaDown", "rpcrdma_up", ("0x50 1x40", "1x50 0x40"), 0),
         ("RpcrdmaDown", "rpcrdma_up", ("0x90", "1x80 0x10"), 2))
# What the others divide by, add or compare with.
BESIDE = (("rpcrdma_connections_limit", "100x90"), ("rpcrdma_descriptors_limit", "100x90"),
          ('rpcrdma_device_objects_limit{device="a",object="queue_pairs"}', "100x90"),
          ("rpcrdma_exports_expected", "3x90"),
          ("rpcrdma_calls_denied_total", "0x90"),
          ("rpcrdma_errors_received_total", "0x90"), ("rpcrdma_errors_sent_total", "0x90"),
          ('rpcrdma_info{version="1",program="ganesha"}', "1x2000"))


def read(name):
    with open(os.path.join(SAMPLES, name), encoding="utf-8") as f:
        return f.read()


def dashboard():
    return json.loads(read("grafana-dashboard.json"))


def alerts():
    """{name: its text} of the rules."""
    parts = re.split(r"(?m)^ +- alert: (\w+)\n", read("prometheus-rules.yml"))
    return dict(zip(parts[1::2], parts[2::2]))


def queries():
    return [t["expr"].replace("$__rate_interval", "1m").replace("$instance", ".*")
            .replace("$source", ".*") for p in dashboard()["panels"] for t in p.get("targets", [])]


def schema():
    doc = dashboard()
    for key, kind in (("uid", str), ("title", str), ("schemaVersion", int), ("panels", list),
                      ("templating", dict), ("time", dict), ("refresh", str)):
        assert isinstance(doc.get(key), kind), key
    assert "id" not in doc, "Grafana gives the id"
    variables = {v["name"]: v for v in doc["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource"
    assert variables["datasource"]["query"] == "prometheus"
    for v in variables.values():
        if v["type"] == "query":
            assert v["datasource"]["uid"] == "${datasource}", v
            assert v["query"]["query"], v
    ids = [p["id"] for p in doc["panels"]]
    assert len(set(ids)) == len(ids), "ids: %s" % ids
    taken = set()
    for p in doc["panels"]:
        where = p["title"]
        assert where and p["type"] in ("row", "stat", "timeseries"), p
        g = p["gridPos"]
        assert g["x"] + g["w"] <= 24, where
        cells = {(x, y) for x in range(g["x"], g["x"] + g["w"])
                 for y in range(g["y"], g["y"] + g["h"])}
        assert cells and not cells & taken, "%s: lies on another" % where
        taken |= cells
        if p["type"] == "row":
            continue
        assert p["datasource"] == {"type": "prometheus", "uid": "${datasource}"}, where
        assert p["fieldConfig"]["defaults"]["unit"], where
        assert p["targets"], where
        refs = [t["refId"] for t in p["targets"]]
        assert len(set(refs)) == len(refs), where
        for t in p["targets"]:
            assert t["expr"] and t["legendFormat"], where
            used = set(re.findall(r"\$(\w+)", t["expr"])) - {"__rate_interval"}
            assert used <= set(variables), (where, used)


def rules():
    with open(os.path.join(TOP, "docs/operations.md"), encoding="utf-8") as f:
        guide = f.read()
    headings = re.findall(r"(?m)^#+ (.*)$", guide)
    found = alerts()
    assert set(found) == set(CASES), set(found) ^ set(CASES)
    for name, text in found.items():
        assert re.search(r"labels: \{severity: (critical|warning)\}", text), name
        assert re.search(r'summary: ".+"', text), name
        remedy = re.search(r'remedy: "(.+)"', text).group(1)
        see = re.search(r"See (.+)\.$", remedy)
        for section in re.split(r",? and |, ", see.group(1)) if see else ():
            section = section.replace('\\"', "").strip('"')
            assert any(section == h for h in headings) or section in guide, (name, section)


def firing(name, when, want):
    return ["    promql_expr_test:",
            "      - expr: count(ALERTS{alertname=\"%s\",alertstate=\"firing\"})" % name,
            "        eval_time: %s" % when,
            "        exp_samples: [%s]" % ("{labels: '{}', value: %d}" % want if want else "")]


def tests(path):
    out = ["rule_files: [%s/prometheus-rules.yml]" % SAMPLES, "evaluation_interval: 1m",
           "tests:"]
    for name, (series, fires, silent) in CASES.items():
        for values, want in ((fires, True), (silent, False)):
            when = "1990m" if name == "RpcrdmaVersionsDiffer" else "89m"
            # Each has the labels of one server; a label in braces is its own.
            out += ["  - interval: 1m", "    input_series:"]
            for key, its in BESIDE + ((series, values),):
                if key != series and key.split("{")[0] == series.split("{")[0] and \
                        "{" not in key:
                    continue
                labels = 'instance="a:9100",source="default"'
                key = key.replace("{", "{%s," % labels) if "{" in key else \
                    "%s{%s}" % (key, labels)
                out += ["      - series: '%s'" % key, "        values: '%s'" % its]
            out += firing(name, when, int(want))
    for name, series, hosts, want in PAIRS:
        out += ["  - interval: 1m", "    input_series:"]
        for n, values in enumerate(hosts):
            out += ["      - series: '%s{instance=\"%d\",pair=\"nfs\"}'" % (series, n),
                    "        values: '%s'" % values]
        # Another server that serves is none of the pair.
        out += ["      - series: '%s{instance=\"c\"}'" % series, "        values: '1x90'"]
        out += firing(name, "89m", want)
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(out) + "\n")


def write_queries(path):
    out = ["groups:", "  - name: dashboard", "    rules:"]
    for n, q in enumerate(queries()):
        out += ["      - record: query:%d" % n, "        expr: " + json.dumps(q)]
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(out) + "\n")


def names(paths):
    there = set()
    for path in paths:
        with open(path, encoding="utf-8") as f:
            for line in f:
                if line[:1] not in "#\n":
                    there.add(re.match(r"\w+", line).group())
    asked = set()
    variables = [v["query"]["query"] for v in dashboard()["templating"]["list"]
                 if v["type"] == "query"]
    exprs = [re.search(r"expr: (.*)", x).group(1) for x in alerts().values()]
    for q in queries() + exprs + variables:
        asked.update(re.findall(r"\b(?:rpcrdma|node)_\w+", re.sub(r'"[^"]*"', "", q)))
    missing = {n for n in asked if n not in there and not ELSEWHERE.match(n)}
    assert not missing, "no such metrics: %s" % sorted(missing)
    assert len(asked) > 30, asked


def answers(url):
    silent = []
    for q in queries():
        with urllib.request.urlopen(url + "/api/v1/query?" + urllib.parse.urlencode(
                {"query": q}), timeout=20) as f:
            doc = json.load(f)
        assert doc["status"] == "success", (q, doc)
        if not doc["data"]["result"] and not re.search(r"rpcrdma_(port|device)_", q):
            silent.append(q)
    assert not silent, "no data: %s" % silent


if __name__ == "__main__":
    what, args = sys.argv[1], sys.argv[2:]
    {"schema": schema, "rules": rules, "tests": tests, "queries": write_queries,
     "names": lambda *a: names(a), "answers": answers}[what](*args)
