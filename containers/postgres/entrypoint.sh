#!/bin/sh
# Starts a fresh Postgres server, socket only; arguments are settings as the server takes them (-c name=value).
#
# Not the official entry point: that one serves connections from a temporary server while it initialises,
# which looks ready and then goes away. Here the only server that ever listens is the final one.
#
#   POOLLAB_LIFETIME_S   seconds after which the server ends by itself, so that none is forgotten
set -eu
data=/var/lib/postgresql/data/cluster
for bin in /opt/poollab-server/*/pginstall/bin /usr/lib/postgresql/*/bin /usr/local/bin /usr/bin; do
    if [ -x "$bin/initdb" ] && [ -x "$bin/postgres" ]; then break; fi
done
[ -x "$bin/initdb" ] || { echo "poollab: the image holds no Postgres server" >&2; exit 2; }

if [ ! -s "$data/PG_VERSION" ]; then
    # Trust is enough: only the two sides can reach the socket's folder.
    "$bin/initdb" --pgdata="$data" --username=postgres --auth=trust --encoding=UTF8 --locale=C \
        --no-sync --no-instructions >/dev/null
fi
exec timeout --signal=INT --kill-after=30 "${POOLLAB_LIFETIME_S:-86400}" "$bin/postgres" -D "$data" "$@"
