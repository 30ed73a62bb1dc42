#include "skein/parallel/rank_memory.h"

#include <algorithm>
#include <bit>
#include <set>
#include <vector>

#include "skein/core/error.h"
#include "skein/core/host.h"
#include "skein/core/numbers.h"
#include "skein/core/strings.h"
#include "skein/kernels/memory_rules.h"
#include "skein/models/architecture.h"
#include "skein/models/description.h"
#include "skein/nn/cost.h"
#include "skein/tensor/cuda.h"

namespace skein {
namespace {

double number(int64_t value) { return static_cast<double>(value); }

bool is_matrix(const Parameter& p) { return p.local.rank() == 2 && p.meets != RowKind::looked_up; }
bool is_head(const Parameter& p) { return is_matrix(p) && p.split == Split::vocab; }

struct Change {
  std::string text;
  MemoryShape shape;
};

class Changes {
 public:
  Changes(const ModelConfig& model, const MemoryShape& now) : now_(now) {
    spread_state();
    turn_back_sooner();
    recompute();
    round_values();
    cut_rows();
    take_ranks(model);
  }
  const std::vector<Change>& all() const { return all_; }

 private:
  template <class Apply>
  void add(std::string text, const Apply& apply) {
    all_.push_back({std::move(text), now_});
    apply(all_.back().shape);
  }

  void spread_state() {
    const int data = now_.parallel.data;
    if (data > 1 && !now_.parallel.zero)
      add("parallel.zero=true", [](MemoryShape& s) { s.parallel.zero = true; });
    if (now_.sums_per_rank > 1 && data > 1 && !now_.strided &&
        std::has_single_bit(static_cast<unsigned>(data)))
      add("parallel.group_order=strided", [](MemoryShape& s) { s.strided = true; });
    if (now_.sums_per_rank > 1)
      add(fmt::format("parallel.reduction_groups={}", data),
          [](MemoryShape& s) { s.sums_per_rank = s.groups_per_micro_batch = 1; });
  }

  void turn_back_sooner() {
    const ParallelConfig& p = now_.parallel;
    if (p.pipeline == 1 || p.schedule == ScheduleKind::one_f_one_b) return;
    add(fmt::format("parallel.schedule=1f1b{}", p.chunks > 1 ? " and parallel.chunks=1" : ""),
        [](MemoryShape& s) {
          s.parallel.schedule = ScheduleKind::one_f_one_b;
          s.parallel.chunks = 1;
        });
  }

  void recompute() {
    if (now_.parallel.recompute == Recompute::none)
      add("parallel.recompute=selective",
          [](MemoryShape& s) { s.parallel.recompute = Recompute::selective; });
    if (now_.parallel.recompute != Recompute::full)
      add("parallel.recompute=full",
          [](MemoryShape& s) { s.parallel.recompute = Recompute::full; });
  }

  // The optimizer then keeps copies in f32.
  void round_values() {
    if (now_.dtype != DType::f32) return;
    add("train.precision=bf16", [](MemoryShape& s) {
      s.dtype = DType::bf16;
      s.optimizer_bytes += size_of(DType::f32);
      s.frozen_bytes += size_of(DType::f32);
    });
  }

  // Half of several groups are groups, whose sums then wait for each other.
  void cut_rows() {
    const int groups = now_.groups_per_micro_batch;
    if (now_.micro_batch % 2 != 0 || (groups > 1 && groups % 2 != 0)) return;
    add(fmt::format("train.micro_batch={}", now_.micro_batch / 2), [&](MemoryShape& s) {
      s.micro_batch /= 2;
      s.micro_batches *= 2;
      if (groups == 1) return;
      s.groups_per_micro_batch /= 2;
      s.sums_per_rank *= 2;
    });
  }

