#!/usr/bin/env bash
# horovod.sh [TENSORFLOW]: TensorFlow and Horovod, a pair that builds and trains (Python 3.11, no GPU), in .venv-horovod; for
# another TensorFlow than that of the tests (2.16 to 2.18) in .venv-horovod-TENSORFLOW. Does nothing when it is there.
# Horovod comes as source: its wheel is built once and kept in ${XDG_CACHE_HOME:-~/.cache}/horovodize; it fits only the
# Python, the TensorFlow and the machine that it was built for.
source "$(dirname "$0")/lib.sh"

pinned=2.15.1
tensorflow=${1:-$pinned}
horovod=0.28.1
requirements=scripts/horovod-requirements.txt
venv=.venv-horovod
key=$(key_of scripts/horovod.sh "$requirements")
if [[ $tensorflow != "$pinned" ]]; then
    [[ $tensorflow =~ ^2\.1[678](\.|$) ]] || fail "Horovod $horovod is built here for TensorFlow $pinned and 2.16 to 2.18: docs/versions.md"
    venv+=-$tensorflow
    building=$(mktemp)
    sed '/^$/q' "$requirements" >"$building" # what building takes; the rest is pinned for 2.15
    requirements=$building
fi
is_done "$venv/.made" "$key" && exit 0

python=$(python_exactly 11) || fail "Python 3.11 is needed for TensorFlow $tensorflow with Horovod $horovod. PYTHON=… names one."
say "Making $venv with $("$python" --version): TensorFlow $tensorflow …"
make_venv "$python" "$venv"
in_venv=$PWD/$venv/bin
"$in_venv/python" -m pip install --quiet "tensorflow-cpu==$tensorflow" --requirement "$requirements" </dev/null ||
    fail "pip could not install TensorFlow"

tags=$("$in_venv/python" -c 'import sys, sysconfig
print(f"cp{sys.version_info[0]}{sys.version_info[1]}-{sysconfig.get_platform()}")')
cache=${XDG_CACHE_HOME:-$HOME/.cache}/horovodize/horovod-$horovod-tensorflow-$tensorflow-$tags
mkdir -p "$cache" || fail "cannot write to $cache"
exec 9>"$cache/.lock" && flock 9 # one builds, others wait
wheel=$(ls "$cache"/horovod-*.whl 2>/dev/null | head -n 1)
if [[ -z $wheel ]]; then
    missing=()
    command -v cmake >/dev/null || missing+=(cmake)
    command -v g++ >/dev/null || missing+=(g++)
    command -v make >/dev/null || missing+=(make)
    headers=$("$in_venv/python" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')
    [[ -f $headers/Python.h ]] || missing+=(python3.11-dev)
    ((${#missing[@]})) && debian_packages "${missing[@]}"
    say "Building Horovod $horovod (two to ten minutes; kept in $cache) …"
    build=$(mktemp -d)
    trap 'rm -rf "$build"' EXIT
    # No build isolation: it must see this TensorFlow. That needs setuptools < 70 and wheel, which the requirements bring.
    PATH=$in_venv:$PATH HOROVOD_WITH_TENSORFLOW=1 HOROVOD_WITH_GLOO=1 HOROVOD_WITHOUT_MPI=1 HOROVOD_WITHOUT_PYTORCH=1 \
        HOROVOD_WITHOUT_MXNET=1 "$in_venv/python" -m pip wheel --no-deps --no-build-isolation --no-cache-dir \
        --wheel-dir "$build" "horovod==$horovod" </dev/null >"$build/log" 2>&1 ||
        { tail -n 60 "$build/log"; fail "Horovod did not build"; }
    mv "$build"/horovod-*.whl "$cache/" || fail "there is no wheel"
    wheel=$(ls "$cache"/horovod-*.whl | head -n 1)
else
    say "Horovod $horovod: taken from $cache"
fi
"$in_venv/python" -m pip install --quiet --no-deps "$wheel" </dev/null || fail "pip could not install Horovod"
TF_CPP_MIN_LOG_LEVEL=3 "$in_venv/python" -c 'import horovod.tensorflow as hvd; hvd.init(); assert hvd.size() == 1' ||
    fail "Horovod does not start"
mark_done "$venv/.made" "$key"
