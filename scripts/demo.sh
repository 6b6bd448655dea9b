#!/usr/bin/env bash
# What Horovodize does, on the scripts in examples/.
source "$(dirname "$0")/lib.sh"

scripts/setup.sh user || exit 1
PATH=$PWD/.venv/bin:$PATH
colors=always # this is to be looked at, also through a pipe
[[ -n ${NO_COLOR:-} || ${TERM:-} == dumb ]] && colors=never
out=build/demo

show() {
    printf '\n%s$ %s%s\n' "$BOLD" "$*" "$PLAIN"
    "$@" --color "$colors" </dev/null
}

# expect STATUS COMMAND…: shows a command and insists on its exit status.
expect() {
    local wanted=$1 status
    shift
    show "$@" 2>&1
    status=$?
    ((status == wanted)) || fail "exit status $status where $wanted was expected"
}

heading "1. Which scripts train, and how?"
expect 0 horovodize summary examples

heading "2. Does anything stand in the way of distributing them?"
expect 0 horovodize check examples/keras_fit.py examples/gradient_tape.py

heading "3. Distribute with Horovod: every change with its reason"
expect 0 horovodize distribute examples/keras_fit.py
expect 0 horovodize distribute examples/gradient_tape.py
expect 0 horovodize distribute examples/session.py

heading "4. What it cannot do, it refuses, and says why"
expect 1 horovodize distribute examples/mirrored.py

heading "5. Train on two processes"
mkdir -p "$out"
for name in keras_fit gradient_tape session monitored_session estimator; do
    expect 0 horovodize distribute "examples/$name.py" --output "$out/$name.py"
done
cat <<END

The distributed scripts are in $out. Where TensorFlow and Horovod are installed, this trains one on two processes
(\`make training\` installs the pair in .venv-horovod and runs this and much more):

    ${BOLD}horovodrun -np 2 python $out/keras_fit.py${PLAIN}
END
