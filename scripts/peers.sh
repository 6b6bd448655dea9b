#!/usr/bin/env bash
# build/peers: the language servers that `make bench` compares ours with, of the versions in tests/bench/peers. Does nothing
# when they are there. They are kept (150 MB) in ${XDG_CACHE_HOME:-~/.cache}/horovodize.
source "$(dirname "$0")/lib.sh"

lists=tests/bench/peers
caches=${XDG_CACHE_HOME:-$HOME/.cache}/horovodize
python=$(python_at_least 10) || fail "Python 3.10 or newer is needed. PYTHON=… names one."
name=peers-$("$python" -c 'import sys; print("py%d%d" % sys.version_info[:2])')-$(key_of "$lists"/*)
link() { mkdir -p build && ln -sfn "$caches/$name" build/peers; }

mkdir -p "$caches" || fail "cannot write to $caches"
if [[ -f $caches/$name/.made ]]; then link; exit; fi
exec 9>"$caches/peers.lock" && flock 9 # one makes them, others wait
if [[ -f $caches/$name/.made ]]; then link; exit; fi
node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)' 2>/dev/null || fail "Node.js 20 or newer is needed, with npm."

say "Installing the language servers to compare with (kept in $caches/$name) …"
made=$caches/$name # programs in a virtual environment name their place: it is made where it stays
rm -rf "$made"
make_venv "$python" "$made"
"$made/bin/python" -m pip install --quiet --requirement "$lists/requirements.txt" --constraint "$lists/constraints.txt" </dev/null ||
    fail "pip could not install them"
cp "$lists/package.json" "$lists/package-lock.json" "$made/"
(cd "$made" && npm ci --silent --no-audit --no-fund </dev/null) || fail "npm could not install pyright"
mark_done "$made/.made" "$name"
link
