// Every kernel walks the links of one end of them: a row's (or a column's) results are made by one
// thread, link after link. Ends are dealt to threads so that each has about as many links.
#include <limits>
#include <ranges>

#include "skein/core/profile.h"
#include "skein/kernels/links.h"

#include "elements.h"

namespace skein::kernels {
namespace {

double dot_flops(int64_t links, const Tensor& x) {
  return 2.0 * static_cast<double>(links * x.dim(1) * x.dim(2));
}

// A LinkSide as the loops read it.
struct Ends {
  explicit Ends(const LinkSide& at)
      : starts(at.starts.data<int32_t>()),
        links(at.links.data_or_null<int32_t>()),
        others(at.others.data<int32_t>()),
        count(at.size()) {}

  const int32_t *starts, *links, *others;
  int64_t count;

  int64_t link(int64_t i) const { return links ? links[i] : i; }

  // f(link, the other end) for the links at one end.
  template <class F>
  void each(int64_t end, const F& f) const {
    for (int64_t i = starts[end]; i < starts[end + 1]; ++i) f(link(i), int64_t{others[link(i)]});
  }

  // body(begin, end) for all ends, in pieces of about so many links and ends that a thread needs
  // for `width` numbers of each to be worth its while.
  template <class Body>
  void share(int64_t width, const Body& body) const {
    const int64_t work = count + starts[count], grain = row_grain(width);
    const int64_t pieces = std::clamp<int64_t>(work / grain, 1, 16L * omp_get_max_threads());
    const auto first_of = [&](int64_t piece) {
      const int64_t wanted = work * piece / pieces;
      const auto ends = std::views::iota(int64_t{0}, count);
      return *std::ranges::partition_point(ends, [&](int64_t n) { return n + starts[n] < wanted; });
    };
    parallel_ranges(pieces, 1, [&](int64_t begin, int64_t end) {
      body(first_of(begin), end == pieces ? count : first_of(end));
    });
  }
};

// Sum over i < n of f(i) in an order that n fixes, in eight lanes where it fills them.
template <class A, class F>
inline A short_sum(int64_t n, const F& f) {
  constexpr int kLanes = 8;
  A lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int l = 0; l < kLanes; ++l) lanes[l] += f(i + l);
  A sum = 0;
  for (int64_t rest = i; rest < n; ++rest) sum += f(rest);
  if (i == 0) return sum;
  for (int width = kLanes / 2; width; width /= 2)
    for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  return lanes[0] + sum;
}

// sums [heads * width] += weight of each head times x.
template <class T>
inline void add_weighted(const T* x, const Accumulator<T>* weights, int64_t heads, int64_t width,
                         Accumulator<T>* sums) {
  for (int64_t h = 0; h < heads; ++h) {
    const Accumulator<T> weight = weights[h];
    for (int64_t d = 0; d < width; ++d)
      sums[h * width + d] = fused(weight, load(x + h * width + d), sums[h * width + d]);
  }
}

}  // namespace

void gather_sum(Cpu, const Tensor& x, const LinkSide& at, const Tensor& weights, double scale,
                Out out) {
  const Ends ends(at);
  const Span span("gather sum", dot_flops(ends.starts[ends.count], x));
  const int64_t heads = x.dim(1), width = x.dim(2), row = heads * width;
  visit_float(x.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    const T* from = x.data<T>();
    const A* weight = weights.data_or_null<A>();
    T* to = out->data<T>();
    ends.share(row, [=](int64_t begin, int64_t end) {
      A* const sums = scratch<A>(Scratch::gradients, row);
      for (int64_t n = begin; n < end; ++n) {
        std::fill_n(sums, row, A(0));
        ends.each(n, [=](int64_t link, int64_t other) {
          if (weight)
            add_weighted(from + other * row, weight + link * heads, heads, width, sums);
          else
            for (int64_t i = 0; i < row; ++i) sums[i] += load(from + other * row + i);
        });
        for (int64_t i = 0; i < row; ++i) store(to + n * row + i, A(scale) * sums[i]);
      }
    });
  });
}

