#!/usr/bin/env bash
# Runs a small scenario against a real llama.cpp server and checks what came back.
#
#   scripts/real-servers/smoke.sh [PROGRAM]
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

program=$(realpath "${1:-$root/target/release/prefixbench}")
# A free port, unless one is given.
port=${SMOKE_PORT:-$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')}
"$here/llama.sh" install
work=$(mktemp -d)
"$here/llama.sh" serve "$port" --slots 1 >"$work/server.log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
wait_for "http://127.0.0.1:$port/health" 120 "$server" || { cat "$work/server.log" >&2; exit 1; }

"$program" run "$root/scenarios/smoke.yaml" --config dev,append-only --target "http://127.0.0.1:$port/v1" \
  --model smollm2 --cache-model slots:1,ram=0 --max-tokens 8 --out "$work/run"
python3 "$here/smoke_check.py" "$work/run"
