# SPDX-License-Identifier: BSD-3-Clause
"""A copy of the sources, its builds, and which of its unit programs reach what.

    DIR/tree            the copy: what git knows here, as it is now
    DIR/tree/build/*    its builds: plain (quick to compile, and counts which lines are
                        executed), asan, release (for integration tests)
    DIR/reach.json      which these are, for as long as the sources are the same
"""

import collections
import concurrent.futures
import filecmp
import hashlib
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
KINDS = {
    "plain": ("-DCMAKE_BUILD_TYPE=None", "-DCMAKE_C_FLAGS=-O0 -DNDEBUG -w --coverage"),
    "asan": ("-DCMAKE_BUILD_TYPE=RelWithDebInfo",
             "-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O1 -g1 -w",
             "-DRPCRDMA_SANITIZE=address,undefined"),
    "release": ("-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_C_FLAGS=-O1"),
}


class Failed(Exception):
    pass


def run(argv, **more):
    r = subprocess.run([str(a) for a in argv], stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       text=True, errors="replace", check=False, **more)
    if r.returncode:
        raise Failed("%s: %s" % (argv[0], r.stdout[-2000:]))
    return r.stdout


class Program:
    """A unit test as ctest knows it."""

    def __init__(self, name, argv, env):
        self.name, self.argv, self.env = name, argv, env
        self.seconds = 1.0


