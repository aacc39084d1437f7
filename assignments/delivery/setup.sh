#!/usr/bin/env bash
# Runs once, when the image is built. Finds or installs Python 3.11 or newer, then installs what requirements.txt names
# beside it. Any step that fails ends it with a message and a status that is not 0.
set -euo pipefail
# otter listens at localhost, which a bare root file system does not know
getent ahosts localhost >/dev/null 2>&1 || { [ -w /etc ] && echo "127.0.0.1 localhost" >>/etc/hosts; } || true
cd "$(dirname "$0")"
wanted=(python3.11 python3.12 python3.13 python3.14 python3)

usable() {
  "$1" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' > /dev/null 2>&1
}

find_python() {
  for name in "${wanted[@]}"; do
    if usable "$name"; then echo "$name"; return 0; fi
  done
  return 1
}

install_with_apt() {
  export DEBIAN_FRONTEND=noninteractive
  apt-get update
  for name in "${wanted[@]}"; do
    apt-cache show "$name-venv" > /dev/null 2>&1 || continue
    if apt-get install -y --no-install-recommends "$name" "$name-venv" && usable "$name"; then return 0; fi
  done
  return 1
}

install_python() {
  echo "setup.sh: no Python 3.11 or newer here; asking the system's package manager." >&2
  if command -v apt-get > /dev/null; then install_with_apt && return 0; fi
  if command -v dnf > /dev/null; then dnf install -y python3.12 && return 0; fi
  if command -v apk > /dev/null; then apk add python3 && return 0; fi
  echo "setup.sh: it has none; trying uv, which downloads one." >&2
  python3 -m pip install uv && python3 -m uv python install --default 3.12 && PATH="$HOME/.local/bin:$PATH"
}

python=$(find_python) || { install_python || true; python=$(find_python); } || {
  echo "setup.sh: Python 3.11 or newer with venv is needed and could not be installed." >&2
  exit 1
}
echo "setup.sh: $("$python" --version) at $(command -v "$python")"
compgen -G '*.whl' > /dev/null || tar -xf requirements.tar  # `otter grade` brings requirements.* alone
"$python" -m venv .venv
.venv/bin/python -m pip install --disable-pip-version-check --requirement requirements.txt
.venv/bin/python -c 'import leml_theory, leml_solver, simulations; print("setup.sh: ready")'
