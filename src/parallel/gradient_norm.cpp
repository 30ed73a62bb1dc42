#include <algorithm>
#include <cmath>
#include <cstring>

#include "skein/kernels/reduce.h"
#include "skein/parallel/buckets.h"

namespace skein {
namespace {

// The squares of each chunk of a bucket, from the ranks that own them.
Tensor chunk_sums(const Buckets& buckets, const Buckets::Bucket& bucket, Group& dp) {
  const int64_t own = buckets.own_size(bucket) / Buckets::kChunk;
  Tensor all = Tensor::empty({own * dp.size()}, DType::f64, bucket.gradients.device());
  const Tensor here = all.flat(own * dp.rank(), own);
  on_device(bucket.gradients.device(), [&](auto device) {
    kernels::chunk_square_sums(device, bucket.gradients.flat(buckets.own_begin(bucket), buckets.own_size(bucket)),
                               Buckets::kChunk, here);
  });
  dp.all_gather(here, all);
  return all.to(Device{});
}

std::string packed(const std::vector<std::pair<std::string, double>>& sums) {
  std::string text;
  for (const auto& [name, sum] : sums) text += fmt::format("{} {:a}\n", name, sum);
  return text;
}

void unpack(const std::string& text, std::vector<std::pair<std::string, double>>& into) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t space = text.find(' ', at), end = text.find('\n', space);
    into.emplace_back(text.substr(at, space - at), std::strtod(text.c_str() + space + 1, nullptr));
    at = end + 1;
  }
}

}  // namespace

std::vector<std::pair<std::string, double>> Buckets::local_square_sums() const {
  std::vector<std::pair<std::string, double>> sums;
  std::vector<double> values;
  for (const Bucket& bucket : buckets_) {
    const Tensor chunks = chunk_sums(*this, bucket, mesh_.dp());
    for (const Member& member : bucket.members) {
      if (member.parameter->tied()) continue;
      const bool counts = member.parameter->split != Split::none || mesh_.tp().rank() == 0;
      double sum = 0;
      for (int64_t c = member.begin / kChunk; counts && c * kChunk < member.begin + member.valid; ++c)
        sum += chunks.data<double>()[c];
      sums.emplace_back(member.parameter->name, sum);
      values.push_back(sum);
    }
  }
  if (mesh_.tp().size() == 1 || values.empty()) return sums;
  const Tensor over_shards = Tensor::from(values, {static_cast<int64_t>(values.size())});
  mesh_.tp().all_reduce_sum(over_shards);
  for (size_t i = 0; i < sums.size(); ++i) sums[i].second = over_shards.data<double>()[i];
  return sums;
}

double Buckets::gradient_square_sum() const {
  std::vector<std::pair<std::string, double>> all;
  for (const std::string& text : mesh_.pp().all_gather(packed(local_square_sums()))) unpack(text, all);
  std::sort(all.begin(), all.end());
  double total = 0;
  for (const auto& [name, sum] : all) total += sum;
  return total;
}

}  // namespace skein
