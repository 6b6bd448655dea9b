#!/usr/bin/env bash
# test.sh [lint|types|extension|unit|workbench|training|keras3]…: sets up what tests need and runs them; all without arguments. Goes on after
# a part that failed, and ends with a table and status 1. `quick_unit`, `one_of_each` and `two_stories` are what `make test-fast`
# runs of the last four, for those who are still at work; nothing but time speaks for leaving out the rest.
source "$(dirname "$0")/lib.sh"

parts=("$@")
((${#parts[@]})) || parts=(lint types extension unit workbench training keras3)
jobs=${HOROVODIZE_TEST_JOBS:-2}
export HOROVODIZE_TF_PYTHON=$PWD/.venv-horovod/bin/python
with_keras_3=${HOROVODIZE_KERAS3_TENSORFLOW:-2.21.0} # 2.16 to 2.21
export HOROVODIZE_KERAS3_PYTHON=$PWD/.venv-horovod-$with_keras_3/bin/python
results=()
failed=()
silence=${HOROVODIZE_TEST_SILENCE:-1800} # seconds without a line after which a part is taken to hang; building Horovod takes longest
logs=build/test-logs # of each part, what it printed
mkdir -p "$logs"

# part NAME COMMAND…
part() {
    local name=$1 start=$SECONDS status
    shift
    unless_silent "$silence" "$logs/$name.txt" "$@"
    status=$?
    if ((status == 0)); then results+=("${GREEN}passed${PLAIN}  $name  $((SECONDS - start)) s")
    else results+=("${RED}FAILED${PLAIN}  $name  $((SECONDS - start)) s") failed+=("$name"); fi
}

# What a part that failed said of it, from its log: pytest's lines that name failures; else what follows each line that tells of
# some (one suite of several may have failed, and another printed its successes after it); else the end.
what_failed() {
    local log=$logs/$1.txt said
    said=$(grep -E '^(FAILED|ERROR) ' "$log") ||
        said=$(awk '/^ +[1-9][0-9]* failing|✘|error TS|: error: |Error: /{ left = 40 } left-- > 0' "$log" | head -n 160)
    printf '%s\n' "${said:-$(tail -n 80 "$log")}" | cut -c1-300
}

run() {
    printf '%s$ %s%s\n' "$DIM" "$*" "$PLAIN"
    "$@" </dev/null
}

lint() { run .venv/bin/ruff check . && run .venv/bin/ruff format --check .; }

types() { run .venv/bin/mypy; }

extension() {
    scripts/node.sh || return 1
    for script in lint check test; do run npm run --silent --workspace vscode-extension "$script" || return 1; done
    for script in lint check; do run npm run --silent --workspace website "$script" || return 1; done
}

unit() {
    # The editor tests drive real clients, those of completion real shells; the catalogue is compared with the real TensorFlow.
    command -v nvim >/dev/null || (debian_packages neovim) || return 1
    command -v emacs >/dev/null || (debian_packages emacs-nox elpa-eglot) || return 1
    command -v zsh >/dev/null && command -v fish >/dev/null || (debian_packages zsh fish) || return 1
    scripts/horovod.sh || return 1
    run .venv/bin/python -m pytest -n "$jobs" --dist loadfile --durations 15
}

# Without what tries random cases, drives other programs, or asks TensorFlow.
SLOW=(robustness editor building running diagnosing catalogue browser cli/test_completion.py)
quick_unit() {
    run .venv/bin/python -m pytest -n "$jobs" -m "not training and not keras3 and not corpus and not fuzz" "${SLOW[@]/#/--ignore=tests/}"
}

# One program of each folder of tests/programs.
one_of_each() {
    scripts/horovod.sh || return 1
    run .venv/bin/python -m pytest -m training -n "$jobs" tests/training/test_programs.py \
        -k "keras/sgd_dataset or tape/max_steps or session/minibatch_slices or monitored/stop_at_step or estimator/run_config_hooks"
}

two_stories() {
    scripts/vsix.sh && scripts/code-server.sh || return 1
    for script in lint build; do run npm run --silent --workspace tests/workbench "$script" || return 1; done
    run npm run --silent --workspace tests/workbench test -- --grep "A script that is refused|VS Code's refactor preview"
}

in_workbench() {
    local status=0
    for script in "$@"; do run npm run --silent --workspace tests/workbench "$script" || status=1; done
    return "$status"
}

workbench() {
    scripts/vsix.sh && scripts/site.sh && scripts/code-server.sh && scripts/horovod.sh || return 1
    rm -rf build/workbench-evidence build/website-evidence
    for script in lint build; do run npm run --silent --workspace tests/workbench "$script" || return 1; done
    # The stories compute on one core and wait in between: what is done in other browsers goes on beside them.
    local status=0 log=$logs/workbench-beside.txt
    in_workbench website host >"$log" 2>&1 &
    local beside=$!
    in_workbench test || status=1
    wait "$beside" || status=1
    cat "$log"
    return "$status"
}

training() {
    # Two hosts for elastic training are network namespaces.
    command -v ip >/dev/null || (debian_packages iproute2) || return 1
    scripts/horovod.sh || return 1
    run .venv/bin/python -m pytest -m training -n "$jobs" --durations 15
}

keras3() {
    # Both: what Keras 3 doesn't have is compared with what Keras 2 has.
    scripts/horovod.sh && scripts/horovod.sh "$with_keras_3" || return 1
    run .venv/bin/python -m pytest -m keras3 -n "$jobs" --durations 15 tests/training
}

for name in "${parts[@]}"; do
    case $name in
        lint) title="Lint: ruff" ;;
        types) title="Types: mypy --strict" ;;
        extension) title="VS Code extension and website: eslint, tsc, the extension's own tests" ;;
        unit) title="Unit, golden, protocol and editor tests: pytest" ;;
        workbench) title="The website in a real browser, the extension in a real workbench and a real extension host" ;;
        training) title="Training under real Horovod: pytest -m training" ;;
        quick_unit) title="Unit, golden and protocol tests, but those that take long: pytest" ;;
        one_of_each) title="A program of each kind under real Horovod" ;;
        two_stories) title="Two stories in a real workbench" ;;
        keras3) title="Training under Keras 3 (TensorFlow $with_keras_3): pytest -m keras3" ;;
        *) fail "there is no part called $name" ;;
    esac
    heading "$title"
    [[ $name == extension ]] || scripts/setup.sh dev || exit 1
    part "$name" "$name"
done

for name in "${failed[@]}"; do
    heading "What failed in $name (all of it: $logs/$name.txt)"
    what_failed "$name"
done
heading "Result"
printf '%s\n' "${results[@]}"
exit "$((${#failed[@]} > 0))"
