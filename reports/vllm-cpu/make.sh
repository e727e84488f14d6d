#!/usr/bin/env bash
# Repeats the runs of this folder: vLLM on a CPU with the small models that vllm.sh makes, LiteLLM
# in front of it, and llama.cpp. An hour and a half on two cores. Writes beside itself.
#
#   reports/vllm-cpu/make.sh [PROGRAM] [FOLDER]     (target/release/prefixbench, this folder)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
program=$(realpath "${1:-target/release/prefixbench}")
out=${2:-$here}
servers=scripts/real-servers
models=${PREFIXBENCH_CACHE:-.cache/real-servers}/models
running=()

stop() { for one in "${running[@]}"; do kill "$one" 2>/dev/null || true; done; wait; running=(); }
trap stop EXIT

# up URL SECONDS: until it answers.
up() {
  for ((left = $2; left > 0; left--)); do
    if curl -fsS -o /dev/null --max-time 2 "$1" 2>/dev/null; then return 0; fi
    sleep 1
  done
  echo "no answer at $1" >&2
  return 1
}

vllm() {
  "$servers/vllm.sh" serve "$@" >"$out/vllm.log" 2>&1 &
  running+=($!)
  up http://127.0.0.1:18000/health 600
}

scenarios=()
for name in quickstart s04-special-variables s05-prompt-prefix s06-artifacts s08-memory s19-tool-loop; do
  scenarios+=("scenarios/$name.yaml")
done
five=(--config inline,dev,layered,turn-context,append-only)
direct=(--target http://127.0.0.1:18000/v1 --model tiny)
tokenizer=$models/chain/tokenizer.json
rm -rf "$out"/{chat,anthropic,litellm,litellm-anthropic,random,random-live}
rm -rf "$out"/{library,library-file,library-litellm,library-litellm-anthropic,library-random,library-small,llama}

# slim NAME: what shows every difference, without texts and pictures.
slim() {
  rm -rf "$out/$1"/{charts,report.html,requests.jsonl,spans.jsonl,bounds.jsonl,summary.json}
}

# sample SEED: a tenth of the library.
sample() { python3 "$here/sample.py" "$1" scenarios; }

all=--config=inline,dev,lever-off,parts,turn-context,layered,copilot-3.1,copilot-4,append-only

vllm chain 18000 32
# Tokens counted by the server's own /tokenize.
"$program" run "${scenarios[@]}" "${five[@]}" "${direct[@]}" --repeat 3 --out "$out/chat"
# Tokens counted with the model's tokenizer.json and chat template.
"$program" run "${scenarios[@]}" "${five[@]}" "${direct[@]}" --repeat 3 --dialect anthropic \
  --tokenizer "$tokenizer" --out "$out/anthropic"
# Every scenario, in every configuration, tokens counted by /tokenize; and in the usual five, tokens
# counted with tokenizer.json and its template. The rests of three days are cut short and flagged.
"$program" run scenarios "$all" "${direct[@]}" --longest-idle 0 --out "$out/library"
"$program" run scenarios "${five[@]}" "${direct[@]}" --longest-idle 0 --tokenizer "$tokenizer" \
  --out "$out/library-file"
slim library
slim library-file

"$servers/litellm.sh" serve 14000 >"$out/litellm.log" 2>&1 &
running+=($!)
up http://127.0.0.1:14000/health/liveliness 120
# The proxy hides what is behind it, so that has to be said.
behind=(--target http://127.0.0.1:14000/v1 --model tiny --isolate-by salt --tokenizer "$tokenizer"
  --cache-model blocks:32,capacity=32768 --metrics http://127.0.0.1:18000/metrics)
export PREFIXBENCH_API_KEY=sk-local
"$program" run scenarios/quickstart.yaml "${five[@]}" "${behind[@]}" --out "$out/litellm"
"$program" run scenarios/quickstart.yaml "${five[@]}" "${behind[@]}" --dialect anthropic \
  --out "$out/litellm-anthropic"
mapfile -t scenarios < <(sample 1)
"$program" run "${scenarios[@]}" "${five[@]}" "${behind[@]}" --out "$out/library-litellm"
"$program" run "${scenarios[@]}" "${five[@]}" "${behind[@]}" --dialect anthropic \
  --out "$out/library-litellm-anthropic"
slim library-litellm
slim library-litellm-anthropic
unset PREFIXBENCH_API_KEY
stop

# A model whose text does not tokenise to what it generated (the server names the ids), on a cache
# of 1,280 tokens that all conversations share and that evicts all the time.
vllm rand 18000 128 --num-gpu-blocks-override 11 --max-model-len 1280
"$program" run scenarios/smoke.yaml "${five[@]}" "${direct[@]}" --repeat 3 --isolate run \
  --output-ids --out "$out/random"
"$program" run scenarios/s25-answers.yaml --config dev,layered "${direct[@]}" \
  --max-tokens 48 --out "$out/random-live"
stop

# A tenth of the library on random weights in blocks of 128, and another on a cache of 10,240 tokens
# that all conversations share.
vllm rand 18000 128
mapfile -t scenarios < <(sample 2)
"$program" run "${scenarios[@]}" "${five[@]}" "${direct[@]}" --output-ids --longest-idle 0 \
  --out "$out/library-random"
slim library-random
stop
vllm chain 18000 32 --num-gpu-blocks-override 321 --max-model-len 10240
mapfile -t scenarios < <(sample 3)
"$program" run "${scenarios[@]}" "${five[@]}" "${direct[@]}" --isolate run --out "$out/library-small"
slim library-small
stop

# llama.cpp with two slots, which the conversations share.
"$servers/llama.sh" serve 18181 --slots 2 >"$out/llama.log" 2>&1 &
running+=($!)
up http://127.0.0.1:18181/health 300
"$program" run scenarios/smoke.yaml "${five[@]}" --target http://127.0.0.1:18181/v1 --repeat 2 \
  --cache-model slots:2,ram=0 --max-tokens 8 --timeout 600 --out "$out/llama"
slim llama
stop
rm -f "$out"/*.log
python3 "$here/differences.py" "$out"
