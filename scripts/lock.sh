#!/usr/bin/env bash
# Writes requirements.lock: everything pinned with hashes, for every platform, with no index address.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ ! -x build/lock/bin/uv ]]; then
  "${PYTHON:-python3}" -m venv --clear build/lock
  build/lock/bin/python -m pip install -q --disable-pip-version-check uv
fi
build/lock/bin/uv pip compile pyproject.toml --group dev --universal --python-version 3.11 \
  --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --no-annotate \
  --quiet "$@" --output-file requirements.lock
echo "lock: $(grep -c '==' requirements.lock) packages pinned"
