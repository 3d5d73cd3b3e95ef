"""The cases: ansible-core's modules, and modbox's own modules of the same names.

`@` in an argument stands for the tree. A case says how it ends, so that a case that does nothing any more is noticed.
"""

import dataclasses
import re


@dataclasses.dataclass
class Case:
    """One run of a module."""

    module: str
    args: dict
    # changed, ok or failed: what the module says when it runs plainly.
    ends: str = "changed"
    # Names of folders in place of the machine's; see `stand_ins.PLACES`.
    machine: tuple = ()
    # Grants beside that of the tree, and what a preview gets in addition.
    allow: tuple = ()
    preview: tuple = ()
    # A pattern of the parts of paths that are another each time.
    random: str = ""
    # Paths with another content each time.
    volatile: str = ""
    # The claim, if the module says what is not so, and why that is known.
    claim: str = "agrees"
    reason: str = ""
    # Who runs it: a program or a module of the interpreter can be missing for an ordinary user.
    users: tuple = ("root", "user")
    own: bool = False
    # What is made in the tree for this case alone; see `start_tree.EXTRAS`.
    extra: str = ""
    # Whether the tree is granted, and not only what the arguments name.
    granted: bool = True
    # Whether the preview must say that it is incomplete.
    flagged: bool = False
    # What is said instead of a preview, where no exact one can be had.
    refused: str = ""
    # Programs that a machine may lack.
    needs: tuple = ()

    @property
    def name(self):
        shown = ", ".join(f"{key}={value}" for key, value in self.args.items())
        how = "" if self.granted else " (by its arguments)"
        how += f" ({self.extra})" if self.extra else ""
        return f"{self.module}{'.wasm' if self.own else ''}{how} {shown[:90]}"

    def filled(self, tree, server):
        return fill(self.args, tree, server)

    def options(self, tree, server):
        return fill(list(self.allow), tree, server)

    def normal(self, path):
        return re.sub(self.random, "RANDOM", path) if self.random else path


def fill(value, tree, server):
    """Puts the tree and the server's `host:port` into a value."""
    if isinstance(value, dict):
        return {key: fill(inner, tree, server) for key, inner in value.items()}
    if isinstance(value, list):
        return [fill(inner, tree, server) for inner in value]
    return value.replace("@", tree).replace("SERVER", server).replace("PORT", server.rpartition(":")[2]) if isinstance(value, str) else value


ROOT = ("root",)
BACKUP = r"\.\d+\.\d{4}-\d\d-\d\d@\d\d:\d\d:\d\d~"
KEY = "example.org ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE2PRs0LwmzVjOVQCcSiHKjOUHXEMqEx+Jqf0pmHyxzq"
RUNS = "it says `changed` of every command that ends well"
RULES = ("/bin/sh -c *", "touch *", "mv *", "true")
TOUCH_SCRIPT = "printf 1 > @/dir/new; rm @/dir/b; mv @/dir/deep @/moved; chmod 700 @/odd; ln -s x @/dir/l"
MANY = "for n in 1 2 3 4 5 6 7 8 9; do mkdir -p @/many/$n/x; echo $n > @/many/$n/x/f; done; rm -r @/dir"
ROTATE = "mv @/lines @/lines.1; cp -p @/file @/lines; mv @/dir @/was; mkdir @/dir; echo new > @/dir/a"
SWAP = "mv @/file @/t; mv @/empty @/file; mv @/t @/empty"


def files():
    """Cases of `file`, the module with most sorts of changes."""
    yield Case("file", {"path": "@/file", "mode": "0600"})
    yield Case("file", {"path": "@/file", "mode": "0644"}, ends="ok")
    yield Case("file", {"path": "@/dir", "mode": "u=rwX,g=rX,o=", "recurse": True, "state": "directory"})
    yield Case("file", {"path": "@/new/deep/er", "state": "directory", "mode": "0711"})
    yield Case("file", {"path": "@/touched", "state": "touch", "mode": "0640"})
    yield Case("file", {"path": "@/file", "state": "touch"})
    yield Case("file", {"path": "@/pointer", "src": "@/file", "state": "link"})
    yield Case("file", {"path": "@/link", "src": "lines", "state": "link", "force": True})
    yield Case("file", {"path": "@/hard", "src": "@/file", "state": "hard"})
    yield Case("file", {"path": "@/dir", "state": "absent"})
    yield Case("file", {"path": "@/dangling", "state": "absent"})
    yield Case("file", {"path": "@/fifo", "state": "absent"})
    yield Case("file", {"path": "@/fifo", "mode": "0600"})
    yield Case("file", {"path": "@/missing", "state": "file"}, ends="failed")


