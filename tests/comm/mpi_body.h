// What every transport must do, as functions of one group: run by threads (group_test) and under
// mpirun (tests/mpi). Each throws std::runtime_error at the first wrong value.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "skein/comm/group.h"

namespace skein::test {

template <class... Args>
void expect(bool ok, fmt::format_string<Args...> text, Args&&... args) {
  if (!ok) throw std::runtime_error(fmt::format(text, std::forward<Args>(args)...));
}

template <class T>
T from_double(double value) {
  if constexpr (std::is_same_v<T, BFloat16>)
    return BFloat16(static_cast<float>(value));
  else
    return static_cast<T>(value);
}

template <class T>
double to_double(T value) {
  if constexpr (std::is_same_v<T, BFloat16>)
    return static_cast<float>(value);
  else
    return static_cast<double>(value);
}

// [n] with value(i) at i
template <class T, class Value>
Tensor filled(int64_t n, Value value) {
  const Tensor tensor = Tensor::empty({n}, DTypeOf<T>::value);
  for (int64_t i = 0; i < n; ++i) tensor.data<T>()[i] = from_double<T>(value(i));
  return tensor;
}

template <class T, class Value>
void expect_values(const Tensor& tensor, const std::string& what, Value value) {
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const double got = to_double(tensor.data<T>()[i]), wanted = to_double(from_double<T>(value(i)));
    expect(got == wanted, "{} of {}: element {} is {}, not {}", what, name_of(DTypeOf<T>::value), i,
           got, wanted);
  }
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() &&
         (a.bytes() == 0 || std::memcmp(a.bytes_data(), b.bytes_data(), a.bytes()) == 0);
}

inline double sum_of_ranks(const Group& group) { return group.size() * (group.size() - 1) / 2.0; }

inline void check_members(Group& group) {
  expect(group.rank() >= 0 && group.rank() < group.size(), "rank {} of {}", group.rank(),
         group.size());
  const std::vector<double> ranks = group.all_gather(static_cast<double>(group.rank()));
  expect(static_cast<int>(ranks.size()) == group.size(), "{} values of {} ranks", ranks.size(),
         group.size());
  for (size_t r = 0; r < ranks.size(); ++r)
    expect(ranks[r] == static_cast<double>(r), "place {} holds {}", r, ranks[r]);
}

template <class T>
void check_all_gather_of(Group& group, int64_t n) {
  const auto value = [n](int64_t rank, int64_t i) {
    return static_cast<double>((rank * 17 + i + n) % 100);
  };
  const Tensor mine = filled<T>(n, [&](int64_t i) { return value(group.rank(), i); });
  const Tensor all = Tensor::empty({group.size(), n}, DTypeOf<T>::value);
  group.all_gather(mine, all).wait();
  expect_values<T>(all, "all_gather", [&](int64_t i) { return value(i / n, i % n); });

  const Tensor whole = Tensor::zeros({group.size() * n}, DTypeOf<T>::value);
  const Tensor own = whole.flat(group.rank() * n, n);
  own.copy_from(mine);
  group.all_gather(own, whole).wait();
  expect(same_bits(whole, all), "all_gather in place of {} elements differs", n);
}

inline void check_all_gather(Group& group) {
  for (int64_t n : {0, 1, 3, 1001, 20011}) {
    check_all_gather_of<float>(group, n);
    check_all_gather_of<double>(group, n);
    check_all_gather_of<BFloat16>(group, n);
    check_all_gather_of<int32_t>(group, n);
    check_all_gather_of<int64_t>(group, n);
    check_all_gather_of<uint8_t>(group, n);
  }
}

