#!/bin/sh
# Run the smoke study on cgroup v2 under systemd, in a small virtual machine, for developers whose own machine has v1.
#
# Needs qemu-system-x86, cpio, debootstrap and root (to build the machine's file system). Takes a kernel from Debian's
# packages and installs nothing.
set -eu
cd "$(dirname "$0")/../.."
python=${PYTHON:-.venv/bin/python}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
root=$work/root

for program in qemu-system-x86_64 cpio debootstrap; do
    command -v "$program" >/dev/null || { echo "test-cgroup2: apt install qemu-system-x86 cpio debootstrap" >&2; exit 2; }
done

echo "test-cgroup2: fetching a kernel"
kernel=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-[^ ]*\).*/\1/p' | head -n 1)
(cd "$work" && apt-get -qq download "$kernel" 2>"$work/apt.log") || { cat "$work/apt.log" >&2; exit 2; }
dpkg-deb -x "$work/$kernel"_*.deb "$work/kernel"

echo "test-cgroup2: building the machine"
POOLLAB_INCLUDE=systemd-sysv,dbus sh containers/base/build.sh "$work/base.tar" >"$work/base.log" 2>&1 ||
    { tail -n 20 "$work/base.log" >&2; exit 2; }
mkdir -p "$root/site"
tar -C "$root" -xf "$work/base.tar" --exclude='./dev/*'
rm "$work/base.tar"
# What only tests, types and style need stays out, and so does the report's browser: the machine lives in memory.
site=$("$python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
tar -C "$site" -cf - --exclude='*-stubs' --exclude='./playwright' --exclude='./mypy*' \
    --exclude='./6ec57f84c680d3a3778b__mypyc*' --exclude='./ruff*' --exclude='./_pytest' --exclude='./pytest*' \
    --exclude='./hypothesis*' --exclude='./_hypothesis*' --exclude='./black*' --exclude='./optype*' --exclude='./pip' \
    --exclude='*/tests' . | tar -C "$root/site" -xf -
# The generator's environment is made anew for it, so the packages must be found without one.
echo /site >"$root/usr/lib/python3/dist-packages/site.pth"

# One copy of the project for each of the two who run it.
echo "user:x:1000:1000::/home/user:/bin/sh" >>"$root/etc/passwd"
echo "user:x:1000:" >>"$root/etc/group"
for home in root home/user; do
    mkdir -p "$root/$home/project"
    cp -a Snakefile pyproject.toml workflow config scripts containers README.md LICENSE CITATION.cff CHANGELOG.md \
        CONTRIBUTING.md requirements.in requirements.lock Makefile "$root/$home/project/"
    tar -cf - --exclude=reports/published reports | tar -C "$root/$home/project" -xf -
    # Software emulation is slow, and nobody else is in the machine: the guard would stop what need not stop.
    printf '\nsafety: {other_cpu: 1.0, runnable_per_cpu: 1000, steal: 1.0}\n' >>"$root/$home/project/config/config.yaml"
done
chown -R root:root "$root/root"
chown -R 1000:1000 "$root/home/user"

cp tests/cgroup2/check.py "$root/check.py"
units=$root/etc/systemd/system
cp tests/cgroup2/cgroup2.service "$units/"
mkdir -p "$units/multi-user.target.wants"
ln -s ../cgroup2.service "$units/multi-user.target.wants/cgroup2.service"
ln -sf /lib/systemd/system/multi-user.target "$units/default.target"
ln -sf /dev/null "$units/serial-getty@ttyS0.service"
printf '%032d\n' 1 >"$root/etc/machine-id"
ln -sf lib/systemd/systemd "$root/init"
(cd "$root" && find . | cpio --quiet -o -H newc >"$work/initrd")
rm -rf "$root"

# KVM inside a virtual machine often starts and then fails, so it is only taken where ACCEL=kvm asks for it.
echo "test-cgroup2: booting (${ACCEL:-tcg}; software emulation takes some minutes)"
cpu=max
[ "${ACCEL:-tcg}" != kvm ] || cpu=host
timeout "${LIMIT_S:-1500}" qemu-system-x86_64 -accel "${ACCEL:-tcg}" -cpu "$cpu" -smp 2 -m 5120 -nographic -no-reboot \
    -nic none -kernel "$work"/kernel/boot/vmlinuz-* -initrd "$work/initrd" \
    -append "console=ttyS0 quiet panic=-1 systemd.show_status=0 systemd.firstboot=off" \
    </dev/null >"$work/console" 2>&1 || true
tr -d '\r' <"$work/console" | sed -n '/^cgroup2:/p'
grep -q '^cgroup2: all passed' "$work/console" || { tail -n 60 "$work/console" >&2; exit 1; }