  void take_ranks(const ModelConfig& model) {
    const int64_t tensor = 2 * now_.parallel.tensor, pipeline = 2 * now_.parallel.pipeline;
    const bool divides = model.n_heads % tensor == 0 && model.kv_heads() % tensor == 0 &&
                         model.hidden() % tensor == 0;
    const auto halve = [](MemoryShape& s, int& ranks) {
      ranks *= 2;
      s.parameters /= 2;
      s.frozen /= 2;
    };
    if (divides)
      add(fmt::format("parallel.tensor={} on twice the ranks", tensor),
          [&](MemoryShape& s) { halve(s, s.parallel.tensor); });
    if (pipeline * now_.parallel.chunks <= model.n_layers)
      add(fmt::format("parallel.pipeline={} on twice the ranks", pipeline), [&](MemoryShape& s) {
        halve(s, s.parallel.pipeline);
        s.stage *= 2;
        s.frozen_blocks /= 2;
      });
  }

  const MemoryShape& now_;
  std::vector<Change> all_;
};

RankMemory memory_of(const ModelConfig& model, const MemoryShape& shape) {
  Parameters blocks(shape.dtype, 0, shape.parallel.tensor);
  describe_fullest_rank(model, shape.parallel, blocks);
  blocks.freeze([&](const Parameter& p) {
    return p.part.kind == Part::block && p.part.block_number < shape.frozen_blocks;
  });
  return estimated_memory(shape, blocks);
}

// Sums of a gradient that wait for each other while the groups of a micro-batch are added
// (ops/by_group.h).
int64_t sums_at_once(const MemoryShape& shape) {
  const auto groups = static_cast<unsigned>(shape.groups_per_micro_batch);
  return groups == 1 ? 0 : std::bit_width(groups - 1) + 1;
}

int64_t tokens_at_once(const MemoryShape& shape) { return shape.micro_batch * shape.tokens; }

// Of the logits that exist together.
int64_t head_rows(const MemoryShape& shape) {
  const double rows = number(tokens_at_once(shape)) * shape.head.places;
  return kernels::rows_of_logits(static_cast<int64_t>(rows) / shape.groups_per_micro_batch,
                                 shape.head.ids, shape.dtype, shape.parallel.device);
}

double packed_bytes(const MemoryShape& shape, const Parameters& blocks) {
  if (shape.parallel.device != DeviceKind::cpu) return 0;
  const auto copies = [&](int64_t rows, int64_t numbers) {
    return kernels::keeps_packed(shape.dtype, rows) ? number(2 * numbers * size_of(shape.dtype))
                                                    : 0;
  };
  const BackwardReach reach(blocks);
  const auto read = [&](int block, double both) {
    return reach.reaches(block) ? both : both / 2;  // nothing reads it transposed
  };
  double bytes = shape.head.ids == 0
                     ? 0
                     : read(-1, copies(head_rows(shape), shape.head.ids * shape.head.width));
  for (const Parameter& p : blocks.all())
    if (is_matrix(p) && !is_head(p))
      bytes += read(p.part.block_number, copies(tokens_at_once(shape), p.local.size()));
  return bytes;
}

double work_of_head(const MemoryShape& shape) {
  const HeadShape& head = shape.head;
  if (head.ids == 0) return 0;
  const double rows = number(tokens_at_once(shape)) * head.places;
  const int64_t values = size_of(shape.dtype), sums = size_of(gradient_dtype(shape.dtype)),
                a_number = sums + (values == sums ? 0 : values), at_once = head_rows(shape);
  return number(at_once * head.ids * a_number +
                sums_at_once(shape) * head.ids * head.width * sums) +
         rows * number(2 * head.width * values);
}

// Of a feed-forward layer's backward: both sides of its nonlinearity with their gradients, those of
// its input and output, and of its weight. Where no block has one, of its forward.
double work_of_block(const MemoryShape& shape, const Parameters& blocks) {
  int64_t widest = 0, narrowest = 0, largest = 0;
  bool turns_back = false;
  const BackwardReach reach(blocks);
  for (const Parameter& p : blocks.all()) {
    turns_back = turns_back || (p.part.kind == Part::block && reach.reaches(p.part.block_number));
    if (!is_matrix(p) || is_head(p) || p.local.size() < largest) continue;
    largest = p.local.size();
    widest = std::max(p.local[0], p.local[1]);
    narrowest = std::min(p.local[0], p.local[1]);
  }
  const double rows = number(tokens_at_once(shape));
  if (!turns_back) return rows * number(2 * (widest + narrowest) * size_of(shape.dtype));
  return rows * number((3 * widest + 2 * narrowest) * size_of(shape.dtype)) +
         number(sums_at_once(shape) * largest * size_of(gradient_dtype(shape.dtype)));
}

// The file holds values in f32 once: where they are f32 the optimizer has no copy of its own.
double snapshot_bytes(const MemoryShape& shape) {
  const int64_t values = shape.dtype == gradient_dtype(shape.dtype) ? size_of(shape.dtype) : 0;
  return (shape.parameters * number(values + shape.optimizer_bytes) +
          shape.frozen * number(values + shape.frozen_bytes)) /
         shape.parallel.data;
}

}  // namespace

double RankMemory::total() const {
  const double passing = activations + work, always = kept() + packed;
  switch (place) {
    case Snapshot::waited_for: return always + std::max(passing, snapshot);
    case Snapshot::beside: return always + passing + snapshot;
    case Snapshot::none:
    case Snapshot::on_host: break;
  }
  return always + passing;
}

MemoryShape memory_shape(const ModelConfig& config, const ParallelConfig& parallel,
                         const BatchPlan& plan, const Mesh& mesh, const LocalModel& model) {
  const Parameters& parameters = model.parameters();
  MemoryShape made{.dtype = parameters.dtype(), .parallel = parallel};
  made.parallel.pipeline = mesh.shape().pp;
  made.parallel.data = mesh.shape().dp;
  made.parallel.tensor = mesh.shape().tp;
  made.stage = mesh.stage();
  std::set<std::string> counted;  // uses of a tensor share its values
  std::set<int> frozen_blocks;
  for (const Parameter& p : parameters.all()) {
    if (is_head(p))
      made.head = {p.local[0], p.local[1], config.architecture->rows_per_token(config).places};
    const bool first = counted.insert(p.tensor()).second;
    if (p.learns)
      (first ? made.parameters : made.reused) += number(p.valid_size());
    else if (first)
      made.frozen += number(p.valid_size());
    if (!p.learns && !p.constant && p.part.kind == Part::block)
      frozen_blocks.insert(p.part.block_number);
  }
  made.frozen_blocks = static_cast<int>(frozen_blocks.size());
  made.micro_batch = plan.micro_batch;
  made.micro_batches = plan.micro_batches();
  made.sums_per_rank = plan.sums_per_rank();
  made.strided = plan.strided;
  made.groups_per_micro_batch = plan.groups_per_micro_batch;
  made.tokens = config.context;
  return made;
}

RankMemory estimated_memory(const MemoryShape& shape, const Parameters& blocks) {
  const ParallelConfig& p = shape.parallel;
  const int64_t sums = size_of(gradient_dtype(shape.dtype));
  const int levels = std::bit_width(static_cast<unsigned>(shape.sums_per_rank - 1));
  RankMemory made;
  made.values = (shape.parameters + shape.frozen) * number(size_of(shape.dtype));
  const double learnt = shape.parameters + shape.reused;
  made.gradients = learnt * number(sums);
  made.waiting = learnt * number(sums * levels) / (shape.strided ? p.data : 1);
  made.optimizer = (shape.parameters * number(shape.optimizer_bytes) +
                    shape.frozen * number(shape.frozen_bytes)) /
                   (p.zero ? p.data : 1);
  made.others = shape.others;
  made.activations = kept_bytes(
      blocks, {tokens_at_once(shape), shape.source_tokens, p.sequence, p.recompute,
               most_in_flight(p.schedule, shape.stage, p.pipeline, shape.micro_batches, p.chunks)});
  made.packed = packed_bytes(shape, blocks);
  made.work = std::max(work_of_head(shape), work_of_block(shape, blocks));
  made.place = shape.snapshot;
  if (made.place != Snapshot::none) made.snapshot = snapshot_bytes(shape);
  return made;
}

void describe_fullest_rank(const ModelConfig& model, const ParallelConfig& parallel,
                           Parameters& blocks) {
  const int64_t layers = (model.n_layers + parallel.pipeline - 1) / parallel.pipeline;
  describe(model, {0, static_cast<int>(layers), false, false, 0}, blocks);
}

std::string memory_advice(const ModelConfig& model, const MemoryShape& shape) {
  const RankMemory now = memory_of(model, shape);
  std::string text =
      fmt::format("By formula a rank needs {}: values {}, gradients {}", readable_size(now.total()),
                  readable_size(now.values), readable_size(now.gradients));
  if (now.waiting > 0) text += fmt::format(", sums of groups {}", readable_size(now.waiting));
  text += ", optimizer " + readable_size(now.optimizer);
  if (now.others > 0) text += ", other models " + readable_size(now.others);
  text +=
      fmt::format(", packed weights {}, activations {}, work space {}", readable_size(now.packed),
                  readable_size(now.activations), readable_size(now.work));
  if (now.place == Snapshot::beside) text += ", snapshot " + readable_size(now.snapshot);
  if (now.place == Snapshot::waited_for)
    text += fmt::format(", or in place of these two a snapshot of {}", readable_size(now.snapshot));
  const char* between = ". It would need ";
  const Changes changes(model, shape);
  for (const Change& change : changes.all()) {
    double total = now.total();
    refusal_of([&] {  // some models divide less, and some schedules take other micro-batches
      const ParallelConfig& p = change.shape.parallel;
      check_schedule_fits(p.schedule, p.pipeline, narrow<int>(change.shape.micro_batches),
                          p.chunks);
      total = memory_of(model, change.shape).total();
    });
    if (total >= now.total()) continue;
    text += fmt::format("{}{} with {}", between, readable_size(total), change.text);
    between = ", ";
  }
  return text;
}

namespace {

// Where a rank's memory is, and how much it can take there.
struct Place {
  std::string key;   // the same for ranks that share it
  std::string name;  // for messages
  double available = 0;
};

Place gpu_of(int index) {
  const cuda::Memory memory = cuda::memory(index);
  return {cuda::identity(index), fmt::format("{} of host {}", cuda::name(index), host_name()),
          number(memory.free + memory.idle)};
}

Place place_of(Device device) {
  if (device.kind == DeviceKind::cuda) return gpu_of(device.index);
  const HostLimits limits = host_limits();
  std::string name = "host " + host_name();
  if (limits.memory_limit > 0)
    name += fmt::format(", where a cgroup ends who takes more than {}",
                        readable_size(limits.memory_limit));
  return {host_name(), name, number(limits.available)};
}

struct Demand {
  int ranks = 0;
  double bytes = 0;
};

// Of the ranks with this key.
Demand demand_at(const std::string& key, const std::vector<std::string>& keys,
                 const std::vector<double>& needs) {
  Demand made;
  for (size_t rank = 0; rank < keys.size(); ++rank)
    if (keys[rank] == key) {
      made.bytes += needs[rank];
      ++made.ranks;
    }
  return made;
}

}  // namespace

void require_memory(Group& world, Device device, const ModelConfig& model,
                    const MemoryShape& shape) {
  const Place own = place_of(device);
  const std::vector<std::string> keys = world.all_gather(own.key),
                                 names = world.all_gather(own.name);
  const Parameters no_blocks(shape.dtype, 0, shape.parallel.tensor);  // activations do not count
  const std::vector<double> needs = world.all_gather(estimated_memory(shape, no_blocks).kept()),
                            left = world.all_gather(own.available);
  for (size_t rank = 0; rank < keys.size(); ++rank) {
    const Demand demand = demand_at(keys[rank], keys, needs);
    if (demand.bytes <= left[rank]) continue;
    const bool one = demand.ranks == 1;
    fail_usage(
        "the model does not fit: {} rank{} {} from step to step, activations left out, and "
        "{} can be taken on {}. {}",
        demand.ranks, one ? " keeps" : "s keep", readable_size(demand.bytes),
        readable_size(left[rank]), names[rank], memory_advice(model, shape));
  }
}

}  // namespace skein
