"""Runs modules natively and in the sandbox with the same grants, and compares results and files.

1. Cases: what the modules of `cases.py` return and leave in a folder, made anew for each run.
2. Refusals: every module of some folders with an option that it does not have. So each is started, with all that it
   imports, and says what its options are. A module that the sandbox does not suit is refused there, with a reason.
   Those are counted that `auto` starts in the sandbox when a rule lets modules run commands; all of them must be proven.

It prints each difference, and a summary as JSON in the last line.
"""

import argparse
import collections
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

import cases
import twin
import web

# Keys of results that differ from run to run, and an option that natively is on: a room can write in place what it cannot replace.
VOLATILE = {
    "atime", "ctime", "date", "delta", "elapsed", "end", "exception", "inode", "mtime", "start", "stderr_lines", "stdout_lines",
    "unsafe_writes", "version",
}

# The modules that `auto` may run in the sandbox.
PROVEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../runner/run/src/python/guest/proven.tsv")

# An option of no module.
UNKNOWN = {"no_such_option": 1}


def normal(value, key=None):
    """Returns a value without what differs from run to run."""
    if isinstance(value, dict):
        return {name: normal(inner, name) for name, inner in value.items() if name not in VOLATILE}
    if isinstance(value, list):
        return [normal(inner) for inner in value]
    if key == "module_stderr":
        # Each place has frames of its own below those of the module.
        value = "\n".join(line for line in value.splitlines() if not line.startswith("  "))
    if isinstance(value, str) and key != "content":
        value = re.sub(r"(ansible[.-]|\.ansible_tmp)[A-Za-z0-9_.-]*tmp[A-Za-z0-9_.-]*", "<temporary>", value)
        value = re.sub(r"[^\s']*/tmp/(modbox-\d+/<temporary>/)?tmp[a-z0-9_]{8}\b", "<temporary>", value)
        # The place in CPython's source, which the sandbox does not have.
        value = re.sub(r" \(_ssl\.c:\d+\)|_ssl\.c:\d+: ", "", value)
        # `dd` says how long it took.
        value = re.sub(r" copied, [\d.e-]+ s, [\d.]+ \w+/s", " copied", value)
        value = re.sub(r"\.\d+\.\d{4}-\d\d-\d\d@[\d:]+~", ".<pid>.<date>~", value)
    return value


def clean(result):
    """Returns a result without modbox's own words, which name the place of the run."""
    result = dict(result)
    result.pop("warnings", None)
    return normal(result)


