#!/usr/bin/env bash
# Makes a small run that has what the example lacks (two priced targets, repeats, load levels,
# failures, breaks with advice), recomputes its numbers, and makes sure that a wrong one is noticed.
#
#     scripts/recompute-small.sh PROGRAM
#
# PROGRAM is prefixbench; both targets are embedded servers on loopback. A few seconds.
set -euo pipefail
program=$(realpath "$1")
here=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
servers=()
finish() {
  for server in "${servers[@]}"; do kill "$server" 2>/dev/null || true; done
  rm -rf "$folder"
}
trap finish EXIT

# Starts a server with these flags, and waits for its address: into $url.
serve() {
  local said=$folder/server-${#servers[@]}
  "$program" serve "$@" >"$said" 2>"$said.log" &
  servers+=($!)
  for _ in $(seq 100); do
    url=$(grep -m1 '^http' "$said" || true)
    [ -z "$url" ] || return 0
    sleep 0.1
  done
  cat "$said.log" >&2
  return 1
}

serve --profile openai --prefill 200000 --decode 0
first=$url
serve --context 4096 --fault no-usage:23 --prefill 100000 --decode 0
second=$url
cat >"$folder/targets.yaml" <<EOF
targets:
  alpha:
    url: $first
    dialect: openai-chat
    model: embedded
    cache_model: "steps:128,min=1024"
    prices: {input: 2.00, read: 0.10, write: 2.50, output: 10}
  beta:
    url: $second
    dialect: openai-chat
    model: embedded
    cache_model: blocks:16
    prices: {input: 1.00, read: 0.10, output: 5}
EOF
# Requests fail on purpose: what counts is that there is a run.
cat >"$folder/plan.yaml" <<EOF
plan: small
scenarios: [$here/scenarios/quickstart.yaml]
config: [inline, dev, append-only]
targets: [alpha, beta]
sessions: [1, 4]
repeat: 6
EOF
"$program" run --yes --plan "$folder/plan.yaml" --targets "$folder/targets.yaml" --outside-folder \
  --out "$folder/run" >"$folder/said" 2>&1 || [ -s "$folder/run/report.html" ] || {
  cat "$folder/said" >&2
  exit 1
}
python3 "$here/scripts/recompute.py" "$folder/run"

# A number in each kind of place, changed by hand.
page=$folder/run/report.html
cp "$page" "$folder/true.html"
changed() {
  cp "$folder/true.html" "$page"
  python3 - "$page" "$1" <<'EOF'
import pathlib
import re
import sys

page, place = pathlib.Path(sys.argv[1]), sys.argv[2]
text = page.read_text(encoding="utf-8")
# The last digit of the first number behind the place.
found = re.search(place + r"[^\d]*[\d,.]*(\d)", text, re.DOTALL)
if not found:
    sys.exit(f"nothing to change at {place}")
other = str((int(found[1]) + 3) % 10)
page.write_text(text[:found.start(1)] + other + text[found.end(1):], encoding="utf-8")
EOF
  if python3 "$here/scripts/recompute.py" "$folder/run" >/dev/null 2>&1; then
    echo "a wrong number behind \`$1\` is not noticed" >&2
    exit 1
  fi
}
changed '<h1>[^<]*per conversation'
changed '<h1>[^<]*95 % interval'
changed 'id="evidence">.*?<li>'
changed '<span class="lost">'
changed '<li>dev: Move [^:]*: keeps'
changed 'data-table="differences".*?\['
echo 'wrong numbers are noticed'
