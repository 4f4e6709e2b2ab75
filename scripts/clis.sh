#!/usr/bin/env bash
# Installs the agent CLIs of clis/package-lock.json and checks that each is the release pinned:
# npm may take an older one in silence when the node it runs on is older than a release wants.
set -euo pipefail
cd "$(dirname "$0")/../clis"

fail() {
  echo "clis: $*" >&2
  exit 1
}

command -v npm >/dev/null || fail "npm is not there: install node 20 or newer with npm."

checked=node_modules/.lock.checked
if ! cmp -s package-lock.json "$checked"; then
  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
fi

# Without its install script Claude Code leaves a placeholder where its program belongs; the program
# itself lies in the optional package for this platform.
for program in node_modules/@anthropic-ai/claude-code-*/claude; do
  if "$program" --version >/dev/null 2>&1; then
    ln -sfn "../${program#node_modules/}" node_modules/.bin/claude
  fi
done

home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT

check() {
  local cli=$1 package=$2 pinned said
  pinned=$(node -p "require('./package.json').dependencies['$package']")
  said=$(env -i PATH="$PATH" HOME="$home" "node_modules/.bin/$cli" --version 2>/dev/null) ||
    fail "$cli does not start; remove clis/node_modules and run make clis again."
  [[ " $said " == *" $pinned "* ]] ||
    fail "$cli says '$said' and clis/package.json pins $pinned; remove clis/node_modules and run make clis again."
  echo "clis: $cli $pinned"
}

check claude @anthropic-ai/claude-code
check codex @openai/codex
cp package-lock.json "$checked"
