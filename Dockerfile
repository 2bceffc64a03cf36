# The server with its embedding model and the adapters of Qdrant, PostgreSQL and Cohere: it starts
# without any network.
FROM python:3.12-slim AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /build
COPY requirements/production.txt requirements/build.txt requirements/
RUN python -m venv /opt/surefind \
 && /opt/surefind/bin/pip install --quiet --require-hashes -r requirements/production.txt \
 && python -m venv /opt/build \
 && /opt/build/bin/pip install --quiet --require-hashes -r requirements/build.txt
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN /opt/build/bin/python -m hatchling build -t wheel -d dist \
 && /opt/surefind/bin/pip install --quiet --no-deps --no-index dist/*.whl \
 && SUREFIND_CACHE_DIR=/opt/model /opt/surefind/bin/surefind model fetch \
 && /opt/surefind/bin/pip uninstall --quiet --yes pip

FROM python:3.12-slim
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin surefind \
 && install --directory --owner=10001 --group=10001 /data
COPY --from=build /opt/surefind /opt/surefind
COPY --from=build /opt/model /opt/model
ENV PATH=/opt/surefind/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    SUREFIND_CACHE_DIR=/opt/model \
    SUREFIND_DATA_DIR=/data \
    SUREFIND_HOST=0.0.0.0
USER 10001
WORKDIR /tmp
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["python", "-c", "import os, urllib.request; urllib.request.urlopen('http://127.0.0.1:' + os.environ.get('PORT', '8000') + '/live', timeout=2)"]
ENTRYPOINT ["surefind"]
CMD ["serve"]
