"""What of a play's events, output and files may differ between two runs, or between ansible-playbook and modbox."""

import os
import re

# Keys of results whose values are of one moment or one process.
MOMENTS = {"start", "end", "delta", "atime", "mtime", "ctime", "inode", "dev", "pid", "elapsed", "date", "last_modified", "ansible_date_time", "date_time"}
# Keys of differences that may be paths of templates, or of their rendered copies.
HEADERS = {"after_header"}
# Keys that only one side has.
LEFT_OUT = {"invocation", "exception", "failed_when_suppressed_exception", "deprecations", "warnings", "connection"}
# A header of one connection, which WASI keeps from components.
CONNECTION = re.compile(r'\s*"connection": "close",')
# What the components of `stat` and `find` do not tell of a file: what depends on who asks, what needs the programs `file` and
# `lsattr`, and a time that WASI lacks.
NOT_OF_COMPONENTS = {
    "readable", "writeable", "executable", "mimetype", "charset", "attributes", "attr_flags", "version", "ctime",
}
# Options that the component of `copy` does not have, so that an invocation does not tell them.
NOT_OPTIONS = {"directory_mode", "local_follow", "remote_src", "validate"}
# Temporary files: those of Ansible, of its actions, and of modbox.
TEMPORARY = re.compile(r"/[^\s'\",]*/(ansible-tmp-[\w.-]+|ansible-local-\w+|modbox-\d+/[^/\s'\":]+|ansible[._]\w{8}|tmp(?:[0-9a-f]{16}file|\w{8}))(/[^\s'\":,]*)?")
BACKUP = re.compile(r"\.\d+\.\d{4}-\d\d-\d\d@\d\d:\d\d:\d\d~")
HEADER = re.compile(r"^(\+\+\+ after: )/.*/", re.M)
TIMES = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?")
SERVER = re.compile(r"\b127\.0\.0\.1:\d+")
DELTA = re.compile(r"\b\d+:\d\d:\d\d\.\d{6}\b")
PAUSE = re.compile(r"(?<=Paused for )[\d.]+")
# Ansible tells where the value of a condition comes from, and adds the cause of the system to some errors.
PLACE = re.compile(r" at '[^']*:\d+:\d+'(?=\. Conditionals)|: \[Errno \d+\] [^\"\n]*|(?<=file 'nowhere.txt'): F[^\"\n]*|(?<=file 'nowhere.txt')\.")
# Some of Ansible's actions lose what helps with a file that is missing.
HELP_OF_FILE = re.compile(r"\n\nIf you are using a module and expect the file to exist on the remote, see the remote_src option\.")
# Ansible does not know the line of a template file.
LINE_OF_FILE = re.compile(r"^(Origin: \S+\.j2):\d+\n\n(?:\d+ .*\n)+", re.M)
# Ansible shows the error of a task whose result it hides.
HIDDEN = re.compile(r"^\[ERROR\]: [^\n]*\n(?:(?!\[ERROR\]: |TASK )[^\n]*\n)*?(?=fatal: [^\n]*\"censored\": )", re.M)
# Ansible does not know where the task that checks a play is written; modbox says where the play is.
OF_CHECK = re.compile(r"^(\[ERROR\]: [^\n]*Validation of arguments failed:\n(?:(?!Origin: )[^\n]*\n)+)Origin: (?:(?!fatal: )[^\n]*\n)+", re.M)
ESCAPED = re.compile(r"\\u\{([0-9a-f]{1,6})\}")

# Some of Ansible's modules return empty differences where none are asked for.
EMPTY_DIFF = re.compile(
    r'^\s*"diff": \[\n(?:\s*[{}],?\n|\s*"(?:after|before)": "",?\n|\s*"(?:after|before)_header": "[^"\n]*",?\n)+\s*\],?\n', re.M
)
# As `stat` tells the attributes of a file, in several lines.
ATTRIBUTES = re.compile(r'^\s*"attributes": \[\n(?:\s*"\w+",?\n)*\s*\],?\n', re.M)
# What modbox adds to a result, such as what a real run would be refused after one in check mode.
OWN_WARNING = re.compile(r'^\s*"modbox: [^\n]*",?\n', re.M)
NO_WARNING = re.compile(r'^\s*"warnings": \[\n\s*\],?\n', re.M)
# A component says where it has panicked.
PANIC = re.compile(r"(?:Task failed: Module failed: )?the module panicked at \S+: ")
TEMPORARY_NAME = re.compile(r"\b(ansible|pre)\.\w{8}\b")


# Entries of results as a play prints them for people, one in a line: see MOMENTS, HEADERS and NOT_OF_COMPONENTS.
OF_RESULT = re.compile(
    r"(\"(?:%s|src|_original_basename|unsafe_writes)\"): (?:\"[^\"]*\"|[\d.]+|true|false|null)" % "|".join(sorted(MOMENTS | HEADERS))
)
LINE_LEFT_OUT = re.compile(r"\s+\"(?:%s)\": (?!.*[\[{]$)" % "|".join(sorted(NOT_OF_COMPONENTS | NOT_OPTIONS)))


