#!/usr/bin/env bash
# horovod.sh [TENSORFLOW]: TensorFlow and Horovod, a pair that builds and trains (Python 3.11, no GPU), in .venv-horovod; for
# another TensorFlow than 2.15.1 (2.16 to 2.21) in .venv-horovod-TENSORFLOW. Does nothing when it is there.
# `horovodize build-horovod` builds Horovod's wheel once and keeps it in ${XDG_CACHE_HOME:-~/.cache}/horovodize.
source "$(dirname "$0")/lib.sh"

pinned=2.15.1
tensorflow=${1:-$pinned}
requirements=scripts/horovod-requirements.txt
venv=.venv-horovod
if [[ $tensorflow != "$pinned" ]]; then
    [[ $tensorflow =~ ^2\.(1[6-9]|2[01])(\.|$) ]] || fail "Horovod is built here for TensorFlow $pinned and 2.16 to 2.21: docs/versions.md"
    venv+=-$tensorflow
    own=scripts/horovod-requirements-$tensorflow.txt
    if [[ -f $own ]]; then requirements=$own
    else
        some=$(mktemp)
        sed '/^$/q' "$requirements" >"$some" # what building takes; the rest is pinned for 2.15
        echo tensorboard >>"$some"           # TensorFlow 2.21 no longer brings it
        requirements=$some
    fi
fi
key=$(key_of scripts/horovod.sh "$requirements")
is_done "$venv/.made" "$key" && exit 0

python=$(python_exactly 11) || fail "Python 3.11 is needed for TensorFlow $tensorflow with Horovod. PYTHON=… names one."
say "Making $venv with $("$python" --version): TensorFlow $tensorflow …"
make_venv "$python" "$venv"
in_venv=$PWD/$venv/bin
"$in_venv/python" -m pip install --quiet "tensorflow-cpu==$tensorflow" --requirement "$requirements" </dev/null ||
    fail "pip could not install TensorFlow"

# The recipe is the product's own. This Python runs it, since all it takes is the standard library.
build() { PYTHONPATH=$PWD/server "$in_venv/python" -m horovodize build-horovod --python "$in_venv/python" "$@" </dev/null; }
mapfile -t missing < <(build --list-missing)
((${#missing[@]})) && debian_packages "${missing[@]}"
wheel=$(build) || fail "Horovod did not build"
"$in_venv/python" -m pip install --quiet --no-deps "$wheel" </dev/null || fail "pip could not install Horovod"
TF_CPP_MIN_LOG_LEVEL=3 "$in_venv/python" -c 'import horovod.tensorflow as hvd; hvd.init(); assert hvd.size() == 1' ||
    fail "Horovod does not start"
mark_done "$venv/.made" "$key"
