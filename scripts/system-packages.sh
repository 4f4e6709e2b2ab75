#!/usr/bin/env bash
# Sees to it that the system's own tools, which tests use, are there: installs them through apt as
# root, and says what is missing otherwise.
set -euo pipefail
PATH="$PATH:/usr/sbin:/sbin"

missing_packages() {
  while read -r tool package; do
    command -v "$tool" >/dev/null || echo "$package"
  done <<'END'
git git
ip iproute2
unshare util-linux
bwrap bubblewrap
strace strace
tmux tmux
ps procps
chromium chromium
END
}

missing=$(missing_packages | xargs)
[[ -z "$missing" ]] && exit 0

if [[ $(id -u) -eq 0 ]] && command -v apt-get >/dev/null; then
  echo "system packages: installing $missing"
  apt-get update -qq
  # shellcheck disable=SC2086  # a list of words
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing
  missing=$(missing_packages | xargs)
  [[ -z "$missing" ]] && exit 0
fi

echo "system packages: the tests need $missing; install them (sudo apt-get install $missing)." >&2
exit 1
