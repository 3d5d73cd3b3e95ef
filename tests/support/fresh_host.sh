# Turns the mount namespace that runs this into a host of its own: the files of this machine under a layer that takes all changes.
# Of the machine itself nothing changes. It has no service manager, no daemons, and an empty /run and /tmp.
#
# $1: an empty folder, in which the layer is mounted. $2: a folder that the host shares with the machine. The rest: a command, which
# starts in this folder.

set -e
layer=$1 shared=$2 here=$PWD
shift 2
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs "$layer"
mkdir "$layer/upper" "$layer/work" "$layer/root"
mount -t overlay -o "lowerdir=/,upperdir=$layer/upper,workdir=$layer/work" overlay "$layer/root"
cd "$layer/root"
mount -t proc proc proc
for folder in dev sys; do mount --rbind "/$folder" "$folder"; done
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=1777 tmpfs tmp
mkdir -p ".$shared" run/lock
mount --bind "$shared" ".$shared"
mkdir -p run/machine
pivot_root . run/machine
umount -l /run/machine
cd "$here"
exec "$@"
