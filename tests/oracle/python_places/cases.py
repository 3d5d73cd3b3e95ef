"""Invocations of modules that are run natively and in the sandbox, and what they may differ in.

`$T` is the folder that both runs find in the same state: see `twin.py`. A case is the module's name, its arguments, and
optionally: `grants`, further switches; `times`, how often it runs.
"""

from twin import HOST_KEY
from web import REACH, UNVERIFIED

PROGRAMS = []
for _command in ("/bin/echo", "$T/x.sh", "/bin/cat", "/bin/sh", "touch", "getent", "file", "lsattr", "tar", "locale",
                 "ssh-keygen"):
    PROGRAMS += ["--allow-run", _command + " *"]

PLAIN = {"get_mime": False, "get_attributes": False}
OWNER = ["--allow-own", "daemon:daemon"]


def case(module, arguments=None, **options):
    """Returns a case."""
    return {"module": module, "arguments": arguments or {}, **options}


def uri(path, server="$HTTP", grants=REACH, **arguments):
    """Returns a case of `uri`."""
    return case("uri", {"url": server + path, "return_content": True, **arguments}, grants=[*grants, *READ_CA])


def get_url(path, server="$HTTP", grants=REACH, dest="$T/got", times=1, **arguments):
    """Returns a case of `get_url`."""
    return case("get_url", {"url": server + path, "dest": dest, **arguments}, grants=[*grants, *READ_CA], times=times)


READ_CA = ["--allow-read", "$CA"]
TRUSTED = {"server": "$HTTPS", "ca_path": "$CA"}

WEB = [
    uri("/text"), uri("/text", method="HEAD"), uri("/echo/a?b=c", headers={"X-A": "1"}), uri("/reason", status_code=299),
    uri("/echo", method="POST", body={"a": [1, "\u00fc"]}, body_format="json"),
    uri("/echo", method="PUT", src="$T/a.txt", remote_src=True), uri("/data"), uri("/latin"), uri("/gzip"),
    uri("/bytes", dest="$T/got", return_content=False),
    uri("/echo", method="POST", body_format="form-multipart", body={"f": {"filename": "$T/a.txt"}, "g": "h"}),
    uri("/chunked"), uri("/doubled"), uri("/cookies"), uri("/cookies/redirect"), uri("/status/404"),
    uri("/status/503?json", status_code=[503]), uri("/status/204", status_code=204),
    uri("/redirect/302?to=/text"), uri("/redirect/307?to=/echo", method="POST", body="x", follow_redirects="all"),
    uri("/redirect/302?to=/text", follow_redirects="none", status_code=302), uri("/loop"),
    uri("/auth", url_username="user", url_password="pa:ss"), uri("/auth", url_username="user", url_password="wrong"),
    uri("/auth", url_username="user", url_password="pa:ss", force_basic_auth=True),
    uri("/short"), uri("/gone"), uri("/slow", timeout=1), uri("/flood"), uri("/longline"), uri("/", "http://127.0.0.1:$JUNK"),
    uri("/text", grants=[]), uri("/big", dest="$T/got"),
    get_url("/big", times=2), get_url("/status/404"), get_url("/text", mode="0600"), get_url("/text", dest="$T/d/"),
    get_url("/sums?text=ab", checksum="sha1:da23614e02469a0d7c7bd1bdab5c9c474b1904dc"),
    get_url("/text", checksum="sha256:00"), get_url("/dated/later", dest="$T/a.txt"), get_url("/short"), get_url("/gone"),
    uri("/text", **TRUSTED), uri("/text", method="HEAD", **TRUSTED), uri("/gzip", **TRUSTED), uri("/chunked", **TRUSTED),
    uri("/echo", method="POST", body={"a": 1}, body_format="json", **TRUSTED), uri("/cookies/redirect", **TRUSTED),
    uri("/echo", method="PUT", src="$T/d/sub/3.log", remote_src=True, **TRUSTED), uri("/status/404", **TRUSTED),
    uri("/auth", url_username="user", url_password="pa:ss", **TRUSTED), uri("/redirect/302?to=$HTTP/text", **TRUSTED),
    uri("/redirect/302?to=$HTTPS/text", ca_path="$CA"), uri("/reason", status_code=299, **TRUSTED),
    uri("/slow", timeout=2, **TRUSTED), uri("/gone", **TRUSTED), uri("/short", **TRUSTED), uri("/flood", **TRUSTED),
    uri("/big", dest="$T/got", **TRUSTED),
    uri("/text", "$HTTPS"), get_url("/text", "$HTTPS"), uri("/text", "https://127.0.0.1:$SECURE", ca_path="$CA"),
    uri("/text", "https://127.0.0.1:$JUNK"), uri("/text", "https://127.0.0.1:$JUNK", validate_certs=False,
                                                 grants=UNVERIFIED),
    uri("/text", "$HTTPS", ca_path="$T/none"), uri("/text", "$HTTPS", ca_path="$T/a.txt"),
    uri("/text", "$HTTPS", validate_certs=False, grants=UNVERIFIED),
    uri("/text", "https://127.0.0.1:$SECURE", validate_certs=False, grants=UNVERIFIED),
    get_url("/big", "$HTTPS", validate_certs=False, grants=UNVERIFIED, times=2),
    get_url("/text", "$HTTPS", validate_certs=False), uri("/text", "$HTTPS", ciphers=["AES128-SHA"], ca_path="$CA"),
]

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
    case("replace", {"path": "$T/a.txt", "regexp": "two", "replace": "2", "validate": "/bin/sh -c 'exit 1' %s"},
         grants=PROGRAMS),
    case("known_hosts", {"name": "h.example", "key": HOST_KEY, "path": "$T/hosts"}, grants=PROGRAMS, times=2),
    case("known_hosts", {"name": "h.example", "path": "$T/known", "state": "absent"}, grants=PROGRAMS, times=2),
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
    *WEB,
]

# Why a case may differ: the module's name, a part of its arguments, and the reason.
KNOWN = [
    ("get_url", '"validate_certs": false', "without a rule with `+unverified`, a server must have a valid certificate"),
    ("uri", "form-multipart", "the boundary has as many digits as the numbers of the interpreter"),
    ("uri", '"ciphers"', "the host chooses the ciphers; under `auto`, such a module runs natively"),
    ("command", "$T/x.sh 1", "a program that the module could change is not run for a guest"),
]

# Modules that may say something else to an option that they do not have, and the reason.
KNOWN_MODULES = {
    "async_wrapper": "not a module but a helper of Ansible: it makes a pipe at its import, and starts processes",
}