def texts():
    """Cases of modules that change lines."""
    yield Case("lineinfile", {"path": "@/lines", "line": "added"})
    yield Case("lineinfile", {"path": "@/lines", "line": "bbb"}, ends="ok")
    yield Case("lineinfile", {"path": "@/link", "line": "added by a link"})
    yield Case("lineinfile", {"path": "@/secret", "regexp": "^pass", "line": "other", "mode": "0400"})
    yield Case("lineinfile", {"path": "@/lines", "regexp": "^b", "state": "absent", "backup": True}, random=BACKUP)
    yield Case("lineinfile", {"path": "@/begun", "line": "first", "create": True, "mode": "0600"})
    yield Case("lineinfile", {"path": "@/file", "line": "in place", "unsafe_writes": True})
    yield Case("blockinfile", {"path": "@/blocks", "block": "new\nlines"})
    yield Case("blockinfile", {"path": "@/blocks", "state": "absent"})
    yield Case("replace", {"path": "@/lines", "regexp": "b+", "replace": "B"})
    yield Case("replace", {"path": "@/lines", "regexp": "no such", "replace": "B"}, ends="ok")
    yield Case("assemble", {"src": "@/parts", "dest": "@/assembled", "mode": "0640"})
    yield Case("assemble", {"src": "@/parts", "dest": "@/file", "delimiter": "---"})


def copies():
    """Cases of modules that make files of others."""
    yield Case("copy", {"src": "@/file", "dest": "@/copied", "remote_src": True, "mode": "0600"})
    yield Case("copy", {"src": "@/lines", "dest": "@/file", "remote_src": True})
    yield Case("copy", {"src": "@/dir/", "dest": "@/dir2", "remote_src": True})
    yield Case("copy", {"src": "@/file", "dest": "@/file", "remote_src": True}, ends="ok")
    yield Case("unarchive", {"src": "@/packed.tar.gz", "dest": "@/dir", "remote_src": True})
    yield Case("unarchive", {"src": "@/packed.zip", "dest": "@/odd", "remote_src": True})
    yield Case("tempfile", {"path": "@/dir", "prefix": "made."}, random=r"made\.\w+")
    yield Case("tempfile", {"path": "@", "state": "directory", "prefix": "made."}, random=r"made\.\w+")
    yield Case("get_url", {"url": "file://@/file", "dest": "@/fetched", "mode": "0604"})


def reading():
    """Cases of modules that change nothing."""
    for module, args in [
        ("stat", {"path": "@/file"}),
        ("find", {"paths": "@/dir", "recurse": True, "file_type": "any"}),
        ("slurp", {"src": "@/file"}),
        ("ping", {}),
    ]:
        yield Case(module, args, ends="ok")


def named():
    """Cases in which no folder is granted: the files that arguments name are."""
    for module, args, ends in [
        ("lineinfile", {"path": "@/file", "line": "added"}, "changed"),
        ("lineinfile", {"path": "@/file", "line": "some text"}, "ok"),
        ("lineinfile", {"path": "@/begun", "line": "first", "create": True, "mode": "0600"}, "changed"),
        ("blockinfile", {"path": "@/blocks", "block": "new"}, "changed"),
        ("replace", {"path": "@/settings.ini", "regexp": "=", "replace": ":"}, "changed"),
        ("copy", {"src": "@/lines", "dest": "@/dir/b", "remote_src": True}, "changed"),
        ("copy", {"src": "@/empty", "dest": "@/file", "remote_src": True, "mode": "0600"}, "changed"),
        ("assemble", {"src": "@/parts", "dest": "@/file"}, "changed"),
        ("file", {"path": "@/file", "mode": "0600"}, "changed"),
        ("file", {"path": "@/file", "state": "touch"}, "changed"),
    ]:
        yield Case(module, args, ends=ends, granted=False)


