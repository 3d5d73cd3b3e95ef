#!/bin/bash
# WANT_JSON: tries one thing, and says how it went.
word() { sed -n "s/.*\"$1\": \"\([^\"]*\)\".*/\1/p" "$args"; }
args=$1
what=$(word what)
fail() {
    printf '{"failed": true, "msg": "%s"}\n' "$(tr -d '"\n\\' <"$TMPDIR/error")"
    exit
}
case $(word op) in
read) got=$(cat "$what" 2>"$TMPDIR/error") || fail ;;
write) { echo written >"$what"; } 2>"$TMPDIR/error" || fail; got=written ;;
env) got=$( (set -u; eval "echo \"\$$what\"") 2>"$TMPDIR/error") || fail ;;
connect) { : >"/dev/tcp/127.0.0.1/$what"; } 2>"$TMPDIR/error" || fail; got=connected ;;
run) got=$("$what" 2>"$TMPDIR/error") || fail ;;
esac
printf '{"got": "%s", "changed": false}\n' "$(printf %s "$got" | tr -d '"\n\t\\')"