class Build:
    def __init__(self, tree, kind):
        self.tree, self.kind = tree, kind
        self.dir = tree / "build" / kind
        self.objects = collections.defaultdict(list)
        self.commands = {}
        self.programs = {}

    def configure(self):
        ccache = ["-DCMAKE_C_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        run(["cmake", "-S", self.tree, "-B", self.dir, "-G", "Ninja", *KINDS[self.kind],
             *ccache])
        for c in json.loads((self.dir / "compile_commands.json").read_text()):
            path = os.path.relpath(c["file"], self.tree)
            words = shlex.split(c["command"])
            self.objects[path].append(words[words.index("-o") + 1])
            self.commands[path] = words

    def make_all(self):
        """Build the unit programs, and learn how each is run."""
        self.make(["tests/unit/all", "tests/fuzz/all"])
        # A program that is not there has no command.
        listing = run(["ctest", "--test-dir", self.dir, "--show-only=json-v1"])
        listing = listing[listing.index("{"):]
        for t in json.loads(listing)["tests"]:
            p = {x["name"]: x["value"] for x in t["properties"]}
            # A script runs a simulation, which takes minutes.
            if "unit" in p.get("LABELS", ()) and self.dir in pathlib.Path(
                    t["command"][0]).parents:
                env = dict(e.split("=", 1) for e in p.get("ENVIRONMENT", ()))
                self.programs[t["name"]] = Program(t["name"], t["command"], env)

    def target(self, program):
        return os.path.relpath(program.argv[0], self.dir)

    def make(self, targets, env=None):
        run(["ninja", "-C", self.dir, *targets], env={**os.environ, **(env or {})})

    def code(self, path):
        """What an optimising compiler makes of it: two files with the same code do
        the same."""
        words = [w for w in self.commands[path] if w not in ("-O0", "--coverage")]
        if os.path.basename(words[0]) == "ccache":
            del words[0]
        with tempfile.NamedTemporaryFile(suffix=".o") as out:
            words[words.index("-o") + 1] = out.name
            run([*words, "-O2"], cwd=self.dir)
            return hashlib.sha256(out.read()).hexdigest()

    def make_programs(self, programs, env=None):
        self.make(sorted({self.target(p) for p in programs}), env)

    def run(self, program, limit, env=None):
        """(status, seconds); no status: it did not end in time"""
        begun = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="mutate.") as where:
            child = subprocess.Popen(
                program.argv, cwd=where, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                # Counts that nobody asks for have nowhere to go.
                env={**os.environ, "GCOV_PREFIX": "/dev/null", **program.env,
                     **(env or {})},
                start_new_session=True)
            try:
                status = child.wait(limit)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                try:
                    os.killpg(child.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                child.wait()
        return status, time.monotonic() - begun


class Tree:
    def __init__(self, where):
        self.where = pathlib.Path(where).resolve()
        self.dir = self.where / "tree"
        self.copy()
        self.builds = {}

    def copy(self):
        names = run(["git", "-C", TOP, "ls-files", "-co", "--exclude-standard", "-z"])
        names = {n for n in names.split("\0") if n and (TOP / n).is_file()}
        digest = hashlib.sha256()
        for name in sorted(names):
            here, there = TOP / name, self.dir / name
            there.parent.mkdir(parents=True, exist_ok=True)
            if not there.exists() or not filecmp.cmp(here, there, False):
                shutil.copy(here, there)
            if name.startswith(("src/", "include/", "tests/unit/", "tests/lib/", "tests/fuzz/")):
                digest.update(name.encode() + b"\0" + here.read_bytes())
        for path in list(self.dir.rglob("*")):
            name = os.path.relpath(path, self.dir)
            if path.is_file() and not name.startswith("build/") and name not in names:
                path.unlink()
        self.digest = digest.hexdigest()

    def build(self, kind):
        """Configured, and nothing built yet."""
        if kind not in self.builds:
            self.builds[kind] = Build(self.dir, kind)
            self.builds[kind].configure()
        return self.builds[kind]

    def reach(self, say, jobs):
        """{path: {line: [names of programs]}}; sets their seconds"""
        kept = self.where / "reach.json"
        plain = self.build("plain")
        say("building the unit programs")
        plain.make_all()
        try:
            found = json.loads(kept.read_text())
        except (OSError, ValueError):
            found = {}
        if found.get("digest") != self.digest:
            found = self.measure(say, jobs)
            kept.write_text(json.dumps(found))
        for name in list(plain.programs):
            if name in found["seconds"]:
                plain.programs[name].seconds = found["seconds"][name]
            else:
                del plain.programs[name] # it is skipped here
        return {path: {int(n): names for n, names in lines.items()}
                for path, lines in found["lines"].items()}

    def measure(self, say, jobs):
        plain = self.build("plain")
        say("finding what %d of them reach" % len(plain.programs))
        seconds, lines = {}, {}
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for name, found in pool.map(self.measure_one, sorted(plain.programs)):
                if not found:
                    continue # it is skipped here
                seconds[name] = found[0]
                for path, hit in found[1].items():
                    for n in hit:
                        lines.setdefault(path, {}).setdefault(n, []).append(name)
        return {"digest": self.digest, "seconds": seconds, "lines": lines}

    def measure_one(self, name):
        """(name, (seconds, {path: lines})), or no such pair for one that is skipped"""
        plain = self.build("plain")
        data = self.where / "data" / name
        for last in (False, True):
            shutil.rmtree(data, ignore_errors=True)
            status, took = plain.run(plain.programs[name], 1200,
                                     {"GCOV_PREFIX": str(data)})
            if status == 77:
                return name, None
            if status == 0:
                break
            if last:
                raise Failed("%s fails without a change" % name)
        found = executed(data, self.dir)
        shutil.rmtree(data, ignore_errors=True)
        return name, (took, found)


def executed(data, tree):
    """{path: lines that were executed}, of the counts in @data; and lines with code
    that were not are left out"""
    out = collections.defaultdict(set)
    counts = list(data.rglob("*.gcda"))
    for c in counts:
        notes = pathlib.Path("/", c.relative_to(data)).with_suffix(".gcno")
        c.with_suffix(".gcno").symlink_to(notes)
    if not counts:
        return out
    text = run(["gcov", "--json-format", "--stdout", *counts], cwd=data)
    for part in text.splitlines():
        if not part.startswith("{"):
            continue
        doc = json.loads(part)
        for f in doc["files"]:
            path = os.path.normpath(os.path.join(doc["current_working_directory"], f["file"]))
            path = os.path.relpath(path, tree)
            if path.startswith(("src/", "include/")):
                out[path].update(x["line_number"] for x in f["lines"] if x["count"])
    return out
