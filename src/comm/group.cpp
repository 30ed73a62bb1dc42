#include "skein/comm/group.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "skein/comm/queued_transport.h"
#include "skein/comm/window.h"
#include "skein/core/numbers.h"
#include "skein/core/profile.h"

#include "halving.h"
#include "tree_sum.h"

namespace skein {
namespace {

// From here on ranks of one host exchange tensors through memory they share.
constexpr int64_t kSharedBytes = 16 << 10;
// Below this an all-reduce gathers everything everywhere: one exchange instead of two.
constexpr int64_t kSmallBytes = 64 << 10;
// Larger tensors are reduced in pieces, so that the sums run in cache and the scratch stays small.
constexpr int64_t kPieceBytes = 1 << 20;
std::byte* bytes_of(auto& value) { return reinterpret_cast<std::byte*>(&value); }

// Tensors on a device pass through the host.
bool away(const Tensor& tensor) { return tensor.device().kind != DeviceKind::cpu; }

// Does the collective, to its end, on a host copy of what it changes.
template <class Collective>
Work through_host(const Tensor& tensor, const Collective& collective) {
  const Tensor copy = tensor.to(Device{});
  collective(copy);
  tensor.copy_from(copy);
  return {};
}

Work copied(const Tensor& in, const Tensor& out) {
  out.copy_from(in);
  return {};
}

// out [n] from blocks [ranks*n]; out may be one of them.
template <class T>
void sum_blocks(const T* blocks, int ranks, int64_t n, T* out) {
  std::vector<const T*> each;
  for (int r = 0; r < ranks; ++r) each.push_back(blocks + r * n);
  sum_ranks(each, n, out);
}

void sum_blocks(const Tensor& blocks, int ranks, const Tensor& out) {
  visit_sums(out.dtype(), [&]<class T>(TypeTag<T>) {
    sum_blocks(blocks.data<T>(), ranks, out.size(), out.data<T>());
  });
}

// blocks [ranks*n] of every rank's `in` [n]
Tensor gather_blocks(Group& group, const Tensor& in) {
  Tensor blocks = Tensor::empty({group.size() * in.size()}, in.dtype(), in.device());
  group.all_gather_bytes(in.bytes_data(), blocks.bytes_data(), in.bytes()).wait();
  return blocks;
}

// `tensor` followed by zeros up to `size` elements
Tensor padded(const Tensor& tensor, int64_t size) {
  Tensor made = Tensor::empty({size}, tensor.dtype(), tensor.device());
  made.flat(0, tensor.size()).copy_from(tensor);
  made.flat(tensor.size(), size - tensor.size()).fill_zero();
  return made;
}

void all_reduce_piece(Group& group, const Tensor& piece) {
  const int64_t n = piece.size(), ranks = group.size();
  if (piece.bytes() < kSmallBytes)
    return sum_blocks(gather_blocks(group, piece), group.size(), piece);
  const int64_t block = pieces_of(n, ranks);
  const bool even = n == block * ranks;
  const Tensor whole = even ? piece : padded(piece, block * ranks);
  const Tensor own = whole.flat(block * group.rank(), block);
  scatter_sum(group, whole, own);
  group.all_gather_bytes(own.bytes_data(), whole.bytes_data(), own.bytes()).wait();
  if (!even) piece.copy_from(whole.flat(0, n));
}

template <class T>
T larger(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return b > a || std::isnan(b) ? b : a;
  else
    return b > a ? b : a;
}

template <class T>
void max_blocks(const T* blocks, int ranks, int64_t n, T* out) {
  std::copy_n(blocks, n, out);
  for (int64_t r = 1; r < ranks; ++r)
    for (int64_t i = 0; i < n; ++i) out[i] = larger(out[i], blocks[r * n + i]);
}

}  // namespace

Group::Group() = default;
Group::~Group() = default;

void Group::set_device_transport(std::unique_ptr<QueuedTransport> transport) {
  devices_ = std::move(transport);
}

Window* Group::window_for(int64_t bytes) { return bytes >= kSharedBytes ? window() : nullptr; }

void Group::set_name(const char* name, int number) {
  name_ = name;
  turn_ = 0;
  FlightRecorder::of_this_thread()->join(name, number);
}

InFlight Group::collective(const char* what, int64_t bytes) {
  return InFlight({what, name_, bytes}, ++turn_);
}

Work Group::watched(Work work, const char* what, int64_t bytes, int peer, bool outgoing) const {
  return Work([work, exchange = Exchange{what, name_, bytes, peer, outgoing}]() mutable {
    const InFlight here(exchange);
    work.wait();
  });
}

void Group::barrier() {
  const InFlight here = collective("barrier", 0);
  meet();
}

Work Group::send(const Tensor& tensor, int peer, int tag) {
  if (away(tensor) && devices_ && devices_->connects(peer))
    return devices_->send(tensor, peer, tag);
  const Tensor here = away(tensor) ? tensor.to(Device{}) : tensor;
  Work sent = watched(send_bytes(here.bytes_data(), here.bytes(), peer, tag), "send", here.bytes(),
                      peer, true);
  return away(tensor) ? Work([here, sent]() mutable { sent.wait(); }) : sent;
}

Work Group::recv(const Tensor& tensor, int peer, int tag) {
  if (away(tensor) && devices_ && devices_->connects(peer))
    return devices_->recv(tensor, peer, tag);
  const Tensor here = away(tensor) ? Tensor::empty(tensor.shape(), tensor.dtype()) : tensor;
  Work received = watched(recv_bytes(here.bytes_data(), here.bytes(), peer, tag), "receive",
                          here.bytes(), peer, false);
  if (!away(tensor)) return received;
  return Work([tensor, here, received]() mutable {
    received.wait();
    tensor.copy_from(here);
  });
}

Work Group::all_gather(const Tensor& in, const Tensor& out) {
  const Span span("all gather", 0, static_cast<double>(out.bytes()));
  SKEIN_CHECK(in.dtype() == out.dtype());
  SKEIN_CHECK_EQ(out.size(), size() * in.size());
  if (in.size() == 0 || (size() == 1 && in.bytes_data() == out.bytes_data())) return {};
  if (size() == 1) return copied(in, out);
  if (away(in) && devices_) return devices_->all_gather(in, out);
  const InFlight here = collective("all-gather", out.bytes());
  if (away(in))
    return through_host(out, [&](const Tensor& copy) { all_gather(in.to(Device{}), copy).wait(); });
  if (Window* shared = window_for(out.bytes())) return shared->all_gather(in, out);
  // Few ranks gain nothing by doubling.
  if (size() <= 3) return all_gather_bytes(in.bytes_data(), out.bytes_data(), in.bytes());
  gather_by_doubling(*this, in.bytes_data(), out.bytes_data(), in.bytes());
  return {};
}

Work Group::reduce_scatter(const Tensor& in, const Tensor& out) {
  const Span span("reduce scatter", 0, static_cast<double>(in.bytes()));
  SKEIN_CHECK(in.dtype() == out.dtype());
  SKEIN_CHECK_EQ(in.size(), size() * out.size());
  if (out.size() == 0 || (size() == 1 && in.bytes_data() == out.bytes_data())) return {};
  if (size() == 1) return copied(in, out);
  if (away(in) && devices_) return devices_->reduce_scatter(in, out);
  const InFlight here = collective("reduce-scatter", in.bytes());
  if (away(in))
    return through_host(out,
                        [&](const Tensor& copy) { reduce_scatter(in.to(Device{}), copy).wait(); });
  if (Window* shared = window_for(in.bytes())) return shared->reduce_scatter(in, out);
  scatter_sum(*this, in, out);
  return {};
}

Work Group::all_reduce_sum(const Tensor& tensor) {
  const Span span("all reduce", 0, static_cast<double>(tensor.bytes()));
  if (size() == 1) return {};
  if (away(tensor) && devices_) return devices_->all_reduce(tensor, false);
  const InFlight here = collective("all-reduce", tensor.bytes());
  if (away(tensor))
    return through_host(tensor, [&](const Tensor& copy) { all_reduce_sum(copy).wait(); });
  if (Window* shared = window_for(tensor.bytes())) return shared->all_reduce_sum(tensor);
  const int64_t most =
      std::max<int64_t>(1, kPieceBytes / size_of(tensor.dtype()) / size()) * size();
  for (int64_t begin = 0; begin < tensor.size(); begin += most)
    all_reduce_piece(*this, tensor.flat(begin, std::min(most, tensor.size() - begin)));
  return {};
}

Work Group::all_reduce_max(const Tensor& tensor) {
  if (size() == 1 || tensor.size() == 0) return {};
  if (away(tensor) && devices_) return devices_->all_reduce(tensor, true);
  const InFlight here = collective("all-reduce", tensor.bytes());
  if (away(tensor))
    return through_host(tensor, [&](const Tensor& copy) { all_reduce_max(copy).wait(); });
  const Tensor blocks = gather_blocks(*this, tensor);
  const auto take = [&]<class T>(TypeTag<T>) {
    max_blocks(blocks.data<T>(), size(), tensor.size(), tensor.data<T>());
    return Work();
  };
  switch (tensor.dtype()) {
    case DType::f32: return take(TypeTag<float>{});
    case DType::f64: return take(TypeTag<double>{});
    case DType::i64: return take(TypeTag<int64_t>{});
    default:
      throw Error(ExitCode::internal,
                  fmt::format("no maximum over ranks of {}", name_of(tensor.dtype())));
  }
}

Work Group::broadcast(const Tensor& tensor, int root) {
  const Span span("broadcast", 0, static_cast<double>(tensor.bytes()));
  if (size() == 1 || tensor.size() == 0) return {};
  if (away(tensor) && devices_) return devices_->broadcast(tensor, root);
  const InFlight here = collective("broadcast", tensor.bytes());
  if (away(tensor))
    return through_host(tensor, [&](const Tensor& copy) { broadcast(copy, root).wait(); });
  return broadcast_bytes(tensor.bytes_data(), tensor.bytes(), root);
}

Work Group::trade(std::span<const Trade> trades) {
  if (trades.empty()) {
    ++turn_;  // others may have some
    return {};
  }
  const bool leaves = away(trades.front().sent);
  if (leaves && devices_) return devices_->trade(trades);
  const InFlight here = collective("trade", std::ssize(trades) * trades.front().sent.bytes());
  std::vector<Tensor> sent, got;
  std::vector<ByteTrade> moves;
  for (const Trade& trade : trades) {
    sent.push_back(leaves ? trade.sent.to(Device{}) : trade.sent);
    got.push_back(leaves ? Tensor::empty(trade.got.shape(), trade.got.dtype()) : trade.got);
    moves.push_back({trade.peer, sent.back().bytes_data(), got.back().bytes_data()});
  }
  trade_bytes(*this, moves, sent.front().bytes());
  for (size_t i = 0; leaves && i < trades.size(); ++i) trades[i].got.copy_from(got[i]);
  return {};
}

template <class T>
T Group::sum_values(T value) {
  if (size() > 1) sum_blocks(all_values(value).data(), size(), 1, &value);
  return value;
}

double Group::sum(double value) { return sum_values(value); }

int64_t Group::sum(int64_t value) { return sum_values(value); }

int64_t Group::max(int64_t value) {
  if (size() == 1) return value;
  return std::ranges::max(all_values(value));
}

bool Group::any(bool value) { return max(int64_t{value}) != 0; }

std::vector<double> Group::all_gather(double value) {
  return size() == 1 ? std::vector{value} : all_values(value);
}

std::string Group::broadcast(const std::string& text, int root) {
  if (size() == 1) return text;
  const InFlight here = collective("broadcast", std::ssize(text));
  auto length = static_cast<int64_t>(text.size());
  broadcast_bytes(bytes_of(length), sizeof(length), root).wait();
  std::string copy = text;
  copy.resize(static_cast<size_t>(length));
  if (length > 0) broadcast_bytes(bytes_of(copy[0]), length, root).wait();
  return copy;
}

std::vector<std::string> Group::all_gather(const std::string& text) {
  if (size() == 1) return {text};
  const InFlight here = collective("all-gather", std::ssize(text));
  const auto lengths = all_values(std::ssize(text));
  const size_t longest = std::ranges::max(lengths);
  std::vector<std::string> texts(lengths.size());
  if (longest == 0) return texts;
  std::string mine = text, all(longest * lengths.size(), '\0');
  mine.resize(longest);
  all_gather_bytes(bytes_of(mine[0]), bytes_of(all[0]), static_cast<int64_t>(longest)).wait();
  for (size_t r = 0; r < texts.size(); ++r)
    texts[r] = all.substr(r * longest, static_cast<size_t>(lengths[r]));
  return texts;
}

}  // namespace skein
