#!/usr/bin/env bash
# Makes .venv from requirements.lock and installs the project into it; safe to run again.
set -euo pipefail
cd "$(dirname "$0")/.."

PYTHON=${PYTHON:-python3}

fail() {
  echo "setup: $*" >&2
  exit 1
}

command -v "$PYTHON" >/dev/null || fail "$PYTHON is not there: install Python 3.11 or newer, or set PYTHON."
"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
  fail "$("$PYTHON" --version) is too old: amiral needs 3.11 or newer. Set PYTHON to a newer one."

if ! "$PYTHON" -c 'import ensurepip, venv' 2>/dev/null; then
  if [[ $(id -u) -eq 0 ]] && command -v apt-get >/dev/null; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv
  else
    fail "$PYTHON has no venv: install the package python3-venv (sudo apt-get install python3-venv)."
  fi
fi

# A virtual environment that was moved or half made is made anew.
if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
  "$PYTHON" -m venv --clear .venv
fi

.venv/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements.lock
.venv/bin/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
echo "setup: .venv is ready; try .venv/bin/amiral --help"