void link_dot(Cpu, const Tensor& q, const Tensor& k, const Links& links, double scale, Out a) {
  const Ends ends(links.by_row());
  const Span span("link dot", dot_flops(links.size(), q));
  const int64_t heads = q.dim(1), width = q.dim(2), row = heads * width;
  visit_float(q.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    const T *query = q.data<T>(), *key = k.data<T>();
    A* to = a->data<A>();
    ends.share(row, [=](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n)
        ends.each(n, [=, of = query + n * row](int64_t link, int64_t other) {
          for (int64_t h = 0; h < heads; ++h) {
            const T *left = of + h * width, *right = key + other * row + h * width;
            to[link * heads + h] = A(scale) * short_sum<A>(width, [=](int64_t d) {
                                     return load(left + d) * load(right + d);
                                   });
          }
        });
    });
  });
}

namespace {

// a [links,heads] of one row -> w.
template <class A>
void softmax_row(const A* a, int64_t links, int64_t heads, A* tops, A* w) {
  constexpr A kNothing = -std::numeric_limits<A>::infinity();
  A* const sums = tops + heads;
  std::fill_n(tops, heads, kNothing);
  std::fill_n(sums, heads, A(0));
  for (int64_t e = 0; e < links; ++e)
    for (int64_t h = 0; h < heads; ++h)
      tops[h] = a[e * heads + h] > tops[h] ? a[e * heads + h] : tops[h];
  // Where nothing is seen all exponentials shall be 0.
  for (int64_t h = 0; h < heads; ++h) tops[h] = tops[h] == kNothing ? A(0) : tops[h];
  for (int64_t e = 0; e < links; ++e)
    for (int64_t h = 0; h < heads; ++h) w[e * heads + h] = a[e * heads + h] - tops[h];
  for_lanes<A>(0, links * heads, [=](auto at) { at.store(w, exponential(at.load(w))); });
  for (int64_t e = 0; e < links; ++e)
    for (int64_t h = 0; h < heads; ++h) sums[h] += w[e * heads + h];
  for (int64_t h = 0; h < heads; ++h) sums[h] = sums[h] > 0 ? 1 / sums[h] : A(0);
  for (int64_t e = 0; e < links; ++e)
    for (int64_t h = 0; h < heads; ++h) w[e * heads + h] *= sums[h];
}

template <class A>
void softmax_row_backward(const A* w, const A* dw, int64_t links, int64_t heads, A* along, A* da) {
  std::fill_n(along, heads, A(0));
  for (int64_t e = 0; e < links; ++e)
    for (int64_t h = 0; h < heads; ++h)
      along[h] = fused(w[e * heads + h], dw[e * heads + h], along[h]);
  for (int64_t e = 0; e < links; ++e)
    for (int64_t h = 0; h < heads; ++h)
      da[e * heads + h] = w[e * heads + h] * (dw[e * heads + h] - along[h]);
}

}  // namespace

void link_softmax(Cpu, const Tensor& a, const Links& links, Out w) {
  const Span span("link softmax");
  const Ends ends(links.by_row());
  const int64_t heads = a.dim(1);
  visit_float(a.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    const A* from = a.data<A>();
    A* to = w->data<A>();
    ends.share(heads, [=](int64_t begin, int64_t end) {
      A* const tops = scratch<A>(Scratch::gradients, 2 * heads);
      for (int64_t n = begin; n < end; ++n) {
        const int64_t first = ends.starts[n], count = ends.starts[n + 1] - first;
        softmax_row(from + first * heads, count, heads, tops, to + first * heads);
      }
    });
  });
}

void link_softmax_backward(Cpu, const Tensor& w, const Tensor& dw, const Links& links, Out da) {
  const Span span("link softmax backward");
  const Ends ends(links.by_row());
  const int64_t heads = w.dim(1);
  visit_float(w.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    const A *weight = w.data<A>(), *slope = dw.data<A>();
    A* to = da->data<A>();
    ends.share(heads, [=](int64_t begin, int64_t end) {
      A* const along = scratch<A>(Scratch::gradients, heads);
      for (int64_t n = begin; n < end; ++n) {
        const int64_t first = ends.starts[n], count = ends.starts[n + 1] - first,
                      at = first * heads;
        softmax_row_backward(weight + at, slope + at, count, heads, along, to + at);
      }
    });
  });
}

void link_product(Cpu, const Tensor& a, const Tensor& b, Out out) {
  const Span span("link product");
  visit_float(a.dtype(), [&]<class T>(TypeTag<T>) {
    const T *left = a.data<T>(), *right = b.data<T>();
    T* to = out->data<T>();
    for_elements<T>(a.size(), [=](auto at) { at.store(to, at.load(left) * at.load(right)); });
  });
}

namespace {

// A term of all links, seen from one end of them: `other` is indexed by the other end. Null where
// there is none.
template <class T>
struct Terms {
  using A = Accumulator<T>;