def beyond():
    """Cases of what a preview cannot simulate, and says so."""
    line = {"path": "@/file", "line": "in place", "unsafe_writes": True}
    yield Case("command", {"_raw_params": "echo more >> @/file", "_uses_shell": True}, extra="outside", flagged=True)
    yield Case("lineinfile", {"path": "@/lines", "line": "added"}, extra="outside")
    # What belongs to another user: beside a change, and changed itself.
    theirs = {"extra": "foreign", "users": ("user",)}
    yield Case("lineinfile", line, **theirs)
    yield Case("file", {"path": "@/dir/a", "mode": "0600"}, **theirs)
    for text, ends, flagged in [
        ("mv @/dir @/was", "changed", False),
        ("rm @/dir/foreign", "changed", False),
        ("mv @/dir/foreign @/mine", "changed", True),
        ("cp -p @/dir/foreign @/copied", "changed", False),
        ("echo more >> @/dir/foreign", "failed", True),
        ("chmod 600 @/dir/foreign", "failed", True),
        ("touch @/foreign-dir/new; rmdir @/foreign-dir", "changed", True),
    ]:
        yield Case("command", {"_raw_params": text, "_uses_shell": True}, ends=ends, flagged=flagged, **theirs)
    refused = "dir/hidden-foreign`: Permission denied"
    yield Case("file", {"path": "@/dir/a", "mode": "0600"}, extra="hidden", users=("user",), refused=refused)


def commands():
    """Cases of `command` and `shell`."""
    for text in (TOUCH_SCRIPT, MANY, ROTATE, SWAP):
        yield Case("command", {"_raw_params": text, "_uses_shell": True})
    yield Case("command", {"argv": ["touch", "@/file", "@/dir/deep/y"]})
    yield Case("command", {"argv": ["@/program", "@/by a program"]})
    yield Case("command", {"argv": ["mv", "@/dir", "@/renamed"], "creates": "@/renamed"})
    yield Case("command", {"_raw_params": "true", "creates": "@/file"}, ends="ok")
    yield Case("command", {"_raw_params": "true"}, claim="claimed-not-observed", reason=RUNS)
    yield Case("command", {"_raw_params": "echo half > @/file; exit 3", "_uses_shell": True}, ends="failed")
    yield Case("command", {"_raw_params": "echo by one name >> @/lines", "_uses_shell": True})
    yield Case("command", {"_raw_params": "sed -i s/a/z/ @/lines; chmod g-s @/repos; chmod -t @/odd", "_uses_shell": True})
    yield Case("command", {"_raw_params": "mkfifo @/pipe; rm @/link; mkdir @/link", "_uses_shell": True})


def machine():
    """Cases of modules that change what belongs to the machine."""
    etc = ("etc",)
    programs = ("etc", "sbin")
    yield Case("cron", {"name": "job", "job": "true", "minute": "5", "user": "root", "cron_file": "demo"}, machine=programs, users=ROOT)
    yield Case("cron", {"name": "old", "state": "absent", "cron_file": "old"}, machine=programs, users=ROOT)
    yield Case("group", {"name": "new", "gid": 4321}, machine=etc, users=ROOT)
    yield Case("user", {"name": "new", "uid": 4321, "group": "demo", "create_home": False}, machine=etc, users=ROOT)
    yield Case("user", {"name": "demo", "state": "absent"}, machine=etc, users=ROOT)
    yield Case("hostname", {"name": "after", "use": "sles"}, machine=etc, users=ROOT)
    deb822 = {"name": "demo", "uris": "https://example.org/", "suites": "stable", "components": "main"}
    yield Case("deb822_repository", deb822, machine=etc, users=ROOT)
    yield Case("deb822_repository", {"name": "old", "state": "absent"}, machine=etc, users=ROOT)
    yield Case("dpkg_selections", {"name": "demo", "selection": "hold"}, machine=("dpkg",), users=ROOT, needs=("dpkg",))
    yield Case("debconf", {"name": "demo", "question": "demo/question", "vtype": "string", "value": "x"}, machine=("debconf",), users=ROOT, needs=("debconf-communicate",))
    yield Case("getent", {"database": "passwd", "key": "demo"}, ends="ok", machine=etc)
    yield Case("sysvinit", {"name": "demo", "state": "started"}, machine=etc, users=ROOT)
    yield Case("service", {"name": "demo", "state": "started"}, machine=etc, users=ROOT)
    yield Case("service_facts", {}, ends="ok", machine=etc, users=ROOT)
    rule = {"chain": "INPUT", "jump": "ACCEPT", "source": "192.0.2.1"}
    yield Case("iptables", rule, machine=programs, users=ROOT)
    yield Case("systemd_service", {"name": "demo", "enabled": True}, machine=programs, users=ROOT)
    yield Case("systemd", {"name": "demo", "enabled": True}, machine=programs, users=ROOT)
    yield Case("rpm_key", {"key": "@/key.asc", "state": "present"}, machine=programs, users=ROOT, needs=("gpg",))
    yield Case("subversion", {"repo": "file:///none", "dest": "@/dir/checked-out"}, machine=programs, users=ROOT)
    yield Case("package_facts", {"manager": "apt"}, ends="ok", machine=("dpkg",), users=ROOT, needs=("dpkg",))


