#!/usr/bin/env bash
# The packages of package-lock.json in node_modules. Does nothing when they are there.
source "$(dirname "$0")/lib.sh"

key=$(key_of package-lock.json)
is_done node_modules/.made "$key" && exit 0
node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)' 2>/dev/null || fail "Node.js 20 or newer is needed, with npm."
say "Installing the packages of package-lock.json …"
npm ci --silent --no-audit --no-fund </dev/null || fail "npm could not install them"
mark_done node_modules/.made "$key"
