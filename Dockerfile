# An image with Clerkship, all extras and bubblewrap. See docs/guide/in_ci.md#docker
#   docker build --tag clerkship .
#   docker run --rm --volume "$PWD:/work" --user "$(id -u):$(id -g)" clerkship run practice --agent oracle
ARG BASE=python:3.12-slim-bookworm

FROM ${BASE} AS build
ARG EXTRAS=browser,fax,jwt,ocr,portal,postgres,server,sftp,sign,smtp,temporal,websocket
WORKDIR /source
COPY . .
# The pinned versions of pyproject.toml, also for what builds the package.
ENV PIP_CONSTRAINT=/constraints.txt PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python3 -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['tool']['uv']['constraint-dependencies'], sep='\n')" \
    > /constraints.txt \
  && python3 -m venv /opt/clerkship \
  && /opt/clerkship/bin/pip install ".[${EXTRAS}]"

FROM ${BASE}
# It isolates agents that are programs. Versions of Debian packages are not pinned: old ones are not kept there.
# hadolint ignore=DL3008
RUN apt-get update \
  && apt-get install --yes --no-install-recommends bubblewrap \
  && rm -rf /var/lib/apt/lists/* \
  && useradd --create-home --uid 1000 clerkship \
  && mkdir /work && chown clerkship /work
# Owned by root, so that no agent can change what grades it.
COPY --from=build /opt/clerkship /opt/clerkship
# Any user may write to the folder for caches: --user may name one without a home.
ENV PATH=/opt/clerkship/bin:$PATH CLERKSHIP_CACHE=/tmp/clerkship-cache PYTHONUNBUFFERED=1
USER 1000
WORKDIR /work
ENTRYPOINT ["clerkship"]
CMD ["--help"]
