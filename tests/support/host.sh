# Turns the mount namespace that runs this into a host of its own: users, homes, temporary folders, and the programs of
# this machine with those of Debian packages over them. Of the machine itself nothing changes.
#
# $1: a folder with passwd, shadow, sudoers, pam, config, host_key and key.pub. $2: the unpacked packages. $3: modbox.

mount --make-rprivate /
for folder in /mnt /run /srv /var/tmp; do mount -t tmpfs -o mode=755 tmpfs "$folder"; done
for folder in etc usr; do
    mkdir -p "/mnt/$folder/upper" "/mnt/$folder/work"
    mount -t overlay -o "lowerdir=$2/$folder:/$folder,upperdir=/mnt/$folder/upper,workdir=/mnt/$folder/work" \
        overlay "/$folder"
done
chmod 1777 /var/tmp
mkdir -p /run/sshd /run/sudo
chmod 711 /run/sudo
for name in passwd shadow sudoers; do cp "$1/$name" "/etc/$name"; done
for name in sudo su; do cp "$1/pam" "/etc/pam.d/$name"; done
for name in config host_key key.pub; do cp "$1/$name" "/etc/ssh/$name"; done
chmod 644 /etc/passwd /etc/ssh/key.pub
chmod 600 /etc/shadow /etc/ssh/host_key
chmod 440 /etc/sudoers
while IFS=: read -r name _ uid _ _ home _; do
    case $home in /srv/*) install -d -m 700 -o "$uid" -g 65534 "$home" ;; esac
done </etc/passwd
# A link would lead through folders that other users cannot open.
touch /usr/local/bin/modbox-python
mount --bind "$3" /usr/local/bin/modbox-python
