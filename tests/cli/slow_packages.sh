#!/usr/bin/env bash
# The packages that cpack makes: those of Debian unpacked by dpkg into a bare folder, and the tarball unpacked anywhere. What apt would do
# with them in a fresh system is tried by tests/bare_debian.
source "$(dirname "$0")/expect.sh"
unset MANPATH PKG_CONFIG_PATH BIN
cpack --config "$(dirname "$bin")/CPackConfig.cmake" -G "DEB;TGZ" -B packed >log 2>&1 || { cat log >&2; die "cpack"; }
rm -r packed/_CPack_Packages
version=$("$bin/skein" --version | sed -n '1s/^skein \([0-9.]*\) .*/\1/p')
architecture=$(dpkg --print-architecture)
programs=packed/skein_${version}_$architecture.deb development=packed/skein-dev_${version}_$architecture.deb
tarball=packed/skein-$version-Linux-$(uname -m).tar.gz
for file in "$programs" "$development" "$tarball"; do [ -s "$file" ] || die "no $file, but $(ls packed)"; done

# tests/bare_debian tries that these are all.
dpkg-deb -f "$programs" Depends | tr ',' '\n' | sed 's/^ *//; s/ .*//' | sort >depends
for package in openmpi-bin libopenmpi3 libhdf5-103 libc6 'libstdc++6' libarchive13 libpng16-16 libspdlog1.10; do
  grep -q "^$package" depends || die "no $package in $(cat depends)"
done
! grep -q skein depends || die "a package that no archive has: $(cat depends)"
[[ $(dpkg-deb -f "$development" Depends) == "skein (= $version), libopenmpi-dev, libhdf5-dev"* ]] || die "$(dpkg-deb -f "$development")"
[ "$(dpkg-deb -c "$programs" | grep -cE '/usr/(include|lib/(cmake|pkgconfig|[^/]*\.a))')" = 0 ] || die "headers and archives among programs"

# tried PREFIX: programs, their manual and configurations, where PREFIX is the only folder that there is of it.
tried() {
  local prefix=$1 program
  for program in skein skein-convert skein-data skein-inspect; do
    "$prefix/bin/$program" --version | sed '1s/^[^ ]*/skein/' >said
    "$bin/skein" --version | cmp - said || die "$prefix/bin/$program is another one"
    # Its own libraries are those of the folder, whichever level of the processor they are for.
    ldd "$prefix/bin/$program" | grep libskein | grep -v "$(readlink -f "$prefix")" && die "$program takes libraries of elsewhere"
  done
  echo "one two three" >words.txt
  expect 0 "words.h5: 1 documents" "$prefix/bin/skein-data" encode --tokenizer.path=bytes --output.path=words.h5 --output.replace words.txt
  expect 0 "done: 2 steps" "$prefix/bin/skein" pretrain --config "$prefix/share/skein/configs/tiny.ini" --data.train=words.h5 --run.dir="$prefix/run" \
    --model.vocab_size=0 --model.context=8 --train.steps=2 --validation.every=0 --train.global_batch=4
  [ "$(MANPATH=$prefix/share/man man -w skein-pretrain)" = "$prefix/share/man/man1/skein-pretrain.1.gz" ] || die "no manual in $prefix"
  [ ! -x /usr/bin/readelf ] || [ "$(readelf -S "$prefix/bin/skein" | grep -c debug_info)" = 0 ] || die "programs are not stripped"
}

dpkg-deb -x "$programs" unpacked
tried "$PWD/unpacked/usr"
dpkg-deb -x "$development" unpacked
for package in skein skein-dev; do grep -q "^License: Apache-2.0" "unpacked/usr/share/doc/$package/copyright" || die "$package has no copyright"; done
if [ "$(id -u)" = 0 ]; then
  mkdir -p root/var/lib/dpkg/info root/var/lib/dpkg/updates
  touch root/var/lib/dpkg/status
  for package in "$programs" "$development"; do
    dpkg --root="$PWD/root" --force-depends --unpack "$package" >log 2>&1 || { cat log >&2; die "dpkg --unpack $package"; }
  done
  tried "$PWD/root/usr"
  rm -r root/usr/run
  dpkg --root="$PWD/root" --verify >log && [ ! -s log ] || die "files changed: $(cat log)"
  dpkg --root="$PWD/root" --force-depends --remove skein-dev >log 2>&1 || { cat log >&2; die "dpkg --remove"; }
  [ ! -e root/usr/include/skein ] || die "headers are left"
fi

mkdir "any folder"
tar -xzf "$tarball" -C "any folder"
mv "any folder"/skein-* "any folder/here"
tried "$PWD/any folder/here"
# All that it loads is there, but for the C library.
ldd "any folder/here/bin/skein" | grep '=> /' | grep -v "=> $(readlink -f "any folder/here")/" >elsewhere || true
! grep -vE '^.lib(c|m|dl|rt|pthread|resolv|util)\.so' elsewhere || die "the tarball lacks libraries"
! ls "any folder/here/lib" | grep -E '^(libc|libm|ld-linux.*)\.so' || die "a C library in the tarball"
echo passed
