# Turns the mount and host name namespaces that run this into a host of its own: what is written below /etc, /usr and /var goes into
# memory. It has a service of System V, a repository with one package, and files to configure. Then runs a command, and notes what it has changed.
#
# $1: a folder, which gets `state`. The rest: the command.

folder=$1
shift
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs /mnt
for name in etc usr var; do
    mkdir -p "/mnt/$name/upper" "/mnt/$name/work"
    mount -t overlay -o "lowerdir=/$name,upperdir=/mnt/$name/upper,workdir=/mnt/$name/work" overlay "/$name" || exit 99
done
mount -t tmpfs -o mode=755 tmpfs /home
hostname before.example

mkdir -p /etc/init.d
cat >/etc/init.d/modtest <<'SERVICE'
#!/bin/sh
### BEGIN INIT INFO
# Provides: modtest
# Default-Start: 2 3 4 5
# Default-Stop: 0 1 6
### END INIT INFO
case $1 in
    start | restart) : >/var/modtest.on ;;
    stop) rm -f /var/modtest.on ;;
    status) if test -e /var/modtest.on; then echo running; else echo stopped; exit 3; fi ;;
esac
SERVICE
chmod 755 /etc/init.d/modtest

cat >/usr/bin/crontab <<'CRONTAB'
#!/bin/sh
user=$(id -un)
if [ "$1" = -u ]; then user=$2; shift 2; fi
table=/var/modtest-table-$user
case $1 in
    -l) if [ -e "$table" ]; then cat "$table"; else echo "no crontab for $user" >&2; exit 1; fi ;;
    -r) rm -f "$table" ;;
    *) cat "$1" >"$table" ;;
esac
CRONTAB
chmod 755 /usr/bin/crontab

mkdir -p /etc/modtest/parts /etc/modtest/sudoers.d /var/modtest/unpacked
printf 'a = 1\nb = 1\n' >/etc/modtest/main.conf
echo one >/etc/modtest/parts/1
echo two >/etc/modtest/parts/2
printf '#%%PAM-1.0\nauth required pam_unix.so\n' >/etc/modtest/pam
printf 'auto eth0\niface eth0 inet dhcp\n    mtu 1500\n' >/etc/modtest/interfaces
echo '<a><b>d</b></a>' >/etc/modtest/a.xml
printf 'name,number\none,1\n' >/etc/modtest/a.csv
: >/etc/modtest/crypttab
tar --mtime @0 -cf /var/modtest/archive.tar -C /etc/modtest main.conf
for program in true false; do
    update-alternatives --quiet --install /usr/bin/modtest modtest "/bin/$program" "$(echo "$program" | wc -c)" 2>/dev/null
done

repository=/var/modtest-repository
mkdir -p "$repository/package/DEBIAN" "$repository/package/usr/share/modtest"
echo text >"$repository/package/usr/share/modtest/file"
cat >"$repository/package/DEBIAN/control" <<'CONTROL'
Package: modtest
Version: 1.0
Architecture: all
Maintainer: Test <test@example.org>
Description: a package
CONTROL
SOURCE_DATE_EPOCH=0 dpkg-deb --root-owner-group --build "$repository/package" "$repository/modtest.deb" >/dev/null
{
    cat "$repository/package/DEBIAN/control"
    echo "Filename: ./modtest.deb"
    echo "Size: $(stat -c %s "$repository/modtest.deb")"
    echo "SHA256: $(sha256sum <"$repository/modtest.deb" | cut -d ' ' -f 1)"
} >"$repository/Packages"
rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/*
echo "deb [trusted=yes] file:$repository ./" >/etc/apt/sources.list
apt-get -q -o APT::Sandbox::User=root update >/dev/null 2>&1 || exit 98

"$@"
status=$?
{
    cat /etc/passwd /etc/group /etc/hostname /etc/modtest-hosts
    readlink /etc/localtime /etc/alternatives/modtest
    cat /var/modtest-table-*
    # "pamd" writes the time into its file.
    find /etc/modtest* /etc/apt /var/modtest /etc/timezone -type f ! -name '*~' ! -name pam | sort | while read -r file; do
        stat -c '%n %a %U %G' "$file"
        sha1sum <"$file"
    done
    find /etc/modtest* /var/modtest -type d -exec stat -c '%n %a %U %G' {} + | sort
    cut -d : -f 1,2 /etc/shadow
    hostname
    dpkg --get-selections
    dpkg-query -W
    debconf-show modtest
    find /var/modtest.on /etc/rc?.d /usr/share/modtest /home 2>&1
    update-alternatives --query awk
} >"$folder/state" 2>&1
exit $status