// Values are whole and small, so that the sums are exact up to the last rounding.
template <class T>
void check_sums_of(Group& group, int64_t n) {
  const int ranks = group.size();
  const auto base = [](int64_t i) { return static_cast<double>(i % 11); };
  const auto sum = [&](int64_t i) { return sum_of_ranks(group) + ranks * base(i); };
  const Tensor tensor = filled<T>(n, [&](int64_t i) { return group.rank() + base(i); });
  group.all_reduce_sum(tensor).wait();
  expect_values<T>(tensor, "all_reduce_sum", sum);
  if constexpr (!std::is_integral_v<T>) {
    const Tensor in = filled<T>(ranks * n, [&](int64_t i) { return group.rank() + base(i); });
    const Tensor out = Tensor::zeros({n}, DTypeOf<T>::value);
    group.reduce_scatter(in, out).wait();
    expect_values<T>(out, "reduce_scatter", [&](int64_t i) { return sum(group.rank() * n + i); });
  }
}

inline void check_sums(Group& group) {
  for (int64_t n : {0, 1, 5, 2049, 16383, 16384, 40001, 140009}) {
    check_sums_of<float>(group, n);
    check_sums_of<double>(group, n);
    check_sums_of<BFloat16>(group, n);
    check_sums_of<int64_t>(group, n);
  }
}

// A number of rank and index whose sums round: 24 bits, exponents from -8 to 7.
inline float rough(int64_t rank, int64_t i) {
  uint32_t bits = static_cast<uint32_t>(rank * 2654435761 + i * 40503 + 12345);
  bits ^= bits >> 15;
  bits *= 0x2c1b3c6du;
  bits ^= bits >> 12;
  const float part = static_cast<float>(bits & 0xffffff) / 16777216.0f - 0.5f;
  return std::ldexp(part, static_cast<int>(bits >> 28) - 8);
}

// sum(first..last) in tree order, straight from its definition.
template <class T, class Value>
T tree_of(int first, int last, Value value) {
  if (last - first == 1) return value(first);
  int half = 1;
  while (half * 2 < last - first) half *= 2;
  return tree_of<T>(first, first + half, value) + tree_of<T>(first + half, last, value);
}

inline void check_tree_order(Group& group) {
  const int64_t n = 70001;
  const auto term = [](int64_t i) { return [i](int rank) { return rough(rank, i); }; };
  const Tensor tensor = filled<float>(n, [&](int64_t i) { return rough(group.rank(), i); });
  group.all_reduce_sum(tensor).wait();
  expect_values<float>(tensor, "tree order",
                       [&](int64_t i) { return tree_of<float>(0, group.size(), term(i)); });

  const Tensor halves = filled<BFloat16>(n, [&](int64_t i) { return rough(group.rank(), i); });
  group.all_reduce_sum(halves).wait();
  expect_values<BFloat16>(halves, "tree order", [&](int64_t i) {
    return tree_of<float>(0, group.size(),
                          [&](int rank) { return static_cast<float>(BFloat16(rough(rank, i))); });
  });

  const double sum = group.sum(static_cast<double>(rough(group.rank(), 7)) / 3.0);
  expect(sum == tree_of<double>(0, group.size(),
                                [](int rank) { return static_cast<double>(rough(rank, 7)) / 3.0; }),
         "the sum of values is not in tree order: {}", sum);
}

// 1 + e + e + ... with e half a unit of the last place of 1: each order of adding has its own
// result.
inline void check_known_tree(Group& group) {
  const Tensor tensor =
      filled<float>(1, [&](int64_t) { return group.rank() == 0 ? 1.0 : 0x1p-24; });
  group.all_reduce_sum(tensor).wait();
  const double units = group.size() == 4 ? 1 : group.size() == 8 ? 3 : 0;
  if (group.size() <= 4 || group.size() == 8)
    expect_values<float>(tensor, "1 + e + e ...", [&](int64_t) { return 1.0 + units * 0x1p-23; });
}

