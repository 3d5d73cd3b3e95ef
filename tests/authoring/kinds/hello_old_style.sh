#!/bin/sh
# The arguments are assignments in the file $1; every value is a string, also True and False.
. "$1"
# The dot keeps newlines at the end, which $(…) takes off.
name=$(printf '%s.' "$name" | sed ':next
$!{
N
b next
}
s/\\/\\\\/g
s/"/\\"/g
s/\t/\\t/g
s/\n/\\n/g')
if [ "$loud" = True ]; then mark='!'; fi
if [ "$_ansible_check_mode" = True ]; then check=', "check": true'; fi
printf '{"changed": false, "greeting": "hello %s%s", "n": %s%s}\n' "${name%.}" "$mark" "$n" "$check"
