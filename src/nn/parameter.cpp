#include "skein/nn/parameter.h"

#include <algorithm>
#include <string_view>

#include "skein/core/numbers.h"
#include "skein/core/philox.h"
#include "skein/kernels/normal.h"
#include "skein/nn/vocab_padding.h"

namespace skein {
namespace {

int split_dim(Split split) { return split == Split::rows ? 1 : 0; }

// The numbers that the part of a tensor here takes: all in one row where they follow each other.
void fill_normal(const Parameter& parameter, uint64_t key, const Tensor& values) {
  const bool matrix = parameter.local.rank() > 1;
  const int64_t columns = matrix ? parameter.local[1] : 1,
                whole_columns = matrix ? parameter.shape[1] : 1,
                width = columns == whole_columns ? values.size() : columns;
  if (values.size() == 0) return;
  const int64_t first = parameter.first * (parameter.split == Split::rows ? 1 : whole_columns);
  kernels::normal({key, parameter.start.deviation, first, whole_columns},
                  Out(values.reshape({values.size() / width, width})));
}

}  // namespace

int64_t Parameter::valid_size() const {
  if (split == Split::none) return local.size();
  return local.size() / local[split_dim(split)] * valid;
}

std::vector<int64_t> Parameter::box_start() const {
  std::vector<int64_t> start(shape.dims().size(), 0);
  if (split != Split::none) start[split_dim(split)] = first;
  return start;
}

std::vector<int64_t> Parameter::box_extent() const {
  std::vector<int64_t> extent = local.dims();
  if (split != Split::none) extent[split_dim(split)] = valid;
  return extent;
}

// Of the size of a part.
int64_t Parameters::split_granule(Split split) const {
  return split == Split::vocab ? vocab_granule(device_) : 1;
}

int Parameters::enter(const std::string& bucket, int chunk, Part part) {
  const auto [found, is_new] =
      bucket_numbers_.try_emplace(bucket, static_cast<int>(buckets_.size()));
  if (is_new) buckets_.push_back({bucket, chunk});
  bucket_ = found->second;
  part_ = part;
  SKEIN_CHECK_EQ(buckets_[bucket_].chunk, chunk);
  return bucket_;
}

RowKind Parameters::met(RowKind rows) const {
  return part_.of_source && rows == RowKind::tokens ? RowKind::source_tokens : rows;
}

void Parameters::add_cost(ScoreCost cost) {
  cost.block = part_.block_number;
  cost.keys = met(cost.keys);
  cost.queries = met(cost.queries);
  cost.share = part_.rows;
  costs_.scores.push_back(cost);
}

void Parameters::add_cost(KeptCost cost) {
  cost.block = part_.block_number;
  cost.rows = met(cost.rows);
  cost.share = part_.rows;
  costs_.kept.push_back(cost);
}

Parameter& Parameters::add(const ParameterSpec& spec) {
  if (bucket_ < 0) enter("", 0);
  Parameter& made = all_.emplace_back();
  static_cast<ParameterSpec&>(made) = spec;
  made.meets = met(spec.meets);
  made.local = spec.shape;
  made.learns = !spec.constant;
  made.decays = spec.shape.rank() > 1;
  made.sum_over_shards = spec.sum_over_shards && shards_ > 1;
  if (!made.tied()) made.use = 1;
  made.part = part_;
  made.bucket = bucket_;
  made.chunk = buckets_[bucket_].chunk;
  made.counts = !made.tied() && (spec.split != Split::none || shard_ == 0);
  if (spec.split == Split::none) return made;
  made.shard = shard_;
  const int dim = split_dim(spec.split);
  const int64_t whole = spec.shape[dim],
                part = rounded_up((whole + shards_ - 1) / shards_, split_granule(spec.split));
  require(spec.split == Split::vocab || whole % shards_ == 0,
          "{}: dimension {} of size {} does not divide by parallel.tensor={}; choose a "
          "tensor-parallel size that divides it",
          spec.name, dim, whole, shards_);
  made.local[dim] = part;
  made.first = part * shard_;
  made.valid = std::clamp<int64_t>(whole - made.first, 0, part);
  return made;
}

void Parameters::freeze(const std::function<bool(const Parameter&)>& frozen) {
  for (Parameter& p : all_) p.learns = !p.constant && !frozen(p);
}

void Parameters::allocate(bool gradients) {
  std::map<std::string_view, Parameter*> firsts;  // by tensor, the first of its uses here
  for (Parameter& p : all_) {
    Parameter*& first = firsts[p.tensor()];
    if (!first || p.use < first->use) first = &p;
  }
  for (auto& [tensor, p] : firsts) p->value = Tensor::zeros(p->local, dtype_, device_);
  for (Parameter& p : all_) {
    p.value = firsts.at(p.tensor())->value;
    p.learns = p.learns && gradients;
    if (p.learns) p.gradient = Tensor::zeros(p.local, gradient_dtype(dtype_), device_);
  }
}

void Parameters::initialize(uint64_t seed) {
  for (const Parameter& p : all_) skein::initialize(p, seed);
}

void Parameters::keep_packed() {
  for (Parameter& parameter : all_)
    if (!parameter.packed) parameter.packed = std::make_shared<kernels::PackedCopies>();
  values_changed();
}

void Parameters::values_changed() {
  for (const Parameter& parameter : all_)
    if (parameter.packed) parameter.packed->forget();
}

int64_t Parameters::packed_bytes() const {
  int64_t total = 0;
  for (const Parameter& parameter : all_)
    if (parameter.packed) total += parameter.packed->bytes();
  return total;
}

Parameter* Parameters::find(const std::string& name) {
  for (Parameter& p : all_)
    if (p.name == name) return &p;
  return nullptr;
}

void initialize(const Parameter& parameter, uint64_t seed) {
  const bool here = parameter.value.device() == Device{};
  const Tensor host =
      here ? parameter.value : Tensor::empty(parameter.local, parameter.value.dtype());
  host.fill_zero();
  const Tensor values = host.flat(0, parameter.valid_size());
  if (parameter.start.kind == Start::ones)
    visit_float(values.dtype(), [&]<class T>(TypeTag<T>) {
      std::ranges::fill(values.span<T>(), static_cast<T>(1.0f));
    });
  if (parameter.start.kind == Start::normal)
    fill_normal(parameter, derive_key(seed, parameter.tensor()), values);
  if (parameter.start.kind == Start::given) {
    const std::vector<double> given = parameter.start.values();
    SKEIN_CHECK_EQ(std::ssize(given), values.size());
    visit_float(values.dtype(), [&]<class T>(TypeTag<T>) {
      std::ranges::transform(given, values.span<T>().begin(), [](double value) {
        return static_cast<T>(static_cast<float>(value));
      });
    });
  }
  if (!here) parameter.value.copy_from(host);
}

}  // namespace skein
