# Bridge and worker in one image; the command says which: docker run IMAGE bridge | worker | run | setup | doctor
FROM node:20.20-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY . .
# The build fails on any warning of the workflow bundler, and the replay when a workflow that runs somewhere would not
# go on under this code: no image is made of either.
RUN npm run build && node dist/test/histories/replay.js
# What only tests and a developer's machine need.
RUN rm -rf dist/test dist/stack dist/.tsbuildinfo

FROM node:20.20-bookworm-slim AS modules
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --no-audit --no-fund
# Temporal's SDK brings its native part for every platform, and the sources of it: keep the one of this image.
RUN cd node_modules/@temporalio/core-bridge \
  && rm -rf sdk-core src \
  && find releases -mindepth 1 -maxdepth 1 ! -name "$(node -p "process.arch === 'arm64' ? 'aarch64' : 'x86_64'")-unknown-linux-gnu" -exec rm -r {} +

FROM node:20.20-bookworm-slim
# The SDK's native part trusts the system's certificates, and the slim image has none.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends ca-certificates \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY --from=modules /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json ./
# HTTP_HOST: probes and scrapers come from outside the container.
ENV NODE_ENV=production HTTP_HOST=0.0.0.0 HTTP_PORT=9464
EXPOSE 9464
# By number, so that Kubernetes can tell that it is not root. Nothing is written to the file system.
USER 1000:1000
# SIGTERM drains: allow 60 seconds. Node gets it itself (exec form) and starts no processes, so no init is needed.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.HTTP_PORT}/healthz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/dist/cli.js"]
CMD ["run"]
