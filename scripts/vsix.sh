#!/usr/bin/env bash
# build/horovodize.vsix: the extension for Visual Studio Code, with the server's wheel in it. Needs Node.js and Python, not TensorFlow.
source "$(dirname "$0")/lib.sh"

scripts/node.sh || exit 1
scripts/setup.sh user || exit 1
extension=vscode-extension
mkdir -p build

say "Building the server's wheel …"
rm -rf "$extension/server"
.venv/bin/python -m pip wheel --quiet --no-deps --wheel-dir "$extension/server" . </dev/null || fail "the wheel did not build"

say "Packaging the extension …"
cp LICENSE "$extension/LICENSE"
rm -rf "$extension/media/pictures"
mkdir -p "$extension/media/pictures"
for picture in script-light script-dark script-contrast fix-light preview-light distribute-light train-light; do
    cp "docs/pictures/$picture.png" "$extension/media/pictures/" || fail "docs/pictures/$picture.png is missing"
done
(
    cd "$extension" || exit 1
    node esbuild.mjs --minify && node third-party.mjs &&
        npx --no-install vsce package --no-dependencies --allow-missing-repository --no-rewrite-relative-links --out ../build/horovodize.vsix
) </dev/null >build/vsix.log 2>&1 || { cat build/vsix.log; fail "vsce could not package it"; }
say "build/horovodize.vsix: $(($(stat -c %s build/horovodize.vsix) / 1024)) KiB"
