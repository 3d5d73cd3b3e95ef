#!/bin/sh
# WANT_JSON: the arguments are in the JSON file $1. Strings are printed as they stand there, escapes and all, so
# nothing has to decode them. A key inside of a string has its quotes escaped, so it is not mistaken for one.
name=$(sed -n 's/.*"name": "\(\([^"\\]\|\\.\)*\)".*/\1/p' "$1")
n=$(sed -n 's/.*"n": "\{0,1\}\([0-9]*\).*/\1/p' "$1")
if grep -q '"loud": true' "$1"; then mark='!'; fi
if grep -q '"_ansible_check_mode": true' "$1"; then check=', "check": true'; fi
printf '{"changed": false, "greeting": "hello %s%s", "n": %s%s}\n' "$name" "$mark" "$n" "$check"
