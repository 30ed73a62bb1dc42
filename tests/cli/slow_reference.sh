#!/usr/bin/env bash
# docs/Doxyfile makes the reference of the public headers without a warning.
source "$(dirname "$0")/expect.sh"
root=$SKEIN_TEST_SOURCE_DIR
out=$PWD

# reference [LINE]: makes it in $out; LINE comes after those of the Doxyfile. Its warnings are in ./warnings.
reference() {
  { cat "$root/docs/Doxyfile" && printf '%s\n' "OUTPUT_DIRECTORY = $out" "WARN_LOGFILE = $out/warnings" "$@"; } >Doxyfile
  (cd "$root" && timeout 900 doxygen "$out/Doxyfile") || die "doxygen ended with $?"
}

# A header with every form of comment, and a word that doxygen does not know.
mkdir small
cat >small/a.h <<'TEXT'
// Of the file, <b> \none @none.
//
//   a formula  kept
#pragma once

namespace a {

// no documentation

// Holds an x & y.
struct A {
  int x = 0;  // Behind it,
              // in two lines.
};

}  // namespace a

template <>
struct fmt::formatter<a::A> : fmt::formatter<int> {
};
TEXT
reference "INPUT = $out/small"
[ ! -s warnings ] || { cat warnings >&2; die "warnings about a good header"; }
text=$(cat doxygen/structa_1_1A.html doxygen/a_8h.html)
for words in 'Holds an x &amp; y.' 'Behind it, in two lines.' 'Of the file, &lt;b&gt; \none @none.' 'a formula  kept'; do
  [[ $text == *"$words"* ]] || die "the reference does not say: $words"
done
[[ $text != *"no documentation"* ]] || die "a comment that stands alone became documentation"
echo '/// \nonesuch' >>small/a.h && echo 'int last;' >>small/a.h
reference "INPUT = $out/small"
grep -q "unknown command '.nonesuch'" warnings || { cat warnings >&2; die "a warning is not seen"; }

rm -r doxygen warnings
reference
[ ! -s warnings ] || { cat warnings >&2; die "doxygen warns"; }
grep -q 'Tree-ordered sum over ranks, in place' doxygen/classskein_1_1Group.html || die "comments of members are lost"
echo passed
