"""The shell programs that start modbox on a host, and that put a copy of modbox there.

They need `sh`, `id`, `ls`, `uname` and, for a copy, `mktemp` and one of `sha256sum`, `shasum` and `openssl`. A copy is kept
as `runner-DIGEST` in the first of these folders that takes it:

- the folder of the variable `modbox_remote_dir`, and then no other;
- `modbox/runners` in the cache folder of the user that runs the task: `$XDG_CACHE_HOME`, else `~/.cache`;
- `/var/tmp/modbox-runners-UID`.
"""

from __future__ import annotations

import shlex

# Exit status of a host that needs something.
NEED = 97

# The places for copies, in the order in which they are tried.
PLACES = ("named", "home", "shared")

# A task starts few programs, each of which takes a part of its time: `uname` and `ls`.
_COMMON = r"""
# Succeeds if this user owns a folder. POSIX does not have `-O`; the shells of Linux do.
owned() { [ -O "$1/." ]; }

# Sets `folder` to that of a place. After `sudo`, HOME and XDG_CACHE_HOME may still name folders of the login user.
place() {
    folder=
    case $1 in
    named) folder=$named ;;
    home)
        [ -n "$named" ] && return 1
        if [ -n "${XDG_CACHE_HOME-}" ] && owned "$XDG_CACHE_HOME"; then folder=$XDG_CACHE_HOME
        elif [ -n "${HOME-}" ] && owned "$HOME"; then folder=$HOME/.cache
        else
            name=$(id -un) || return 1
            case $name in '' | -* | *[!A-Za-z0-9._-]*) return 1 ;; esac
            eval "home=~$name"
            owned "$home" || return 1
            folder=$home/.cache
        fi
        folder=$folder/modbox/runners ;;
    shared)
        [ -n "$named" ] && return 1
        folder=/var/tmp/modbox-runners-$(id -u) || return 1 ;;
    esac
    case $folder in /*) ;; *) return 1 ;; esac
}

# Enters a folder that this user owns and no other user can open. Names in it then mean what this user has put there, even
# if another user can rename the folder.
enter() {
    cd -P "$1" 2>/dev/null || return 1
    case $(ls -ld .) in drwx------*) owned . ;; *) return 1 ;; esac
}
"""

# Starts `PROGRAM WORDS`. Without that program, starts the copy with the digest for the host's machine, through a descriptor:
# the working directory stays that of the connection.
_START = (
    _COMMON
    + r"""
program=$1 named=$2 runners=$3
shift 3
if [ -n "$program" ] && command -v "$program" >/dev/null 2>&1; then
    exec "$program" "$@"
fi
machine=$(uname -sm)
system=${machine%% *} machine=${machine##* }
case $machine in amd64) machine=x86_64 ;; arm64) machine=aarch64 ;; esac
digest= before=$PWD
for runner in $runners; do
    [ "${runner%%:*}" = "$machine" ] && digest=${runner#*:}
done
if [ -n "$digest" ] && [ "$system" = Linux ]; then
    for place in named home shared; do
        if place "$place" && enter "$folder" && [ -x "runner-$digest" ]; then
            exec 9<"./runner-$digest"
            cd "$before" 2>/dev/null || cd /
            exec /proc/self/fd/9 "$@"
        fi
        cd "$before" 2>/dev/null || cd /
    done
fi
cat >/dev/null
command -v gzip >/dev/null 2>&1 && unpack=gzip || unpack=cat
printf '{"modbox_need": "runner", "system": "%s", "machine": "%s", "unpack": "%s"}\n' "$system" "$machine" "$unpack"
exit 97
"""
)

# Puts what standard input holds into a place, if it has the digest and starts.
_SHIP = (
    _COMMON
    + r"""
at=$1 named=$2 digest=$3 unpack=$4
refuse() {
    cat >/dev/null
    printf '{"modbox_refused": "%s"}\n' "$1"
    exit 97
}
place "$at" || refuse none
umask 077
mkdir -p "$folder"
enter "$folder" || refuse folder
# What was cut off long ago.
find . -name '.runner-*' -mtime +0 -exec rm -f {} +
file=$(mktemp ./.runner-XXXXXX) || refuse full
trap 'rm -f "$file"' 0
trap 'exit 70' 1 2 13 15
case $unpack in gzip) gzip -dc >"$file" ;; *) cat >"$file" ;; esac || refuse full
if command -v sha256sum >/dev/null 2>&1; then found=$(sha256sum <"$file")
elif command -v shasum >/dev/null 2>&1; then found=$(shasum -a 256 <"$file")
elif command -v openssl >/dev/null 2>&1; then found=$(openssl dgst -sha256 -r <"$file")
else refuse unchecked
fi
[ "${found%% *}" = "$digest" ] || refuse damaged
chmod 700 "$file"
"$file" --version >/dev/null </dev/null || refuse start
mv -f "$file" "runner-$digest" || refuse full
ls -t runner-* | tail -n +4 | while read -r old; do rm -f "./$old"; done
printf '{"modbox_stored": "%s"}\n' "$digest"
"""
)


def start(program, folder, runners, words):
    """Returns the command that runs modbox with words. `runners` has digests of copies by machines."""
    known = " ".join(f"{machine}:{digest}" for machine, digest in sorted(runners.items()))
    return _command(_START, [program, folder, known, *words])


def ship(place, folder, digest, unpack):
    """Returns the command that puts a copy into a place."""
    return _command(_SHIP, [place, folder, digest, unpack])


def _command(script, words):
    return " ".join(["/bin/sh", "-c", *map(shlex.quote, [script, "modbox", *words])])
