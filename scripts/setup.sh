#!/usr/bin/env bash
# setup.sh [user|dev]: .venv with Horovodize in it (editable), and for `dev` what tests need. Does nothing when that is so.
source "$(dirname "$0")/lib.sh"

kind=${1:-dev}
key=$(key_of pyproject.toml constraints.txt)
# What developing needs includes what using needs.
is_done .venv/.made-dev "$key" && exit 0
[[ $kind == user ]] && is_done .venv/.made-user "$key" && exit 0

python=$(python_at_least 10) || fail "Python 3.10 or newer is needed (3.11 is what we test with). PYTHON=… names one."
if ! .venv/bin/python -c '' 2>/dev/null; then
    say "Making .venv with $("$python" --version) …"
    make_venv "$python" .venv
fi
target=.
[[ $kind == dev ]] && target='.[dev]'
say "Installing Horovodize in .venv …"
.venv/bin/python -m pip install --quiet --editable "$target" --constraint constraints.txt </dev/null || fail "pip could not install it"
mark_done ".venv/.made-$kind" "$key"
