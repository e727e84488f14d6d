#!/usr/bin/env bash
# Runs hundreds of streams for a long time against a server that resets, hangs, cuts and refuses,
# and checks that no record is lost and that neither memory, threads nor sockets grow.
#
#   scripts/soak.sh [MINUTES [STREAMS]]        # 30 and 500 unless said otherwise
#
# PREFIXBENCH names the program (target/release/prefixbench), SOAK_DIR the folder for the run, the
# samples and the server's log (a fresh one that is removed in the end). Needs Linux, bash and curl.
set -euo pipefail
cd "$(dirname "$0")/.."

minutes=${1:-30}
streams=${2:-500}
program=${PREFIXBENCH:-target/release/prefixbench}
dir=${SOAK_DIR:-$(mktemp -d)}
[ -n "${SOAK_DIR:-}" ] || trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir"
ulimit -n "$(ulimit -Hn)"

# An answer takes a second; a hanging one is given up after five.
"$program" serve --canned 32 --first-token-ms 1000 \
    --fault 429:17 --fault 503:53 --fault cut:29 --fault reset:31 --fault hang:211 \
    > "$dir/url" 2> "$dir/server.log" &
server=$!
stop() { kill "$server" 2> /dev/null || true; wait "$server" 2> /dev/null || true; }
trap 'stop; [ -n "${SOAK_DIR:-}" ] || rm -rf "$dir"' EXIT
until [ -s "$dir/url" ]; do sleep 0.1; done
url=$(cat "$dir/url")

{
    echo "scenario: soak"
    echo "system: {generate: {tokens: 60, seed: 1}}"
    echo "steps:"
    for turn in 1 2 3 4 5 6 7 8 9 10; do
        echo "  - user: {text: {generate: {tokens: 20, seed: $((turn + 1))}}, reply: {generate: {tokens: 16, seed: $((turn + 50))}}}"
    done
} > "$dir/soak.yaml"

# Ten turns of about a second, and what failed and was tried again: some twelve seconds.
repeat=$((minutes * 60 * streams / 12))
[ "$repeat" -ge "$streams" ] || repeat=$streams
start=$(date +%s)
"$program" run "$dir/soak.yaml" --config inline --target "$url" --model m --sessions "$streams" \
    --repeat "$repeat" --timeout 5 --retries 1 --no-report --quiet --out "$dir/run" 2> "$dir/client.log" &
client=$!

# Resident memory in kB, threads, descriptors, and of these sockets, every five seconds.
echo "seconds,rss_kb,threads,descriptors,sockets" > "$dir/samples.csv"
while kill -0 "$client" 2> /dev/null; do
    rss=$(awk '/^VmRSS:/ {print $2}' "/proc/$client/status" 2> /dev/null || true)
    threads=$(awk '/^Threads:/ {print $2}' "/proc/$client/status" 2> /dev/null || true)
    open=$(ls -l "/proc/$client/fd" 2> /dev/null || true)
    [ -z "$rss" ] || echo "$(($(date +%s) - start)),$rss,$threads,$(grep -c ' -> ' <<< "$open"),$(grep -c socket: <<< "$open" || true)" \
        >> "$dir/samples.csv"
    sleep 5
done
code=0
wait "$client" || code=$?
served=$(curl -s "${url%/v1}/stats" | grep -o '"requests":[0-9]*' | cut -d: -f2)

awk -v served="$served" -v code="$code" -v streams="$streams" '
    FNR == NR { records++; match($0, /"outcome":"[a-z0-9_]*"/); seen[substr($0, RSTART + 11, RLENGTH - 12)]++; next }
    FNR > 1 { split($0, field, ","); n++; rss[n] = field[2]; threads[n] = field[3]; sockets[n] = field[5] }
    function median(list, from, to,    i, j, kept, m) {
        for (i = from; i <= to; i++) kept[++m] = list[i]
        for (i = 2; i <= m; i++) for (j = i; j > 1 && kept[j - 1] > kept[j]; j--) { t = kept[j]; kept[j] = kept[j - 1]; kept[j - 1] = t }
        return kept[int((m + 1) / 2)]
    }
    END {
        printf "records %d, requests that the server counted %d\n", records, served
        for (name in seen) printf "  %s %d\n", name, seen[name]
        a = int(n / 4) + 1; b = int(n / 2); c = int(3 * n / 4) + 1
        early = median(rss, a, b > a ? b : a); late = median(rss, c > n ? n : c, n)
        printf "resident memory: %.1f MB in the second quarter, %.1f MB in the last\n", early / 1024, late / 1024
        printf "threads: %d and %d; sockets: %d and %d\n", median(threads, a, b > a ? b : a), median(threads, c > n ? n : c, n), median(sockets, a, b > a ? b : a), median(sockets, c > n ? n : c, n)
        bad = 0
        if (code != 0) { printf "FAILED: the client ended with %d\n", code; bad = 1 }
        if (records != served) { print "FAILED: records were lost, or there are too many"; bad = 1 }
        if (late > early * 1.1 + 4096) { print "FAILED: memory grows"; bad = 1 }
        if (median(sockets, c > n ? n : c, n) > 2 * streams + 16) { print "FAILED: sockets leak"; bad = 1 }
        if (!bad) print "passed"
        exit bad
    }' "$dir/run/requests.jsonl" "$dir/samples.csv"
