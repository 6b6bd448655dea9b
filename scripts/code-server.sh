#!/usr/bin/env bash
# build/code-server: Visual Studio Code's server and its workbench for browsers, and beside it Chromium, to test the extension
# in as a person uses it. Does nothing when they are there. code-server comes from npm; its native parts are built once, in a
# minute or two, and kept (320 MB) in ${XDG_CACHE_HOME:-~/.cache}/horovodize.
source "$(dirname "$0")/lib.sh"

version=4.100.3 # VS Code 1.100.3; the newest for Node.js 20

node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)' 2>/dev/null || fail "Node.js 20 or newer is needed, with npm."
missing=()
command -v chromium >/dev/null || missing+=(chromium)
command -v rg >/dev/null || missing+=(ripgrep)
[[ $(fc-list 2>/dev/null) == *DejaVuSansMono* ]] || missing+=(fontconfig fonts-dejavu-core)
((${#missing[@]})) && debian_packages "${missing[@]}"

caches=${XDG_CACHE_HOME:-$HOME/.cache}/horovodize
name=code-server-$version-$(node -p '`node${process.versions.modules}-${process.platform}-${process.arch}`')-$(key_of scripts/code-server.sh)
link() { mkdir -p build && ln -sfn "$caches/$name/node_modules/code-server" build/code-server; }

mkdir -p "$caches" || fail "cannot write to $caches"
if [[ -d $caches/$name ]]; then link; exit; fi
exec 9>"$caches/code-server.lock" && flock 9 # one builds, others wait
if [[ -d $caches/$name ]]; then link; exit; fi

missing=()
command -v g++ >/dev/null || missing+=(g++)
command -v make >/dev/null || missing+=(make)
command -v python3 >/dev/null || missing+=(python3)
((${#missing[@]})) && debian_packages "${missing[@]}"
say "Building code-server $version (one to three minutes; kept in $caches/$name) …"
build=$(mktemp -d "$caches/.code-server-XXXXXX") || fail "cannot write to $caches"
trap 'rm -rf "$build"' EXIT

make_code_server() (
    set -e
    export npm_config_yes=true npm_config_audit=false npm_config_fund=false npm_config_update_notifier=false
    cd "$build"
    echo '{ "name": "code-server-for-tests", "private": true }' >package.json
    # Without scripts: its own would fetch a search program from elsewhere.
    npm install --ignore-scripts "code-server@$version"
    npm rebuild --foreground-scripts argon2
    cd node_modules/code-server/lib/vscode
    npm install --ignore-scripts --omit=dev
    # Debian's search program where the server looks for its own.
    mkdir -p node_modules/@vscode/ripgrep/bin
    ln -sf "$(command -v rg)" node_modules/@vscode/ripgrep/bin/rg
    # The native parts that the server loads.
    npm rebuild --foreground-scripts @vscode/spdlog node-pty native-watchdog
    ln -sfn node_modules node_modules.asar
    (cd bin/remote-cli && ln -sf code-linux.sh code-server)
    (cd bin/helpers && ln -sf browser-linux.sh browser.sh)
    cd extensions
    npm install --ignore-scripts --omit=dev
    cd "$build"
    HOME=$build/home XDG_CONFIG_HOME= node node_modules/code-server/out/node/entry.js --version
    rm -rf "$build/home"
)

make_code_server </dev/null >"$build.log" 2>&1 || { tail -n 60 "$build.log"; rm -f "$build.log"; fail "code-server did not build"; }
rm -f "$build.log"
mv "$build" "$caches/$name" || fail "cannot write to $caches/$name"
link
