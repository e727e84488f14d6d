#!/usr/bin/env bash
# The LiteLLM proxy in front of the vLLM of vllm.sh: a minute to install, 0.75 GB, 20 s to start.
#
#   scripts/real-servers/litellm.sh install
#   scripts/real-servers/litellm.sh serve [PORT] [UPSTREAM]     (14000, http://127.0.0.1:18000)
#
# The key is `sk-local`; models: `tiny` (hosted_vllm), `tiny-openai`, `tiny-anthropic`.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

case ${1:-} in
  install) make_venv venv-litellm 'litellm[proxy]==1.108.7' ;;
  serve)
    port=${2:-14000} upstream=${3:-http://127.0.0.1:18000}
    make_venv venv-litellm 'litellm[proxy]==1.108.7'
    sed "s|UPSTREAM|$upstream|" "$here/litellm.yaml" >"$cache/litellm-$port.yaml"
    export LITELLM_LOCAL_MODEL_COST_MAP=True LITELLM_TELEMETRY=False DO_NOT_TRACK=1
    export LITELLM_MODE=PRODUCTION
    cd "$cache"
    exec "$cache/venv-litellm/bin/litellm" --config "$cache/litellm-$port.yaml" \
      --host 127.0.0.1 --port "$port" --telemetry False
    ;;
  *)
    sed -n '2,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
esac