inline void check_small_equals_large(Group& group) {
  const int64_t n = 530003, few = 1000;
  const Tensor large = filled<float>(n, [&](int64_t i) { return rough(group.rank(), i); });
  const Tensor original = large.clone();
  group.all_reduce_sum(large).wait();
  for (int64_t begin : {int64_t{0}, int64_t{131072} - 500, int64_t{262144} - 500, n - few}) {
    const Tensor small = original.flat(begin, few).clone();
    group.all_reduce_sum(small).wait();
    expect(same_bits(small, large.flat(begin, few)),
           "sums from element {} depend on the tensor's size", begin);
  }
  const Tensor even = original.flat(0, n / group.size() * group.size());
  const int64_t share = even.size() / group.size();
  const Tensor own = Tensor::empty({share}, DType::f32);
  group.reduce_scatter(even, own).wait();
  expect(same_bits(own, large.flat(group.rank() * share, share)),
         "reduce_scatter and all_reduce_sum differ");
}

template <class T>
void check_max_of(Group& group) {
  const int ranks = group.size();
  const Tensor tensor =
      filled<T>(1003, [&](int64_t i) { return (group.rank() + i) % ranks - 1000.0; });
  group.all_reduce_max(tensor).wait();
  expect_values<T>(tensor, "all_reduce_max", [&](int64_t) { return ranks - 1 - 1000.0; });
}

inline void check_max(Group& group) {
  check_max_of<float>(group);
  check_max_of<double>(group);
  check_max_of<int64_t>(group);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor tensor =
      filled<float>(group.size(), [&](int64_t i) { return i == group.rank() ? nan : 1.0; });
  group.all_reduce_max(tensor).wait();
  for (float value : tensor.span<float>())
    expect(std::isnan(value), "NaN was lost in a maximum: {}", value);
}

inline void check_broadcast(Group& group) {
  for (int root = 0; root < group.size(); ++root) {
    for (int64_t n : {0, 1, 12347}) {
      const Tensor tensor = filled<uint8_t>(
          n, [&](int64_t i) { return group.rank() == root ? (i + root) % 256 : 0; });
      group.broadcast(tensor, root).wait();
      expect_values<uint8_t>(tensor, "broadcast", [&](int64_t i) { return (i + root) % 256; });
    }
    const std::string text =
        "root " + std::to_string(root) + std::string(1, '\0') + std::string(5000, 'x');
    expect(group.broadcast(group.rank() == root ? text : "other", root) == text,
           "text from root {} differs", root);
    expect(group.broadcast(group.rank() == root ? "" : "other", root).empty(),
           "no text from root {} differs", root);
  }
}

inline void check_values(Group& group) {
  const int last = group.size() - 1;
  expect(group.sum(static_cast<int64_t>(group.rank())) == static_cast<int64_t>(sum_of_ranks(group)),
         "sum of ranks");
  expect(group.sum(static_cast<double>(group.rank())) == sum_of_ranks(group),
         "sum of ranks as doubles");
  expect(group.max(int64_t{-5} - group.rank()) == -5, "largest of negative values");
  expect(group.any(group.rank() == last), "any of one true");
  expect(!group.any(false), "any of none");
  const auto text = [](int rank) {
    return std::string(static_cast<size_t>(rank * rank % 7), static_cast<char>('a' + rank));
  };
  const std::vector<std::string> texts = group.all_gather(text(group.rank()));
  expect(static_cast<int>(texts.size()) == group.size(), "{} texts", texts.size());
  for (int r = 0; r <= last; ++r)
    expect(texts[static_cast<size_t>(r)] == text(r), "text {} differs", r);
  for (const std::string& empty : group.all_gather(std::string()))
    expect(empty.empty(), "an empty text is not");
}