# What is compared of an event.
COMPARED = {
    "play_start": ["play", "check_mode"], "task_start": ["task", "is_handler", "check_mode"], "result": ["task", "status", "ignored"],
    "item": ["task", "status"], "retry": ["task"], "included": ["task", "included"], "handler": ["handler"], "stats": ["host", "stats"],
    "no_hosts_matched": [], "no_hosts_remaining": [],
}


def text(found):
    # The variables of a host are a type of their own there.
    found = found.replace("object of type 'HostVarsVars'", "object of type 'dict'")
    found = TEMPORARY.sub("TEMPORARY", found)
    for pattern in (DELTA, PAUSE, PLACE):
        found = pattern.sub("", found)
    found = PANIC.sub("Task failed: Module failed: ", found)
    found = SERVER.sub("SERVER", found)
    found = BACKUP.sub(".BACKUP~", found)
    found = TEMPORARY_NAME.sub("ansible.TEMPORARY", found)
    return TIMES.sub("TIME", found)


def differs(diff):
    """Whether a difference says anything."""
    return not isinstance(diff, dict) or any(diff.get(key) for key in diff if not key.endswith("_header"))


def kept(name, found, of_file):
    """Whether an entry of a result is compared."""
    if of_file and name in NOT_OF_COMPONENTS:
        return False
    if name == "diff":
        # Some of Ansible's modules return empty differences where none are asked for.
        return any(differs(diff) for diff in found) if isinstance(found, list) else differs(found)
    return name not in LEFT_OUT and not name.startswith("_ansible_")


def value(found, key=None):
    """A value without what may differ."""
    if key in MOMENTS and isinstance(found, dict):
        return "A MOMENT"
    if isinstance(found, dict):
        of_file = "isreg" in found
        return {text(name): value(inner, name) for name, inner in found.items() if kept(name, inner, of_file)}
    if isinstance(found, (list, tuple)):
        return [value(inner) for inner in found]
    if key in HEADERS and isinstance(found, str):
        # Ansible says where its rendered copy of a template lies, modbox where the template does.
        return os.path.basename(found)
    if key == "src" and found == "":
        # Ansible names the file that it made for a text of the task, even where nothing is copied.
        return "TEMPORARY"
    if key in MOMENTS and not isinstance(found, bool) and found is not None:
        return "A MOMENT"
    return text(found) if isinstance(found, str) else found


def without_status(result):
    """A result without the keys that Ansible takes out of what it shows, since the event says the same."""
    kept = {name: inner for name, inner in result.items() if name not in ("failed", "skipped", "unreachable")}
    if isinstance(kept.get("results"), list):
        kept["results"] = [without_status(inner) if isinstance(inner, dict) else inner for inner in kept["results"]]
    return kept


def events(found):
    """Events without what may differ, and without those that only one side has."""
    kept = []
    for event in found:
        kind = event["event"]
        if kind in ("playbook_start", "message", "verbose", "warning", "error", "async_poll", "async_end"):
            continue
        shown = {"event": kind}
        for name in COMPARED[kind]:
            shown[name] = event[name]
        if not isinstance(shown.get("check_mode"), bool):
            # It may be a template still.
            shown.pop("check_mode", None)
        if "stats" in shown and "failures" in shown["stats"]:
            shown["stats"]["failed"] = shown["stats"].pop("failures")
        if "result" in event:
            shown["result"] = without_status(value(event["result"]))
            if kind == "retry":
                # Modbox tells the item when its attempts have ended.
                shown["result"] = {name: inner for name, inner in shown["result"].items() if name not in ("item", "ansible_loop_var")}
            if "censored" in shown["result"]:
                shown["result"]["censored"] = "hidden"
        kept.append(shown)
    return kept


def output(found):
    """Lines that a play prints for people."""
    # Modbox shows control characters escaped; Ansible prints them as they are.
    found = ESCAPED.sub(lambda escaped: chr(int(escaped[1], 16)), found)
    for pattern in (HIDDEN, EMPTY_DIFF, ATTRIBUTES, CONNECTION, OWN_WARNING, NO_WARNING):
        found = pattern.sub("", found)
    found = HELP_OF_FILE.sub("", found)
    found = LINE_OF_FILE.sub(r"\1\n", found)
    found = OF_CHECK.sub(r"\1", found)
    # Without the comma at the end, since the last entry may be one that is left out.
    lines = (line.rstrip().removesuffix(",") for line in text(HEADER.sub(r"\1", found)).splitlines())
    return [OF_RESULT.sub(r"\1: …", line) for line in lines if not LINE_LEFT_OUT.match(line)]


def tree(found):
    """A tree without temporary names and times."""
    return {text(path): [text(seen) if isinstance(seen, str) else seen for seen in entry] for path, entry in found.items()}
