# tacho in a small image. The packed tarball must be beside this file:
#   npm start && npm pack && docker build --build-arg VERSION=0.1.0 --tag tacho .
# An agent is not included: add its package in an image of your own that starts FROM this one.
#   docker run --init --rm --volume "$PWD:/work" tacho run --agent demo "try it"
FROM node:24-slim

# git: tacho compares the work tree before and after a run.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends ca-certificates git \
  && rm -rf /var/lib/apt/lists/*

ARG VERSION
COPY tacho-${VERSION}.tgz /opt/tacho.tgz
RUN npm install --global --no-audit --no-fund /opt/tacho.tgz \
  && npm cache clean --force \
  && mkdir /work && chown node:node /work

USER node
WORKDIR /work
ENTRYPOINT ["tacho"]
CMD ["--help"]
