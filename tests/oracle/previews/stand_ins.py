"""Folders that a case sees in place of those of the machine: `/etc`, `/usr/local/sbin`, and what packages keep in `/var`.

They are mounted in a mount namespace of the case. Programs that the machine may lack, or whose effects are not files, are small
scripts there that keep their state in files.
"""

import os
import shutil

import start_tree

# Where each folder is seen.
PLACES = {
    "sbin": "/usr/local/sbin",
    "dpkg": "/var/lib/dpkg",
    "debconf": "/var/cache/debconf",
    "etc": "/etc",
}

# Mounts, hides a service manager, and starts the rest. The loop mounts `/etc` last, because `mount` reads it.
SCRIPT = """
while [ "$1" != -- ]; do mount --bind "$1" "$2"; shift 2; done
shift
if [ -d /run/systemd ]; then mount -t tmpfs none /run/systemd; fi
export PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
exec "$@"
"""

PROGRAMS = {
    # A rule is there if its line is.
    "iptables": """
for word; do case $word in -C|-A|-D) action=$word ;; --version) echo 'iptables v1.8.9'; exit ;; *) rule="$rule $word" ;; esac; done
case $action in
    -C) grep -qxF -e "$rule" /etc/rules 2>/dev/null ;;
    -A) echo "$rule" >> /etc/rules ;;
    -D) grep -vxF -e "$rule" /etc/rules > /etc/rules.new; mv /etc/rules.new /etc/rules ;;
esac
""",
    "systemctl": """
case "$*" in
    *is-system-running*) echo running ;;
    *show*) printf 'Id=demo.service\\nLoadState=loaded\\nActiveState=inactive\\nUnitFileState=disabled\\n' ;;
    *is-enabled*) [ -e /etc/systemd/system/wanted/demo.service ] && echo enabled || { echo disabled; exit 1; } ;;
    *enable*) mkdir -p /etc/systemd/system/wanted; ln -s ../demo.service /etc/systemd/system/wanted/demo.service ;;
esac
""",
    "crontab": "exit 1\n",
    "rpm": """
case "$*" in
    *--import*) for file; do :; done; mkdir -p /etc/keys; cp "$file" /etc/keys/imported ;;
    *gpg-pubkey*) [ -e /etc/keys/imported ] || exit 1; echo none ;;
esac
""",
    "svn": """
case "$*" in
    *--version*) echo 1.14.2 ;;
    *checkout*) for word; do last=$word; done; mkdir "$last"; echo 1 > "$last/revision"; echo A "$last/revision" ;;
    *info*) printf 'Revision: 1\\nURL: file:///none\\n' ;;
esac
""",
}

FILES = {
    "passwd": "root:x:0:0:root:/root:/bin/sh\ndemo:x:4300:4300::/home/demo:/bin/sh\nordinary:x:4242:4242::/:/bin/sh\n",
    "group": "root:x:0:\ndemo:x:4300:\n",
    "shadow": "root:*:19000:0:99999:7:::\ndemo:!:19000::::::\n",
    "gshadow": "root:*::\ndemo:!::\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files\n",
    "hostname": "before\n",
    "HOSTNAME": "before\n",
    "apt/sources.list": "",
    "apt/sources.list.d/old.sources": "Types: deb\nURIs: https://example.org/old\nSuites: stable\nComponents: main\n",
    "cron.d/old": "#Ansible: old\n1 2 * * * root true\n",
    "login.defs": "UID_MIN 1000\nUID_MAX 60000\nGID_MIN 1000\nGID_MAX 60000\nUMASK 022\nENCRYPT_METHOD SHA512\n",
    "default/useradd": "SHELL=/bin/sh\n",
    "systemd/system/demo.service": "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n",
}

SERVICE = """#!/bin/sh
### BEGIN INIT INFO
# Provides: demo
# Required-Start:
# Required-Stop:
# Default-Start: 2 3 4 5
# Default-Stop: 0 1 6
### END INIT INFO
case $1 in
    start) echo 1 > /etc/running ;;
    stop) rm /etc/running ;;
    status) test -e /etc/running && echo running || { echo stopped; exit 3; } ;;
esac
"""

PACKAGE = """Package: demo
Status: install ok installed
Priority: optional
Section: misc
Maintainer: Demo <demo@example.org>
Architecture: all
Version: 1
Description: nothing

"""


def make(folder, names):
    """Makes the named folders."""
    if "etc" in names:
        for name, content in FILES.items():
            secret = name in ("shadow", "gshadow")
            start_tree.write(os.path.join(folder, "etc", name), content, 0o600 if secret else 0o644)
        start_tree.write(os.path.join(folder, "etc/init.d/demo"), SERVICE, 0o755)
        for name in ("ld.so.cache", "debconf.conf", "localtime"):
            if os.path.isfile("/etc/" + name):
                shutil.copy("/etc/" + name, os.path.join(folder, "etc", name))
        os.makedirs(os.path.join(folder, "etc/rc5.d"))
    if "sbin" in names:
        for name, content in PROGRAMS.items():
            start_tree.write(os.path.join(folder, "sbin", name), "#!/bin/sh\n" + content.lstrip(), 0o755)
    if "dpkg" in names:
        start_tree.write(os.path.join(folder, "dpkg/status"), PACKAGE)
        start_tree.write(os.path.join(folder, "dpkg/available"), "")
        start_tree.write(os.path.join(folder, "dpkg/info/demo.list"), "/.\n")
        start_tree.write(os.path.join(folder, "dpkg/info/format"), "1\n")
        os.makedirs(os.path.join(folder, "dpkg/updates"))
        start_tree.write(os.path.join(folder, "dpkg/lock"), "")
    if "debconf" in names:
        template = "Name: demo/question\nType: string\nDescription: demo\nOwners: demo/question\n\n"
        question = "Name: demo/question\nTemplate: demo/question\nOwners: demo\n\n"
        start_tree.write(os.path.join(folder, "debconf/templates.dat"), template)
        start_tree.write(os.path.join(folder, "debconf/config.dat"), question)
        start_tree.write(os.path.join(folder, "debconf/passwords.dat"), "", 0o600)
    start_tree.settle(folder)


def prefix(folder, names):
    """The words before a command that is to see the folders."""
    mounts = []
    for name, place in PLACES.items():
        if name in names:
            mounts += [os.path.join(folder, name), place]
    unshare = ["unshare", "--mount", "--uts", "--net", "--propagation", "private"]
    return [*unshare, "sh", "-ec", SCRIPT, "sh", *mounts, "--"] if mounts else []
