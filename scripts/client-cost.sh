#!/usr/bin/env bash
# What a request costs this client: time of a core, and the rate on one core, beside a load
# generator that sends the same bodies and parses nothing.
#
#   scripts/client-cost.sh [SMALL LARGE [ROUNDS]]   # requests of two runs, whose difference counts
#
# URL names a server to measure against (default: `serve --canned 32`, pinned to core 1);
# PREFIXBENCH names the program. Uses oha or wrk where there is one (OHA, WRK name them). Client and
# generator run alternately on core 0. Needs Linux, bash, taskset and curl.
set -euo pipefail
cd "$(dirname "$0")/.."

small=${1:-20000} large=${2:-200000} rounds=${3:-3}
program=${PREFIXBENCH:-target/release/prefixbench}
dir=$(mktemp -d)
server=
stop() { [ -z "$server" ] || kill "$server" 2> /dev/null || true; rm -rf "$dir"; }
trap stop EXIT
if [ -z "${URL:-}" ]; then
    taskset -c 1 "$program" serve --canned 32 > "$dir/url" 2> /dev/null &
    server=$!
    until [ -s "$dir/url" ]; do sleep 0.1; done
    URL=$(cat "$dir/url")
fi

# A conversation of one request of some sixty tokens, as the generators of the comparison send.
cat > "$dir/cost.yaml" << 'YAML'
scenario: cost
system: {generate: {tokens: 30, seed: 1}}
steps:
  - user: {text: {generate: {tokens: 30, seed: 2}}, reply: {generate: {tokens: 16, seed: 3}}}
YAML
"$program" render "$dir/cost.yaml" --config inline --format jsonl \
    | python3 -c 'import json, sys; print(json.loads(sys.stdin.readline())["body"], end="")' > "$dir/body.json"
printf 'wrk.method = "POST"\nwrk.headers["content-type"] = "application/json"\nlocal f = io.open("%s"); wrk.body = f:read("*a")\n' \
    "$dir/body.json" > "$dir/post.lua"

TIMEFORMAT='%U %S %R'
client() {
    rm -rf "$dir/run"
    { time taskset -c 0 "$program" run "$dir/cost.yaml" --config inline --target "$URL" --model m --sessions 16 \
        --repeat "$1" --no-report --quiet --out "$dir/run" > "$dir/client.log" 2>&1; } 2> "$dir/time"
    [ "$(wc -l < "$dir/run/requests.jsonl")" = "$1" ] || { cat "$dir/client.log"; exit 1; }
    cat "$dir/time"
}
oha=${OHA:-$(command -v oha || true)} wrk=${WRK:-$(command -v wrk || true)}
echo "body: $(wc -c < "$dir/body.json") bytes; load average: $(cut -d' ' -f1-3 /proc/loadavg)"
for ((round = 1; round <= rounds; round++)); do
    read -r su ss sr < <(client "$small")
    read -r lu ls lr < <(client "$large")
    awk -v n="$((large - small))" -v cpu="$(awk "BEGIN {print $lu + $ls - $su - $ss}")" -v wall="$(awk "BEGIN {print $lr - $sr}")" \
        'BEGIN {printf "prefixbench   %7.0f requests/s   %.4f ms CPU a request   %7.0f requests a second of CPU\n", n / wall, 1e3 * cpu / n, n / cpu}'
    if [ -n "$oha" ]; then
        rate=$(taskset -c 0 "$oha" --no-tui -z 5s -c 16 -m POST -T application/json -D "$dir/body.json" --output-format json \
            "$URL/chat/completions" | python3 -c 'import json, sys; print(round(json.load(sys.stdin)["summary"]["requestsPerSec"]))')
        echo "oha           $rate requests/s"
    fi
    if [ -n "$wrk" ]; then
        rate=$(taskset -c 0 "$wrk" -t1 -c16 -d5s -s "$dir/post.lua" "$URL/chat/completions" | awk '/Requests\/sec/ {print $2}')
        echo "wrk           $rate requests/s"
    fi
done
