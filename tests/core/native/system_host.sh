# Turns the mount and host name namespaces that run this into a host of its own: what is written below /etc, /usr and /var goes into
# memory. It has a service of System V, a repository with one package, and files to configure. Then runs a command, and notes what it has changed.
#
# $1: a folder, which gets `state`. $2: more folders with programs, each after a colon. The rest: the command.

folder=$1 programs=$2
shift 2
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs /mnt
# What is written to the folder stays, also where it lies below one of these.
mkdir /mnt/folder
mount --bind "$folder" /mnt/folder
for name in etc usr var; do
    mkdir -p "/mnt/$name/upper" "/mnt/$name/work"
    more=
    test "$name" = usr && more=$programs
    mount -t overlay -o "lowerdir=/$name$more,upperdir=/mnt/$name/upper,workdir=/mnt/$name/work" overlay "/$name" || exit 99
done
mount --bind /mnt/folder "$folder"
mount -t tmpfs -o mode=755 tmpfs /home
hostname before.example

mkdir -p /etc/init.d /var/modtest-git
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

# These keep what they were told, since a test must not do it.
cat >/usr/bin/systemctl <<'SYSTEMCTL'
#!/bin/sh
units=/var/modtest-units
mkdir -p "$units"
while case $1 in --*) true ;; *) false ;; esac do shift; done
verb=$1
shift
for unit; do
    case $unit in -*) ;; *) unit=${unit%.service}; break ;; esac
done
case $verb in
    show)
        if test -e "$units/$unit.on"; then active=active; else active=inactive; fi
        if test -e "$units/$unit.masked"; then load=masked; else load=loaded; fi
        printf 'Id=%s.service\nLoadState=%s\nActiveState=%s\nSubState=dead\n' "$unit" "$load" "$active"
        ;;
    is-active) test -e "$units/$unit.on" && echo active ;;
    is-enabled) if test -e "$units/$unit.enabled"; then echo enabled; else echo disabled; exit 1; fi ;;
    start | restart) : >"$units/$unit.on" ;;
    stop) rm -f "$units/$unit.on" ;;
    enable) : >"$units/$unit.enabled" ;;
    mask) : >"$units/$unit.masked" ;;
    list-unit-files) echo "$unit.service enabled" ;;
    daemon-reload) echo reload >>"$units/reloads" ;;
    *) exit 1 ;;
esac
SYSTEMCTL
cat >/usr/sbin/ufw <<'UFW'
#!/bin/sh
state=/var/modtest-firewall
touch "$state"
dry=false
while true; do
    case $1 in --dry-run) dry=true ;; -f) ;; *) break ;; esac
    shift
done
case "$*" in
    --version) echo 'ufw 0.36.2' ;;
    status*)
        if grep -qx enable "$state"; then echo 'Status: active'; else echo 'Status: inactive'; fi
        grep -x 'default.*' "$state"
        ;;
    *) "$dry" || grep -qx "$*" "$state" || echo "$*" >>"$state" ;;
esac
exit 0
UFW
chmod 755 /usr/bin/systemctl /usr/sbin/ufw

mkdir -p /etc/modtest/parts /etc/modtest/sudoers.d /var/modtest/unpacked
printf 'a = 1\nb = 1\n' >/etc/modtest/main.conf
echo one >/etc/modtest/parts/1
echo two >/etc/modtest/parts/2
printf '#%%PAM-1.0\nauth required pam_unix.so\n' >/etc/modtest/pam
printf 'auto eth0\niface eth0 inet dhcp\n    mtu 1500\n' >/etc/modtest/interfaces
echo '<a><b>d</b></a>' >/etc/modtest/a.xml
printf 'name,number\none,1\n' >/etc/modtest/a.csv
: >/etc/modtest/crypttab
printf '127.0.0.1:/a /b nfs ro 0 0\n' >/etc/modtest/fstab
printf 'a\n' >/etc/modtest/patched
printf -- '--- patched\n+++ patched\n@@ -1 +1,2 @@\n a\n+b\n' >/etc/modtest/change.patch
: >/etc/modtest/limits.conf
: >/etc/modtest/ssh_config
cp /bin/true /var/modtest/program
echo text | gzip -n >/var/modtest/text.gz
truncate -s 4M /var/modtest-image
mkdir -p /var/modtest-made /var/spool/cron/atjobs /var/spool/cron/atspool
echo 0 >/var/spool/cron/atjobs/.SEQ
printf 'all: out\nout:\n\techo made >out\n' >/var/modtest-made/Makefile
git init -q -b main /var/modtest-repository-git
export GIT_AUTHOR_DATE='@0 +0000' GIT_COMMITTER_DATE='@0 +0000'
git -C /var/modtest-repository-git -c user.name=a -c user.email=a@example.org commit -q --allow-empty -m first
unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE
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
    cat /var/modtest-firewall /etc/locale.gen
    find /var/modtest-units /var/modtest-deployed /var/modtest-made | sort
    find /var/spool/cron/at* -type f | wc -l
    git -C /var/modtest-git/checkout log --format=%H
    iptables -S
    getcap /var/modtest/program
    getfattr -d /var/modtest/program
    getfacl -p /etc/modtest/main.conf*
    locale -a
    blkid -o value -s TYPE /var/modtest-image
} >"$folder/state" 2>&1
exit $status