def others():
    """Cases of the other modules of ansible-core."""
    # A user without a name has no keys.
    named = {"machine": ("etc",), "needs": ("ssh-keygen",)}
    yield Case("known_hosts", {"path": "@/hosts", "name": "example.org", "key": KEY}, **named)
    yield Case("known_hosts", {"path": "@/hosts", "name": "example.net", "state": "absent"}, **named)
    repository = {"name": "epel", "description": "Extra", "baseurl": "https://example.org/", "reposdir": "@/repos"}
    yield Case("yum_repository", repository)
    yield Case("yum_repository", {"name": "old", "reposdir": "@/repos", "state": "absent"})
    cleanup = {"jid": "1.2", "mode": "cleanup", "_async_dir": "@/jobs"}
    yield Case("async_status", cleanup, ends="ok", claim="observed-not-claimed", reason="it removes a file and says that nothing changed")
    answers = {"command": "sh -c 'printf name; read a; echo $a > @/answered'", "responses": {"name": "fred"}}
    yield Case("expect", answers, users=ROOT)
    git = {"repo": "@/origin", "dest": "@/dir/clone", "version": "main"}
    yield Case("git", git, volatile=r"/\.git/(index|logs/.*)$", extra="git", needs=("git",))
    yield Case("setup", {"gather_subset": ["!all", "min"]}, ends="ok")
    yield Case("mount_facts", {"sources": ["@/fstab"]}, ends="ok")
    yield Case("wait_for", {"path": "@/file", "timeout": 5}, ends="ok")
    yield Case("uri", {"url": "http://127.0.0.1:9/", "dest": "@/served"}, ends="failed", allow=("--allow-net", "*:9+any"), flagged=True)
    yield from web("*:PORT+any")
    pip = {"name": "demo", "executable": "@/bin/pip"}
    yield Case("pip", pip, extra="pip")


def web(grant):
    """Cases that ask a server, which a preview must be allowed to."""
    for module in ("uri", "get_url"):
        args = {"url": "http://SERVER/", "dest": "@/served"}
        yield Case(module, args, ends="changed", allow=("--allow-net", grant), preview=("--preview-net",))


LACKING = (
    {"src": "@/dir/", "dest": "@/dir2", "remote_src": True},
    {"path": "@/fifo", "mode": "0600"},
    {"argv": ["@/program", "@/by a program"]},
)


def random_ones(seeds):
    """Random edits. One of them can be none in the end, so a claim is not looked at."""
    for seed in seeds:
        yield Case("random_edits", {"tree": "@", "seed": seed, "edits": 3 + seed % 14}, ends="changed", claim="any")


def own(case):
    """The same case of modbox's module of that name."""
    args = {key: value for key, value in case.args.items() if (case.module, key) != ("copy", "remote_src")}
    allow = case.allow
    if case.module == "command":
        allow += tuple(word for rule in RULES for word in ("--allow-run", rule))
    return dataclasses.replace(case, own=True, args=args, allow=allow)


def can_own(case):
    """Whether modbox's module has what a case asks for: it copies files and no folders, opens no file by a URL, changes no
    mode of a pipe, and starts no program that it could write."""
    return case.args not in LACKING and case.module != "get_url"


def own_only():
    """Cases of modbox's modules that ansible-core does not have."""
    options = {"path": "@/settings.ini", "section": "main"}
    yield Case("ini_file", {**options, "option": "a", "value": "9"}, own=True)
    yield Case("ini_file", {**options, "state": "absent"}, own=True)
    yield Case("archive", {"path": "@/dir", "dest": "@/made.tar"}, own=True)
    yield Case("archive", {"path": "@/dir", "dest": "@/made.zip", "format": "zip", "remove": True}, own=True)
    yield Case("template", {"src": "@/template.j2", "dest": "@/filled", "variables": {"name": "x"}}, own=True)


def classic():
    """All cases of ansible-core's modules."""
    return [*files(), *texts(), *copies(), *reading(), *named(), *commands(), *beyond(), *machine(), *others()]


def components():
    """All cases of modbox's modules."""
    alike = [case for case in [*files(), *texts(), *copies(), *reading(), *named(), *commands()] if can_own(case)]
    return [*map(own, [*alike, *web("SERVER")]), *own_only()]
