# docker build --tag skein .
# docker run --rm skein skein --help
FROM debian:12 AS build
COPY launch/packages.txt launch/install-packages /source/launch/
RUN bash /source/launch/install-packages
COPY . /source
RUN bash /source/launch/build cpu && cmake --install /source/build/cpu --prefix /opt/skein --strip

# Here the libraries alone, without headers and compilers: the shared objects behind the list's -dev packages.
FROM debian:12-slim
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \
      libboost-program-options1.74.0 libfmt9 libgomp1 libhdf5-103-1 libarchive13 libnettle8 libjpeg62-turbo libonig5 libpcre2-8-0 libpng16-16 libspdlog1.10 libutf8proc2 \
      libxxhash0 openmpi-bin zlib1g \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/skein /opt/skein
ENV PATH=/opt/skein/bin:$PATH
RUN ! ldd /opt/skein/bin/* | grep 'not found'
RUN useradd --create-home skein
USER skein
WORKDIR /home/skein
CMD ["skein", "--help"]