class Comparison:
    def __init__(self, options):
        # Modules that are granted a path in `/tmp` do not share their own with commands.
        self.folder = tempfile.TemporaryDirectory(dir="/var/tmp")
        self.options, self.counts, self.twin = options, collections.Counter(), self.folder.name + "/twin"
        self.different, self.stands_for = [], {"$T": self.twin, **web.start(options.work)}
        with open(PROVEN, encoding="utf-8") as file:
            self.proven = {line.split("\t")[0].rsplit(".", 1)[-1] for line in file if not line.startswith("#")}
        programs = [os.path.dirname(options.python), os.environ.get("PATH", os.defpath)]
        self.environment = {**os.environ, "PATH": os.pathsep.join(programs)}

    def command(self, place, *words):
        collections_path = ["--collections-path", self.options.collections] if self.options.collections else []
        # Under `auto`, a named interpreter would be a reason for a native run; it is found in PATH.
        interpreter = [] if place == "auto" else ["--interpreter", self.options.python]
        return [self.options.modbox, words[0], "--python", place, *interpreter, *collections_path, *words[1:]]

    def run(self, place, case):
        twin.make(self.twin)
        arguments = json.loads(self.fill(json.dumps(case["arguments"])))
        words = ["run", "--output", "report", "--allow-write", self.twin, *map(self.fill, case.get("grants", [])),
                 self.path(case["module"]), "--args", json.dumps(arguments)]
        for _ in range(case.get("times", 1)):
            ran = subprocess.run(self.command(place, *words), capture_output=True, text=True, check=False,
                                 stdin=subprocess.DEVNULL)
        try:
            report = json.loads(ran.stdout)
        except ValueError:
            sys.exit("no report: %s\n%s" % (words, ran.stderr))
        state = {normal(name): entry for name, entry in twin.state(self.twin).items()}
        return clean(report["result"]), state, report

    def fill(self, text):
        """Returns a text with what stands for something replaced."""
        # Longer names first: one may begin with another.
        for name in sorted(self.stands_for, key=len, reverse=True):
            text = text.replace(name, self.stands_for[name])
        return text

    def path(self, name):
        return name if "." in name else os.path.join(self.options.modules, name + ".py")

    def compare(self, case):
        label = "%s %s" % (case["module"], json.dumps(case["arguments"]))
        (result, state, _), (other, left, report) = [self.run(place, case) for place in ("native", "wasm")]
        self.counts["cases"] += 1
        if report.get("python", {}).get("place") != "wasm":
            self.different.append("%s: not in the sandbox: %s" % (label, report["result"].get("msg")))
            return
        known = [reason for name, part, reason in cases.KNOWN if name == case["module"] and part in label]
        if result == other and state == left:
            self.counts["same"] += 1
        elif known:
            self.counts["known"] += 1
        else:
            self.different.append("%s\n    native: %s\n    sandbox: %s %s" % (
                label, differing(result, other), differing(other, result), report.get("stderr", "")[-500:]))
            for path in sorted({*state, *left}):
                if state.get(path) != left.get(path):
                    self.different.append("    %s: native %s, sandbox %s" % (path, state.get(path), left.get(path)))

    def refusals(self, paths, of=""):
        """Compares what modules say to an option that they do not have. The names of the counts end with `of`."""
        answers = {place: self.batch(place, paths) for place in ("native", "wasm", "auto")}
        for path in paths:
            is_chosen = answers["auto"][path].get("python", {}).get("place") == "wasm"
            self.counts["chosen" + of] += is_chosen
            if is_chosen and os.path.basename(path).removesuffix(".py") not in self.proven:
                self.different.append("%s: `auto` runs it in the sandbox, and it is not proven" % path)
            native, sandbox = answers["native"][path], answers["wasm"][path]
            name = os.path.basename(path)
            self.counts["modules" + of] += 1
            if sandbox["status"] == "denied":
                self.counts["unsuited" + of] += 1
                if self.options.verbose:
                    print("%s: %s" % (name, sandbox["result"]["msg"]))
                continue
            self.counts["started" + of] += 1
            is_known = name.removesuffix(".py") in cases.KNOWN_MODULES
            if clean(native["result"]) != clean(sandbox["result"]) and not is_known:
                self.different.append("%s\n    native: %s\n    sandbox: %s" % (
                    name, str(native["result"])[:600], str(sandbox["result"])[:600]))

    def batch(self, place, paths):
        jobs = "".join(json.dumps({"id": path, "module": path, "args": UNKNOWN}) + "\n" for path in paths)
        ran = subprocess.run(self.command(place, "batch", "-j", "2", "--allow-run", "true"), input=jobs,
                             capture_output=True, text=True, check=False, env=self.environment)
        reports = [json.loads(line) for line in ran.stdout.splitlines()]
        found = {report["id"]: report for report in reports}
        missing = [path for path in paths if path not in found]
        if missing:
            sys.exit("no answer for %s: %s" % (missing[:3], ran.stderr[-1000:]))
        return found


def differing(result, other):
    return {key: str(value)[:600] for key, value in result.items() if other.get(key) != value}


def modules(folder):
    """Returns the Python modules below a folder."""
    found = []
    for path, _, files in os.walk(folder):
        for name in files:
            if name.endswith(".py") and not name.startswith("_"):
                with open(os.path.join(path, name), encoding="utf-8") as file:
                    if "ansible.module_utils" in file.read():
                        found.append(os.path.join(path, name))
    return sorted(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--modbox", required=True)
    parser.add_argument("--python", required=True, help="the Python of ansible-core")
    parser.add_argument("--modules", required=True, help="the folder of ansible-core's modules")
    parser.add_argument("--collections", help="a folder with `ansible_collections`")
    parser.add_argument("--collections-parts", type=int, default=1,
                        help="the number of parts of the collections' modules; one is compared")
    parser.add_argument("--work", required=True)
    parser.add_argument("--part", type=int, default=0, help="the number of the part that is compared")
    parser.add_argument("--parts", type=int, default=1)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    os.umask(0o022)
    comparison = Comparison(options)
    chosen = [case for case in cases.CASES if options.collections or "." not in case["module"]]
    for case in chosen[options.part::options.parts]:
        comparison.compare(case)
    comparison.refusals(modules(options.modules)[options.part::options.parts])
    if options.collections:
        folders = sorted(glob.glob(os.path.join(options.collections, "ansible_collections/*/*/plugins/modules")))
        paths = [path for folder in folders for path in modules(folder)]
        comparison.refusals(paths[options.part::options.collections_parts], "_of_collections")
    for difference in comparison.different:
        print(difference)
    print(json.dumps({**comparison.counts, "different": len(comparison.different)}))


if __name__ == "__main__":
    main()
