# Makes hosts on a network of their own: a bridge in the network namespace that runs this, and for each host a network
# namespace with an address on it and an sshd. This namespace is the controller's, and a host that is reached locally.
#
# $1 to $4: as for `host.sh`, and its path. $5: the number of hosts.

files=$1 script=$4
set -- "$1" "$2" "$3" "$5"
. "$script"
mount -t proc proc /proc
ip link set lo up
ip link add hosts type bridge
ip address add 10.9.0.1/16 dev hosts
ip link set hosts up
mkdir "$files/pids"
number=0
while [ "$number" -lt "$4" ]; do
    number=$((number + 1))
    ip netns add "host$number"
    ip link add "link$number" type veth peer name eth0 netns "host$number"
    ip link set "link$number" master hosts up
    export number
    ip netns exec "host$number" unshare --mount sh -ec '
        . "$0"
        mkdir /run/pids
        mount --bind "$1/pids" /run/pids
        mount -t tmpfs -o mode=1777 tmpfs /tmp
        ip link set lo up
        ip address add "10.9.1.$number/16" dev eth0
        ip link set eth0 up
        exec /usr/sbin/sshd -D -e -f /etc/ssh/config -o "PidFile=/run/pids/$number" -o "MaxStartups=100" -o "UseDNS=no"
    ' "$script" "$1" "$2" "$3" </dev/null >"$files/host$number.log" 2>&1 &
done
# sshd writes the file when it listens.
for number in $(seq "$number"); do
    tries=0
    until [ -s "$files/pids/$number" ]; do
        tries=$((tries + 1))
        [ "$tries" -lt 600 ]
        sleep 0.05
    done
done
echo ready
cat >/dev/null
