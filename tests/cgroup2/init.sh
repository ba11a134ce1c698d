#!/bin/sh
# The first process of the machine: mounts what a system has, runs the check as root and as an ordinary user, powers off.
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev 2>/dev/null
mkdir -p /dev/shm /run /tmp
mount -t tmpfs shm /dev/shm
mount -t tmpfs -o mode=1777 tmp /tmp
mount -t cgroup2 cgroup /sys/fs/cgroup
export PATH=/usr/sbin:/usr/bin:/sbin:/bin PYTHONPATH=/poollab/workflow PYTHONDONTWRITEBYTECODE=1 LANG=C.UTF-8
ip link set lo up 2>/dev/null
python3 /poollab/check.py root && {
    # What a service manager does for a user: a subtree of their own, with controllers, and the user's shell inside it.
    echo "+cpu +memory" >/sys/fs/cgroup/cgroup.subtree_control
    mkdir -p /sys/fs/cgroup/user/session
    chown -R 1000:1000 /sys/fs/cgroup/user
    echo "+cpu +memory" >/sys/fs/cgroup/user/cgroup.subtree_control
    echo "user:x:1000:1000::/home/user:/bin/sh" >>/etc/passwd
    mkdir -p /home/user && chown 1000:1000 /home/user
    echo $$ >/sys/fs/cgroup/user/session/cgroup.procs
    python3 /poollab/check.py 1000 && echo "cgroup2: all passed"
}
sync
echo o >/proc/sysrq-trigger
sleep 5
