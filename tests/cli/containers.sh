#!/usr/bin/env bash
# What the definitions of containers copy is there, and both install the same; tests/bare_debian runs their commands.
source "$(dirname "$0")/expect.sh"
root=$SKEIN_TEST_SOURCE_DIR
docker=$root/Dockerfile apptainer=$root/launch/skein.def

# section NAME: the lines of each such section of the definition.
section() { awk -v name="%$1" '/^%/ || /^Bootstrap/ { inside = $0 == name; next } inside && NF { sub(/^ +/, ""); print }' "$apptainer"; }

{ sed -n 's/^COPY //p' "$docker" | grep -v '^--from' | sed 's/ [^ ]*$//' | tr ' ' '\n'; section files | cut -d' ' -f1; } >copied
[ "$(wc -l <copied)" -ge 14 ] || die "only these are copied: $(cat copied)"
while read -r path; do [ -e "$root/$path" ] || die "$path is copied into an image, but is not there"; done <copied
# Where the copy begins with these, the build finds all.
for path in $(sed -nE 's/^(include|add_subdirectory)\((src|cmake)[/)].*/\2/p' "$root/CMakeLists.txt" | sort -u) tools launch configs docs; do
  grep -qx "$path" copied || die "the definition for Apptainer does not copy $path"
done
sed -n 's/^[^#]*\(apt-get install .*\) .$/\1/p' "$docker" >installed
[ -s installed ] || die "no apt-get install in the Dockerfile"
section post | sed -n 's/.*\(apt-get install .*\)/\1/p' | cmp - installed || die "Apptainer installs other packages than Docker: $(cat installed)"
for image in "$docker" "$apptainer"; do
  grep -q 'launch/build cpu' "$image" && grep -q 'cpack --config /source/build/cpu/CPackConfig.cmake -G DEB -B /packages' "$image" || die "$image makes no package"
done
echo passed