// Around a ring, so that with one rank messages go to itself.
inline void check_send_order(Group& group) {
  const int next = (group.rank() + 1) % group.size(),
            before = (group.rank() + group.size() - 1) % group.size();
  const std::vector<int64_t> sizes{1, 0, 1000, 100003};
  const auto value = [](int rank, int tag, int64_t i) {
    return static_cast<double>(rank * 1000 + tag * 100 + i % 97);
  };
  std::vector<Tensor> sent;
  std::vector<Work> sending;
  for (int tag = 0; tag < 4; ++tag) {
    const int64_t n = sizes[static_cast<size_t>(tag)];
    sent.push_back(filled<float>(n, [&](int64_t i) { return value(group.rank(), tag, i); }));
    sending.push_back(group.send(sent.back(), next, tag));
  }
  for (int tag = 3; tag >= 0; --tag) {
    const Tensor got = Tensor::zeros({sizes[static_cast<size_t>(tag)]}, DType::f32);
    Work work = group.recv(got, before, tag);
    work.wait();
    work.wait();
    expect_values<float>(got, "message", [&](int64_t i) { return value(before, tag, i); });
  }
  for (Work& work : sending) work.wait();
}

inline void check_equal_tags(Group& group) {
  const int next = (group.rank() + 1) % group.size(),
            before = (group.rank() + group.size() - 1) % group.size();
  const int64_t n = 50021;
  std::vector<Tensor> out, in;
  std::vector<Work> sending, receiving;
  for (int message = 0; message < 3; ++message) {
    out.push_back(filled<float>(n, [&](int64_t i) { return message * 10 + group.rank() + i % 5; }));
    in.push_back(Tensor::zeros({n}, DType::f32));
    sending.push_back(group.send(out.back(), next, 1 << 20));
  }
  for (const Tensor& tensor : in) receiving.push_back(group.recv(tensor, before, 1 << 20));
  for (int message = 2; message >= 0; --message) {
    receiving[static_cast<size_t>(message)].wait();
    expect_values<float>(in[static_cast<size_t>(message)], "message of equal tags",
                         [&](int64_t i) { return message * 10 + before + i % 5; });
  }
  for (Work& work : sending) work.wait();
}

// Rows of two and columns, each with its own number of collectives.
inline void check_split(Group& group) {
  const int rank = group.rank(), ranks = group.size();
  const auto row = group.split(rank / 2, rank);
  const auto column = group.split(rank % 2, -rank);
  expect(row->size() == std::min(2, ranks - rank / 2 * 2) && row->rank() == rank % 2,
         "row {} of {}", row->rank(), row->size());
  const int column_size = (ranks - rank % 2 + 1) / 2;
  expect(column->size() == column_size, "a column of {}, not {}", column->size(), column_size);
  expect(column->rank() == column_size - 1 - rank / 2,
         "rank {} in a column ordered by a falling key", column->rank());

  for (int turn = 0; turn <= rank / 2; ++turn) {
    const int64_t expected = row->size() == 2 ? rank / 2 * 4 + 1 : rank;
    expect(row->sum(int64_t{rank}) == expected, "the sum over a row");
  }
  const std::vector<double> members = column->all_gather(static_cast<double>(rank));
  for (int member = 0; member < column_size; ++member)
    expect(members[static_cast<size_t>(member)] == 2 * (column_size - 1 - member) + rank % 2,
           "column member {}", member);
  const auto half = column->split(column->rank() % 2, 0);
  expect(half->max(int64_t{half->rank()}) == half->size() - 1, "a group split twice");
  group.barrier();
}

using Body = void (*)(Group&);

inline const std::vector<std::pair<const char*, Body>>& bodies() {
  static const std::vector<std::pair<const char*, Body>> all{
      {"members", check_members},
      {"all_gather", check_all_gather},
      {"sums", check_sums},
      {"tree_order", check_tree_order},
      {"known_tree", check_known_tree},
      {"small_equals_large", check_small_equals_large},
      {"max", check_max},
      {"broadcast", check_broadcast},
      {"values", check_values},
      {"send_order", check_send_order},
      {"equal_tags", check_equal_tags},
      {"split", check_split},
  };
  return all;
}

inline void check_collectives(Group& group) {
  for (const auto& [name, body] : bodies()) {
    try {
      body(group);
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(
          fmt::format("{}, rank {} of {}: {}", name, group.rank(), group.size(), error.what()));
    }
  }
}

}  // namespace skein::test
