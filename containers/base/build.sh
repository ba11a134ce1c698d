#!/bin/sh
# Writes a Debian 12 root file system as a tar, for places without an image registry.
#
#   containers/base/build.sh OUT.tar
#
# Needs root and debootstrap. The package mirror, its key ring and the proxy are those that apt on this
# machine already uses; POOLLAB_MIRROR names another mirror, for a machine that is not Debian 12 itself.
# POOLLAB_INCLUDE adds packages, separated by commas.
set -eu
out=$1
suite=bookworm

fail() { echo "containers/base: $1" >&2; exit 2; }

[ "$(id -u)" = 0 ] || fail "the offline base image needs root: run \`sudo make images\` once"
command -v debootstrap >/dev/null || fail "debootstrap is missing: apt-get install debootstrap"

# shellcheck disable=SC2016 # the dollar names are apt's, not the shell's
targets='$(CODENAME) $(ORIGIN) $(COMPONENT) $(REPO_URI)'
mirror=${POOLLAB_MIRROR:-$(apt-get indextargets --format "$targets" 'Created-By: Packages' 2>/dev/null |
    awk -v suite="$suite" '$1 == suite && $2 == "Debian" && $3 == "main" { print $4; exit }')}
[ -n "$mirror" ] || fail "apt on this machine knows no Debian $suite: set POOLLAB_MIRROR to a Debian mirror"

keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -s "$keyring" ] || fail "$keyring is missing: apt-get install debian-archive-keyring"

# debootstrap fetches with wget, which knows nothing of apt's own proxy setting.
proxy=
eval "$(apt-config shell proxy Acquire::http::Proxy)"
if [ -n "$proxy" ] && [ "$proxy" != DIRECT ]; then http_proxy=${http_proxy:-$proxy}; export http_proxy; fi

work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 130' INT TERM HUP
if ! debootstrap --variant=minbase --include="python3${POOLLAB_INCLUDE:+,$POOLLAB_INCLUDE}" --keyring="$keyring" "$suite" \
    "$work/root" "$mirror" >"$work/log" 2>&1
then
    tail -n 3 "$work/log" >&2
    fail "debootstrap failed (last lines above); is the package mirror of apt reachable?"
fi
# Nothing is installed later, so package lists, archives, manuals and this machine's mirror stay out.
rm -rf "$work"/root/var/cache/apt/* "$work"/root/var/lib/apt/lists/* "$work"/root/usr/share/doc/* \
    "$work"/root/usr/share/man/* "$work"/root/usr/share/locale/* "$work"/root/etc/apt/sources.list
tar --numeric-owner -C "$work/root" -cf "$out" .
