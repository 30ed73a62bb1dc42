// What messages call a kind of store, and who makes one.
#pragma once

namespace skein::data {

struct StoreKind {
  const char* name;    // "token store"
  const char* format;  // what its attribute `format` says
  const char* maker;   // the command that makes one
  const char* layout;  // the page of docs that describes it
};

inline constexpr StoreKind kTokenStore{"token store", "skein-tokens", "`skein-data encode`",
                                       "docs/token-store.md"};

}  // namespace skein::data
