# Shared by the scripts of this folder: where things are installed, and how to wait.
# Sourced, not run.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
# Everything that is downloaded or made goes below this folder and nowhere else.
cache=${PREFIXBENCH_CACHE:-$root/.cache/real-servers}

say() { printf '%s\n' "$*" >&2; }

# wait_for URL SECONDS PID: until URL answers with success, or PID is gone, or time is up.
wait_for() {
  local url=$1 left=$2 pid=$3
  while ((left > 0)); do
    if curl -fsS -o /dev/null --max-time 2 "$url" 2>/dev/null; then return 0; fi
    if ! kill -0 "$pid" 2>/dev/null; then say "the server ended before it answered at $url"; return 1; fi
    sleep 1
    left=$((left - 1))
  done
  say "no answer at $url in time"
  return 1
}

# make_venv NAME PACKAGE...: a virtual environment with these packages, made once.
make_venv() {
  local name=$1
  shift
  local venv=$cache/$name stamp
  stamp=$(printf '%s\n' "$@")
  if [[ -f $venv/installed && $(cat "$venv/installed") == "$stamp" ]]; then return 0; fi
  say "installing $* into $venv"
  rm -rf "$venv"
  mkdir -p "$cache"
  python3 -m venv "$venv"
  "$venv/bin/pip" install -q --disable-pip-version-check "$@" >&2
  printf '%s' "$stamp" >"$venv/installed"
}
