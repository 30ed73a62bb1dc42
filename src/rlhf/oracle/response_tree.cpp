#include "skein/rlhf/oracle/response_tree.h"

#include <algorithm>

#include "skein/core/error.h"

namespace skein::rlhf::oracle {

ResponseTree::ResponseTree(int64_t alphabet, int64_t length) : alphabet_(alphabet), levels_{0, 1} {
  SKEIN_CHECK(alphabet >= 1 && length >= 1 && count(alphabet, length) <= 0x1p40);
  for (int64_t symbols = 1; symbols <= length; ++symbols)
    levels_.push_back(levels_.back() * alphabet + 1);
}

double ResponseTree::count(int64_t alphabet, int64_t length) {
  double responses = 1;
  for (int64_t symbols = 1; symbols <= length && responses < 0x1p60; ++symbols)
    responses = responses * alphabet + 1;
  return responses;
}

int64_t ResponseTree::symbols_in(int64_t response) const {
  SKEIN_CHECK(response >= 0 && response < size());
  return std::upper_bound(levels_.begin(), levels_.end(), response) - levels_.begin() - 1;
}

std::vector<int32_t> ResponseTree::symbols_of(int64_t response) const {
  std::vector<int32_t> symbols(symbols_in(response));
  for (size_t i = symbols.size(); i-- > 0; response = parent(response))
    symbols[i] = last_symbol(response);
  return symbols;
}

int64_t ResponseTree::find(std::span<const int32_t> symbols) const {
  SKEIN_CHECK(std::ssize(symbols) <= length());
  int64_t response = 0;
  for (const int32_t symbol : symbols) {
    SKEIN_CHECK(symbol >= 0 && symbol < alphabet_);
    response = child(response, symbol);
  }
  return response;
}

}  // namespace skein::rlhf::oracle
