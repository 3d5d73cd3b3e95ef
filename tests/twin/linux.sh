# Runs a program in a mount namespace in which only one folder is writable, so that no call can change the machine.
#
# $1: the folder. $2: a file whose lines are `ro FOLDER` and `rw FOLDER`, outer folders first. $3: the umask. The rest: the program
# and its arguments.
# Exit status 99: nothing could be mounted. 98: something else is writable all the same.

mount --make-rprivate / || exit 99
while read -r _ _ _ _ place _; do
    # An ordinary user's way back from root in the namespace writes there, and can change nothing else there.
    case $4$place in unshare/proc*) continue ;; esac
    mount -o remount,bind,ro "$(printf '%b' "$place")" 2>/dev/null
done </proc/self/mountinfo
mount --bind "$1" "$1" && mount -o remount,bind,rw "$1" || exit 99
while read -r access folder; do
    mount --bind "$folder" "$folder" && mount -o "remount,bind,$access" "$folder" || exit 99
done <"$2"
for place in / /tmp /var/tmp "$1/.."; do
    if (: >"$place/.modbox-twin") 2>/dev/null; then
        rm -f "$place/.modbox-twin"
        exit 98
    fi
done
umask "$3"
shift 3
exec "$@"
