#!/usr/bin/env bash
# Sets a fresh Debian or Ubuntu machine up: user amiral, /opt/amiral, systemd units, logrotate.
# Run as root from a checkout: deploy/vps-setup.sh. Safe to run again; it never touches /var/lib/amiral.
set -euo pipefail

here="$(cd "$(dirname "$0")/.." && pwd)"
prefix=/opt/amiral

say() { printf '%s\n' "$*"; }

if [ "$(id -u)" -ne 0 ]; then
  say "run this as root" >&2
  exit 1
fi
if ! command -v systemctl >/dev/null; then
  say "this machine has no systemd: see docs/guides/install.md" >&2
  exit 1
fi

say "packages"
apt-get update --quiet=2
apt-get install --quiet=2 --yes bubblewrap git logrotate python3 python3-venv tmux

if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  say "amiral needs Python 3.11 or later" >&2
  exit 1
fi

say "user amiral"
if ! id amiral >/dev/null 2>&1; then
  useradd --system --create-home --home-dir /home/amiral --shell /bin/bash amiral
fi

say "$prefix"
[ -x "$prefix/bin/python" ] || python3 -m venv "$prefix"
"$prefix/bin/pip" install --quiet "$here"

say "systemd units and logrotate"
install -m 644 "$here"/deploy/systemd/system/*.service /etc/systemd/system/
install -m 644 "$here/deploy/logrotate/amiral" /etc/logrotate.d/amiral
systemctl daemon-reload
systemctl enable --now amiral-guard.service amiral-hub.service

say "done: sudo -u amiral AMIRAL_HOME=/var/lib/amiral $prefix/bin/amiral doctor"
