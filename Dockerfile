# docker build --tag skein .
# docker run --rm skein skein --help
# docker run --rm --volume "$PWD:/home/skein/work" --workdir /home/skein/work --user "$(id -u):$(id -g)" skein skein pretrain --config run.ini
FROM debian:12 AS build
COPY launch/packages.txt launch/install-packages /source/launch/
RUN bash /source/launch/install-packages
COPY . /source
RUN bash /source/launch/build cpu && cpack --config /source/build/cpu/CPackConfig.cmake -G DEB -B /packages

# Here the package of the programs alone, with what it depends on, and gnuplot for plots: no headers, no compilers.
FROM debian:12-slim
COPY --from=build /packages/skein_*.deb /packages/
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends /packages/skein_*.deb gnuplot-nox xz-utils bzip2 \
    && rm -rf /var/lib/apt/lists/* /packages
RUN ! ldd /usr/bin/skein* | grep 'not found'
RUN useradd --create-home skein
USER skein
WORKDIR /home/skein
CMD ["skein", "--help"]
