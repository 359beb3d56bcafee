# One image for every kind of node. Its arguments say which services run; none: all.
#
#   docker run provec services/shards
#
# For production, and for a laptop, with the embedded ledger:
#
#   docker build --tag provec:0.1.0 .
#   docker build --tag provec:development --target development .

FROM node:24.21.0-bookworm-slim AS base
# tini, in the version of Debian's stable, hands on signals and reaps what an ended process leaves.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends tini \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /app

# cbor-x has its native part in an optional package, so those cannot be left out; the Node of this
# image is the base's. Native parts come built, without install scripts; whether they load is seen
# here and not at the first start. @solana's packages name the compiler of TypeScript as their peer,
# a quarter of all, and types are for it alone: nothing runs either.
FROM base AS modules
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts \
    && rm -rf node_modules/node-linux-* node_modules/node-bin-* node_modules/.bin node_modules/typescript node_modules/@typescript \
        node_modules/@types node_modules/undici-types \
    && node --input-type=module --eval "await Promise.all(['usearch', 'cbor-x'].map((name) => import(name)))"

FROM base AS development-modules
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts \
    && rm -rf node_modules/node-linux-* node_modules/node-bin-* node_modules/.bin/node \
    && node --input-type=module --eval "await Promise.all(['usearch', 'cbor-x', 'litesvm'].map((name) => import(name)))"

FROM base AS server
COPY package.json launch.ts start.ts provec.ts moleculer.config.ts ./
COPY client/api client/api
COPY client/http client/http
COPY client/metrics client/metrics
COPY client/export-frame.ts client/export-stream.ts client/import-body.ts client/
COPY client/verify client/verify
COPY lib lib
COPY store store
COPY contracts contracts
COPY process process
COPY transport transport
COPY mixins mixins
COPY repl repl
COPY services services
COPY scripts scripts
RUN install --directory --owner=node --group=node --mode=700 /data
ENV NODE_ENV=production \
    PROVEC_HOST=0.0.0.0 \
    PROVEC_PORT=8080 \
    PROVEC_HEALTH_PORT=8081 \
    PROVEC_DATA_DIR=/data \
    PROVEC_LOG_FORMAT=json
VOLUME ["/data"]
EXPOSE 8080 8081
# By number, so that Kubernetes can tell that it is not root.
USER 1000:1000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --start-interval=1s --retries=6 \
    CMD ["node", "--eval", "fetch(`http://127.0.0.1:${process.env.PROVEC_HEALTH_PORT}/livez`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["tini", "--", "node", "--disable-warning=ExperimentalWarning", "launch.ts"]

FROM server AS development
COPY --from=development-modules /app/node_modules node_modules

FROM server AS production
COPY --from=modules /app/node_modules node_modules
