"""Invocations of modules that are run natively and in the sandbox, and what they may differ in.

`$T` is the folder that both runs find in the same state: see `twin.py`. A case is the module's name, its arguments, and
optionally: `grants`, further switches; `times`, how often it runs.
"""

PROGRAMS = []
for _command in ("/bin/echo", "$T/x.sh", "/bin/cat", "/bin/sh", "touch", "getent", "file", "lsattr", "tar", "locale"):
    PROGRAMS += ["--allow-run", _command + " *"]

PLAIN = {"get_mime": False, "get_attributes": False}
OWNER = ["--allow-own", "daemon:daemon"]


def case(module, arguments=None, **options):
    """Returns a case."""
    return {"module": module, "arguments": arguments or {}, **options}


CASES = [
    case("ping"), case("ping", {"data": "x"}), case("ping", {"nope": 1}),
    case("stat", {"path": "$T/a.txt"}, grants=PROGRAMS), case("stat", {"path": "$T/absdir"}, grants=PROGRAMS),
    *[case("stat", {"path": "$T/" + path, **PLAIN})
      for path in ("secret.txt", "rel", "broken", "none", "d", "d/../x.sh")],
    case("stat", {"path": "$T/abs", "follow": True, **PLAIN}), case("stat", {"path": "$T/d/up", "follow": True, **PLAIN}),
    case("stat", {"path": "$T/absdir/1.part", "checksum_algorithm": "sha256", **PLAIN}),
    *[case("slurp", {"src": "$T/" + path}) for path in ("a.txt", "abs", "none", "d")],
    case("find", {"paths": ["$T"], "recurse": True}),
    case("find", {"paths": ["$T"], "file_type": "any", "recurse": True, "hidden": True}),
    case("find", {"paths": ["$T/d"], "patterns": ["*.part"], "get_checksum": True}),
    case("find", {"paths": ["$T"], "contains": "^two", "recurse": True, "follow": True}),
    case("find", {"paths": ["$T/none"]}), case("find", {"paths": ["$T"], "file_type": "link", "age": "1d"}),
    case("replace", {"path": "$T/a.txt", "regexp": "t(\\w+)", "replace": "T\\1"}),
    case("replace", {"path": "$T/b.conf", "regexp": "1", "replace": "2", "backup": True}),
    case("replace", {"path": "$T/none", "regexp": "1"}),
    case("lineinfile", {"path": "$T/a.txt", "line": "four"}), case("lineinfile", {"path": "$T/a.txt", "line": "two"}),
    case("lineinfile", {"path": "$T/new", "line": "four", "create": True}, times=2),
    case("lineinfile", {"path": "$T/new", "line": "four", "create": True, "mode": "0600"}),
    case("lineinfile", {"path": "$T/secret.txt", "regexp": "^hid", "line": "shown"}),
    case("lineinfile", {"path": "$T/a.txt", "line": "two", "state": "absent", "backup": True}),
    case("lineinfile", {"path": "$T/abs", "line": "five"}), case("lineinfile", {"path": "$T/none", "line": "x"}),
    case("lineinfile", {"path": "$T/a.txt", "line": "y", "validate": "/bin/cat %s"}, grants=PROGRAMS),
    case("blockinfile", {"path": "$T/a.txt", "block": "x\ny"}, times=2),
    case("blockinfile", {"path": "$T/n2", "block": "x\ny", "create": True, "mode": "0640", "owner": "daemon"},
         grants=OWNER),
    case("assemble", {"src": "$T/d", "dest": "$T/out", "regexp": ".*part"}),
    case("assemble", {"src": "$T/d", "dest": "$T/out", "delimiter": "---", "mode": "0751"}),
    case("copy", {"src": "$T/a.txt", "dest": "$T/cp", "remote_src": True}, times=2),
    case("copy", {"src": "$T/secret.txt", "dest": "$T/cp", "remote_src": True, "mode": "preserve"}),
    case("copy", {"src": "$T/tree", "dest": "$T/cptree", "remote_src": True}),
    case("copy", {"src": "$T/tree/", "dest": "$T/cptree/", "remote_src": True, "mode": "0644", "directory_mode": "0755"}),
    case("copy", {"src": "$T/a.txt", "dest": "$T/b.conf", "remote_src": True, "backup": True}),
    case("copy", {"src": "$T/none", "dest": "$T/cp", "remote_src": True}),
    case("copy", {"src": "$T/a.txt", "dest": "$T/d/", "remote_src": True, "mode": "u=rw,g=r,o="}),
    case("copy", {"src": "$T/d", "dest": "$T/dd", "remote_src": True, "local_follow": False}),
    case("copy", {"src": "$T/a.txt", "dest": "$T/cp", "remote_src": True, "owner": "daemon", "group": "daemon"},
         grants=OWNER),
    case("file", {"path": "$T/t", "state": "touch"}), case("file", {"path": "$T/t", "state": "touch", "mode": "0604"}),
    case("file", {"path": "$T/a.txt", "state": "touch", "modification_time": "200001010000.00",
                  "access_time": "preserve"}),
    case("file", {"path": "$T/n/m/o", "state": "directory", "mode": "0711"}, times=2),
    *[case("file", {"path": "$T/" + path, "state": "absent"}) for path in ("tree", "rel", "abs", "absdir", "none")],
    case("file", {"path": "$T/h", "src": "$T/a.txt", "state": "hard"}),
    case("file", {"path": "$T/l", "src": "$T/a.txt", "state": "link"}, times=2),
    case("file", {"path": "$T/l", "src": "a.txt", "state": "link"}),
    case("file", {"path": "$T/abs", "src": "$T/a.txt", "state": "link"}),
    case("file", {"path": "$T/abs", "src": "$T/b.conf", "state": "link"}),
    case("file", {"path": "$T/l", "src": "missing", "state": "link", "force": True}),
    case("file", {"path": "$T/l", "src": "missing", "state": "link"}),
    case("file", {"path": "$T/a.txt", "mode": "u+x,g-r"}), case("file", {"path": "$T/none"}),
    case("file", {"path": "$T/tree", "mode": "u=rwX,go=", "recurse": True}),
    case("file", {"path": "$T/a.txt", "owner": "daemon", "group": "daemon"}, grants=OWNER),
    case("file", {"path": "$T/a.txt", "owner": "nosuchuser"}), case("file", {"path": "$T/abs", "mode": "0600"}),
    case("file", {"path": "$T/d", "state": "file", "mode": "0700"}),
    case("file", {"path": "$T/a.txt", "state": "directory"}),
    case("command", {"_raw_params": "/bin/echo hello world"}, grants=PROGRAMS),
    case("command", {"_raw_params": "$T/x.sh 1", "chdir": "$T"}, grants=PROGRAMS),
    case("command", {"argv": ["/bin/cat"], "stdin": "abc", "stdin_add_newline": False}, grants=PROGRAMS),
    case("command", {"_raw_params": "touch $T/made", "creates": "$T/a.txt"}, grants=PROGRAMS),
    case("command", {"_raw_params": "touch $T/made"}, grants=PROGRAMS),
    case("getent", {"database": "passwd", "key": "root"}, grants=PROGRAMS),
    case("getent", {"database": "passwd", "key": "nosuch"}, grants=PROGRAMS),
    case("yum_repository", {"name": "e", "description": "d", "baseurl": "http://x/", "reposdir": "$T"}, times=2),
    case("async_status", {"jid": "1.2", "_async_dir": "$T"}),
    case("wait_for", {"path": "$T/a.txt", "search_regex": "two"}), case("wait_for", {"timeout": 1}),
    case("unarchive", {"src": "$T/x.tgz", "dest": "$T/d", "remote_src": True}, grants=PROGRAMS),
    case("community.general.ini_file", {"path": "$T/b.conf", "section": "x", "option": "k", "value": "2"}),
    case("community.general.ini_file", {"path": "$T/new.ini", "section": "s", "option": "k", "values": ["a", "b"],
                                        "mode": "0600", "backup": True}, times=2),
    case("community.general.ini_file", {"path": "$T/b.conf", "section": "y", "state": "absent"}),
    case("community.general.interfaces_file", {"dest": "$T/if", "iface": "eth0", "option": "mtu", "value": "1350"}),
    case("community.general.read_csv", {"path": "$T/x.csv", "key": "a"}),
    case("community.general.pam_limits", {"domain": "joe", "limit_type": "soft", "limit_item": "nofile", "value": "99",
                                          "dest": "$T/limits"}),
    case("community.general.crypttab", {"name": "luks-a", "state": "present", "path": "$T/crypttab",
                                        "backing_device": "/dev/sda", "password": "none"}),
    case("community.general.filesize", {"path": "$T/size", "size": "1KiB"}, grants=["--allow-run", "dd *"]),
    case("ansible.posix.authorized_key", {"user": "root", "path": "$T/keys", "manage_dir": False,
                                          "key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl x"}),
    case("ansible.posix.mount", {"path": "$T/mnt", "src": "/dev/x", "fstype": "ext4", "state": "present",
                                 "fstab": "$T/fstab"}),
]

# Why a case may differ: the module's name, a part of its arguments, and the reason.
KNOWN = [
    ("lineinfile", "validate", "a command has a `/tmp` of its own; under `auto`, such a module runs natively"),
    ("community.general.filesize", "size", "it asks for the free space of a file system (`os.statvfs`)"),
    ("command", "$T/x.sh 1", "a program that the module could change is not run for a guest"),
]

# Modules that may say something else to an option that they do not have, and the reason.
KNOWN_MODULES = {
    "async_wrapper": "a part of Ansible that is no module: it makes a pipe when it is imported, and starts processes",
}
