# adhere in a container: a number for a user, nothing written outside of TMPDIR, dependencies as uv.lock has them.
#
#   docker build -t adhere .                    with sslyze (AGPL-3.0), which --confirm and --deep call,
#                                               and with what custom rules and object stores need
#   docker build -t adhere:slim --target slim . without them
#
# The base is pinned by its digest, as github.com/docker-library/repo-info lists it (repos/python/remote/3.13-slim.md); that
# of 2026-08-05 has Python 3.13.14. For a newer one: --build-arg PYTHON=3.13-slim@sha256:...
ARG PYTHON=3.13-slim@sha256:9662417aace5ae7b8e2609cce472b72a8958e134ba372808abe9cc1a0c0125e6

FROM python:${PYTHON} AS build
ARG UV_VERSION=0.13.8
ENV UV_PROJECT_ENVIRONMENT=/opt/adhere \
    UV_PYTHON_DOWNLOADS=never \
    UV_LINK_MODE=copy \
    UV_COMPILE_BYTECODE=1 \
    UV_NO_CACHE=1
RUN python -m pip install --no-cache-dir --disable-pip-version-check "uv==${UV_VERSION}"
WORKDIR /src
# What changes seldom first: a change of the code alone fetches nothing again.
COPY pyproject.toml uv.lock ./
RUN uv sync --quiet --locked --no-dev --no-install-project
# The build backend comes from the lock too, by its hashes.
COPY README.md LICENSE ./
COPY profiles profiles
COPY reports reports
COPY docs/rules docs/rules
COPY scanner scanner
RUN uv export --quiet --locked --only-group test --no-emit-project --output-file /tmp/builders.txt \
 && uv build --quiet --wheel --build-constraints /tmp/builders.txt --require-hashes --out-dir /tmp/wheel \
 && uv pip install --quiet --python /opt/adhere --no-deps /tmp/wheel/*.whl

FROM build AS build-sslyze
RUN uv sync --quiet --locked --no-dev --no-install-project --inexact --extra sslyze --extra rules --extra s3

FROM python:${PYTHON} AS runtime
ENV PATH=/opt/adhere/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
# OpenShift runs it as any user of group 0; elsewhere this one, which no host should know.
USER 10001:0
WORKDIR /tmp
ENTRYPOINT ["adhere"]
CMD ["--help"]

FROM runtime AS slim
COPY --from=build /opt/adhere /opt/adhere

FROM runtime AS full
COPY --from=build-sslyze /opt/adhere /opt/adhere
