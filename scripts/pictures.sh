#!/usr/bin/env bash
# docs/pictures: what the product looks like, taken in the workbench that the tests use. Looks of their own (dark, high contrast) are
# left in build/pictures, to be looked at.
source "$(dirname "$0")/lib.sh"

command -v pngquant >/dev/null || (debian_packages pngquant) || exit 1
scripts/setup.sh dev && scripts/vsix.sh && scripts/code-server.sh && scripts/horovod.sh || exit 1
rm -rf build/pictures
for script in build pictures; do npm run --silent --workspace tests/workbench "$script" </dev/null || fail "the pictures could not be taken"; done
mkdir -p docs/pictures
for picture in build/pictures/*.png; do
    name=$(basename "$picture")
    [[ $name == *-light.png || $name == script-* ]] || continue
    pngquant --force --strip --speed 1 --output "docs/pictures/$name" 64 "$picture" || fail "pngquant failed"
done
ls -l docs/pictures
