#!/usr/bin/env python3
"""Serves a GGUF file with the HTTP server of the xllamacpp wheel, on loopback only.

The defaults keep measurements simple: two slots, no copies of prompts in host
memory, and one thread, which a busy small machine keeps busy evenly.
"""
import argparse
import os
import signal
import threading

import xllamacpp


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True, help="the GGUF file")
    parser.add_argument("--port", type=int, default=18181)
    parser.add_argument("--slots", type=int, default=2, help="conversations held at once")
    parser.add_argument("--context", type=int, default=16384, help="tokens, divided among the slots")
    parser.add_argument("--cache-ram", type=int, default=0, help="MiB of host memory for idle prompts")
    parser.add_argument("--similarity", type=float, default=0.1, help="slot prompt similarity")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--alias", default="smollm2")
    parser.add_argument("--api-key", default="")
    return parser.parse_args()


def main():
    wanted = arguments()
    params = xllamacpp.CommonParams()
    params.model.path = wanted.model
    params.port = wanted.port
    params.n_parallel = wanted.slots
    params.n_ctx = wanted.context
    params.n_cache_reuse = 0
    params.cache_ram_mib = wanted.cache_ram
    params.slot_prompt_similarity = wanted.similarity
    params.cpuparams.n_threads = wanted.threads
    params.cpuparams_batch.n_threads = wanted.threads
    params.endpoint_metrics = True
    params.endpoint_slots = True
    params.warmup = True
    params.offline = True
    try:
        params.model_alias = {wanted.alias}
    except TypeError:
        params.model_alias = [wanted.alias]
    if hasattr(params, "hostnames"):
        params.hostnames = ["127.0.0.1"]
    if wanted.api_key:
        params.api_keys = [wanted.api_key]
    server = xllamacpp.Server(params)
    print("listening at", server.listening_address, "process", os.getpid(), flush=True)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    signal.signal(signal.SIGINT, lambda *_: os._exit(0))
    threading.Event().wait()


main()
