# Shared by the scripts beside it: messages, Debian packages, Pythons, and doing work only once. To be sourced.

set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
unset MAKEFLAGS MFLAGS MAKELEVEL # builds in here are not part of this make
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PYTHONDONTWRITEBYTECODE=

if [[ -t 1 && -z ${NO_COLOR:-} ]]; then BOLD=$'\e[1m' DIM=$'\e[2m' RED=$'\e[31m' GREEN=$'\e[32m' PLAIN=$'\e[0m'
else BOLD='' DIM='' RED='' GREEN='' PLAIN=''; fi

heading() { printf '\n%s== %s ==%s\n' "$BOLD" "$*" "$PLAIN"; }
say() { printf '%s\n' "$*"; }
fail() { printf '%s%s%s\n' "$RED" "$*" "$PLAIN" >&2; exit 1; }

# debian_packages NAME…: installs with apt-get, says so; fails with what to do where that is not possible.
debian_packages() {
    local root=()
    if [[ $(id -u) != 0 ]]; then root=(sudo -n); fi
    if ! command -v apt-get >/dev/null || { ((${#root[@]})) && ! sudo -n true 2>/dev/null; }; then
        fail "Please install these packages (Debian's names), then try again: $*"
    fi
    say "Installing with apt-get: $*"
    {
        "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq &&
            "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
    } </dev/null >/dev/null || fail "apt-get could not install: $*"
}

# python_at_least MINOR, python_exactly MINOR: the command of a Python 3.MINOR that works. $PYTHON comes first, then the
# system's own (Debian optimizes it by profiles: a fifth faster than what pyenv builds), those first that have all that
# virtual environments and building take.
python_at_least() { _python "sys.version_info[:2] >= (3, $1)" /usr/bin/python3.11 python3.11 python3 python3.12 python3.13 python3.10; }
python_exactly() { _python "sys.version_info[:2] == (3, $1)" "/usr/bin/python3.$1" "python3.$1" python3; }
_python() {
    local version=$1 whole='__import__("ensurepip") and os.path.exists(sysconfig.get_path("include") + "/Python.h")'
    shift
    _first_python "$version" ${PYTHON:-} || _first_python "$version and $whole" "$@" || _first_python "$version" "$@"
}
_first_python() {
    local condition=$1 candidate
    shift
    for candidate; do
        if "$candidate" -c "import os, sys, sysconfig; sys.exit(not ($condition))" 2>/dev/null; then
            "$candidate" -c 'import sys; print(sys.executable)'
            return
        fi
    done
    return 1
}

# make_venv PYTHON FOLDER: an empty virtual environment. Debian keeps what that takes in a package of its own.
make_venv() {
    local version
    version=$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    "$1" -c 'import ensurepip, venv' 2>/dev/null || debian_packages "python$version-venv"
    rm -rf "$2"
    "$1" -m venv "$2" || fail "could not make $2 with $1"
}

# key_of FILE…: changes when one of the files does.
key_of() { cat "$@" | sha256sum | cut -c1-16; }

# is_done STAMP KEY; mark_done STAMP KEY
is_done() { [[ -f $1 && $(<"$1") == "$2" ]]; }
mark_done() { printf '%s\n' "$2" >"$1"; }

# unless_silent SECONDS LOG COMMAND…: runs it, with what it prints in a log as well, and ends it with all that it started when it prints
# nothing for so long: its status is 124 then, and the log's last line says why. A slow machine prints slowly, but it prints.
unless_silent() {
    local limit=$1 log=$2 child
    shift 2
    : >"$log"
    set -m # a process group of its own
    { "$@" 2>&1 | tee "$log"; exit "${PIPESTATUS[0]}"; } </dev/null &
    child=$!
    set +m
    trap 'kill -TERM -- "-$child" 2>/dev/null; exit 130' INT TERM
    while kill -0 "$child" 2>/dev/null; do
        if (($(date +%s) - $(date -r "$log" +%s) > limit)); then
            kill -TERM -- "-$child" 2>/dev/null
            sleep 3
            kill -KILL -- "-$child" 2>/dev/null
            wait "$child" 2>/dev/null
            trap - INT TERM
            say "ERROR it printed nothing for $limit s, so it was ended; the lines above are its last" | tee -a "$log"
            return 124
        fi
        sleep 0.2
    done
    wait "$child"
    local status=$?
    trap - INT TERM
    return "$status"
}
