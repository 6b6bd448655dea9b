#!/usr/bin/env bash
# The wheel in Pythons 3.10, 3.12 and 3.13: those of Pyodide, which npm has, so that nothing has to be built. (All tests run in 3.11.)
source "$(dirname "$0")/lib.sh"

[[ -x .venv/bin/python ]] || scripts/setup.sh dev || exit 1
rm -rf build/pythons/wheels
mkdir -p build/pythons/wheels
.venv/bin/python -m hatchling build -t wheel -d build/pythons/wheels >/dev/null 2>&1 || fail "the wheel did not build"
wheel=$(echo build/pythons/wheels/horovodize-*.whl)
# What the wheel needs: shtab, and tomli on Python 3.10, of which 2.2 was the last for any platform.
.venv/bin/python -m pip download --quiet --no-deps --only-binary :all: --platform any --python-version 3.10 \
    --dest build/pythons/wheels "$(grep '^shtab' constraints.txt)" 'tomli<2.3' </dev/null || fail "pip could not download what it needs"
failed=0
for version in 0.22.1 0.27.7 0.28.3; do
    folder=build/pythons/$version
    if [[ ! -d $folder/node_modules/pyodide ]]; then
        mkdir -p "$folder" && echo '{"private": true}' >"$folder/package.json"
        (cd "$folder" && npm install --silent --no-save --ignore-scripts "pyodide@$version") </dev/null || fail "npm could not install pyodide"
    fi
    node scripts/pythons.mjs "$folder/node_modules/pyodide" "$wheel" tests/programs/tape/exclusive_modes.py \
        build/pythons/wheels/shtab-*.whl build/pythons/wheels/tomli-*.whl 2>build/pythons/errors.txt ||
        { failed=1; cut -c1-200 build/pythons/errors.txt | tail -n 20; say "Pyodide $version: the wheel does NOT work"; }
done
exit "$failed"