  Terms(const LinkTerms& terms, const Tensor& near, const Tensor& far, const Shape& shape)
      : near(near.data_or_null<T>()),
        far(far.data_or_null<T>()),
        own(terms.link.data_or_null<T>()),
        weights(terms.weights.data_or_null<T>()),
        slope(terms.slope),
        heads(shape[1]),
        width(shape[2]),
        row(heads * width) {}

  const T *near, *far, *own, *weights;
  A slope;
  int64_t heads, width, row;

  static A at(const T* term, int64_t i) { return term ? load(term + i) : A(0); }
  A weight(int64_t i) const { return weights ? load(weights + i) : A(1); }
  // The sum of what number i of a row, of a column and of a link hold.
  A sum(int64_t end, int64_t other, int64_t link, int64_t i) const {
    return at(near, end * row + i) + at(far, other * row + i) + at(own, link * row + i);
  }
  A f(A z) const { return z > 0 ? z : slope * z; }
};

// What the links at one end give to its term, and to what hangs on links or ends: null where nobody
// asks.
template <class T>
struct EndSums {
  using A = Accumulator<T>;
  T *near, *own;
  A* weights;

  // sums, weight_sums [row] are the calling thread's.
  void add(const Terms<T>& terms, const A* da, int64_t end, int64_t other, int64_t link, A* sums,
           A* weight_sums) const {
    for (int64_t h = 0; h < terms.heads; ++h)
      for (int64_t i = h * terms.width; i < (h + 1) * terms.width; ++i) {
        const A z = terms.sum(end, other, link, i), slope = da[link * terms.heads + h],
                dz = slope * terms.weight(i) * (z > 0 ? A(1) : terms.slope);
        sums[i] += dz;
        weight_sums[i] = fused(slope, terms.f(z), weight_sums[i]);
        if (own) store(own + link * terms.row + i, dz);
      }
  }
  void end(const Terms<T>& terms, const Ends& ends, const A* da, int64_t n) const {
    const int64_t row = terms.row;
    A* const sums = scratch<A>(Scratch::gradients, 2 * row);
    std::fill_n(sums, 2 * row, A(0));
    ends.each(n, [=, this, &terms](int64_t link, int64_t other) {
      add(terms, da, n, other, link, sums, sums + row);
    });
    for (int64_t i = 0; near && i < row; ++i) store(near + n * row + i, sums[i]);
    if (weights) std::copy_n(sums + row, row, weights + n * row);
  }
};

template <class T>
void sum_ends(const Terms<T>& terms, const Ends& ends, const Tensor& da, const EndSums<T>& to) {
  const auto* slopes = da.data<Accumulator<T>>();
  ends.share(4 * terms.row, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) to.end(terms, ends, slopes, n);
  });
}

}  // namespace

void link_additive(Cpu, const LinkTerms& terms, const Links& links, Out a) {
  const Tensor& shape = terms.defined();
  const Span span("link additive", 2 * dot_flops(links.size(), shape));
  const Ends ends(links.by_row());
  visit_float(shape.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    const Terms<T> of(terms, terms.row, terms.column, shape.shape());
    A* to = a->data<A>();
    ends.share(2 * of.row, [=](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n)
        ends.each(n, [=](int64_t link, int64_t other) {
          for (int64_t h = 0; h < of.heads; ++h)
            to[link * of.heads + h] = short_sum<A>(of.width, [=](int64_t d) {
              const int64_t i = h * of.width + d;
              return of.weight(i) * of.f(of.sum(n, other, link, i));
            });
        });
    });
  });
}

void link_additive_backward(Cpu, const LinkTerms& terms, const Links& links, const Tensor& da,
                            const LinkTermOuts& to) {
  const Tensor& shape = terms.defined();
  const Span span("link additive backward", 4 * dot_flops(links.size(), shape));
  visit_float(shape.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    if (to.row->defined() || to.link->defined() || to.row_weights->defined())
      sum_ends<T>({terms, terms.row, terms.column, shape.shape()}, Ends(links.by_row()), da,
                  {to.row->data_or_null<T>(), to.link->data_or_null<T>(),
                   to.row_weights->data_or_null<A>()});
    if (to.column->defined())
      sum_ends<T>({terms, terms.column, terms.row, shape.shape()}, Ends(links.by_column()), da,
                  {to.column->data_or_null<T>(), nullptr, nullptr});
  });
}

}  // namespace skein::kernels
