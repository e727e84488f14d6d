#!/usr/bin/env bash
# The client's memory: over many requests, and with many long conversations open at once.
#
#   scripts/memory.sh flat [REQUESTS]                     # 200000: resident memory while they are done
#   scripts/memory.sh open [CONVERSATIONS [TOKENS]]       # 10000 of 50000: the most that was resident
#
# PREFIXBENCH names the program. Needs Linux and bash, and for `open` as many descriptors.
set -euo pipefail
cd "$(dirname "$0")/.."

what=${1:-flat}
program=${PREFIXBENCH:-target/release/prefixbench}
dir=$(mktemp -d)
server=
stop() { [ -z "$server" ] || kill "$server" 2> /dev/null || true; rm -rf "$dir"; }
trap stop EXIT
ulimit -n "$(ulimit -Hn)"

serve() {
    "$program" serve --canned "$@" > "$dir/url" 2> /dev/null &
    server=$!
    until [ -s "$dir/url" ]; do sleep 0.1; done
    url=$(cat "$dir/url")
}
run() {
    "$program" run "$dir/memory.yaml" --config "$1" --target "$url" --model m --sessions "$2" --repeat "$3" \
        --no-report --quiet --out "$dir/run" > "$dir/client.log" 2>&1 &
    client=$!
}
of() { awk -v key="$1:" '$1 == key {print $2}' "/proc/$client/status" 2> /dev/null || true; }

case $what in
flat)
    requests=${2:-200000}
    serve 32
    cat > "$dir/memory.yaml" << 'YAML'
scenario: memory
system: {generate: {tokens: 60, seed: 1}}
steps:
  - user: {text: {generate: {tokens: 20, seed: 2}}, reply: {generate: {tokens: 16, seed: 3}}}
  - user: {text: {generate: {tokens: 20, seed: 4}}, reply: {generate: {tokens: 16, seed: 5}}}
YAML
    run inline 16 "$((requests / 2))"
    echo "requests,rss_kb"
    while kill -0 "$client" 2> /dev/null; do
        rss=$(of VmRSS)
        [ -z "$rss" ] || echo "$(wc -l < "$dir/run/requests.jsonl" 2> /dev/null || echo 0),$rss"
        sleep 1
    done
    ;;
open)
    conversations=${2:-10000} tokens=${3:-50000}
    # Every answer takes a minute, so that all conversations are open, each with its request in flight.
    serve 4 --first-token-ms 60000
    cat > "$dir/memory.yaml" << YAML
scenario: memory
notes:
  history.md: {generate: {tokens: $tokens, seed: 1, kind: markdown}}
steps:
  - user: {text: Here it is., attach: [{note: history.md}], reply: {generate: {tokens: 16, seed: 3}}}
  - user: {text: And now?, reply: {generate: {tokens: 16, seed: 5}}}
YAML
    run append-only "$conversations" "$conversations"
    echo "seconds,rss_kb,sockets"
    for ((second = 0; ; second += 5)); do
        kill -0 "$client" 2> /dev/null || break
        peak=$(of VmHWM)
        [ -z "$peak" ] || echo "$second,$(of VmRSS),$(ls "/proc/$client/fd" 2> /dev/null | wc -l)"
        highest=${peak:-${highest:-0}}
        sleep 5
    done
    echo "most resident: $((highest / 1024)) MB for $(wc -l < "$dir/run/requests.jsonl") requests"
    ;;
*)
    sed -n '2,9s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
code=0
wait "$client" || code=$?
[ "$code" = 0 ] || cat "$dir/client.log"
exit "$code"
