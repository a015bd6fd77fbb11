"""llama.cpp's own server with a model file: `python llama_server.py MODEL.gguf` prints its address and stays."""

from __future__ import annotations

import sys

import xllamacpp  # type: ignore[import-not-found]

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.model_alias = {"tiny"}
params.n_ctx = 32_768
params.n_batch = 2048
params.n_parallel = 2
params.cpuparams.n_threads = 1
params.warmup = False
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
