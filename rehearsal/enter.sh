#!/bin/sh
# Enters the sandbox: PROJECT NODE CLI PROGRAM ROOM HIDE DROP COMMAND...
# Runs as root of new network, mount and pid namespaces. Everything needed is bound below /mnt first, so that the
# user's home and machine-wide settings can then be hidden. PROGRAM, HIDE: paths, one per line.
# Stays as pid 1 beside the command to reap orphans.
set -eu
project=$1 node=$2 cli=$3 program=$4 room=$5 hide=$6 drop=$7
shift 7

# 0x8914 is SIOCSIFFLAGS, 0x41 IFF_UP and IFF_RUNNING: for machines without iproute2.
ip link set lo up 2>/dev/null ||
  perl -e '$lo = pack("a16s", "lo", 0x41); socket(S, 2, 2, 0) && ioctl(S, 0x8914, $lo) || exit 1' 2>/dev/null ||
  python3 -c 'import fcntl, socket, struct
fcntl.ioctl(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0x8914, struct.pack("16sh", b"lo", 0x41))' ||
  { echo "rehearsal: loopback cannot be brought up: install iproute2" >&2; exit 3; }

mount -t tmpfs -o mode=755 tmpfs /mnt
mkdir /mnt/tacho /mnt/cli /mnt/room /mnt/bin
touch /mnt/bin/node
mount --bind "$project" /mnt/tacho
mount --bind "$cli" /mnt/cli
mount --bind "$room" /mnt/room
mount --bind "$node" /mnt/bin/node
for bound in /mnt/tacho /mnt/cli /mnt/bin/node; do
  # A user namespace may not change flags that its parent has set.
  mount -o remount,bind,ro "$bound" 2>/dev/null || true
done
printf '%s\n' "$program" | while IFS= read -r path; do ln -s "/mnt/cli/$path" "/mnt/bin/$(basename "$path")"; done
cd /mnt/room

printf '%s\n' "$hide" | while IFS= read -r path; do
  if [ -d "$path" ]; then mount -t tmpfs -o mode=755 tmpfs "$path"
  elif [ -e "$path" ]; then mount --bind /dev/null "$path"; fi
done
mount --bind /mnt/room/tmp /tmp

# The agent must not be root: some refuse to work as root without asking. Not in the background, where SIGINT is ignored.
code=0
if [ "$drop" = setpriv ]; then
  setpriv --reuid 1001 --regid 1001 --clear-groups --no-new-privs "$@" || code=$?
else
  unshare --user --map-user=1001 --map-group=1001 "$@" || code=$?
fi
exit "$code"
