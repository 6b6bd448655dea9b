#!/usr/bin/env bash
# fuzz.sh [TIMES] [PYTEST OPTIONS…]: tries the properties of tests/robustness with new cases, TIMES (100) as many as the tests
# do, and says how many there were. Goes on after a failure, which ends with status 1. 100 times take an hour or more.
source "$(dirname "$0")/lib.sh"

export HOROVODIZE_FUZZ=${1:-100}
exec nice .venv/bin/python -m pytest -m fuzz --timeout 0 -q "${@:2}" tests/robustness
