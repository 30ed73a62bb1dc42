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

// Bytes [begin, end) of rows in memory, which are asked for ahead of their use. GCC drops calls of
// functions that do nothing else, so that no lambda can do it.
struct Ahead {
  const char* rows = nullptr;
  int64_t row_bytes = 0, begin = 0, end = 0;

  // Of rows of so many elements, which may be null.
  template <class T>
  static Ahead whole(const T* rows, int64_t width) {
    const int64_t bytes = width * static_cast<int64_t>(sizeof(T));
    return {reinterpret_cast<const char*>(rows), bytes, 0, rows ? bytes : 0};
  }
  // Of each row the line of memory that begins with an element, if one does.
  template <class T>
  static Ahead line(const T* rows, int64_t width, int64_t element) {
    Ahead made = whole(rows, width);
    made.begin = element * static_cast<int64_t>(sizeof(T));
    made.end = rows && made.begin % 64 == 0 ? made.begin + 1 : made.begin;
    return made;
  }
};

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

  // f(link, the other end) for the links at one end. What those some way off need is fetched: rows
  // of other ends, and of links.
  template <class F>
  void each(int64_t end, const Ahead& other, const Ahead& own, const F& f) const {
    constexpr int64_t kAhead = 12;
    const int64_t all = starts[count];
    for (int64_t i = starts[end]; i < starts[end + 1]; ++i) {
      if (const int64_t next = i + kAhead; next < all) {
        for (int64_t byte = other.begin; byte < other.end; byte += 64)
          __builtin_prefetch(other.rows + others[next] * other.row_bytes + byte);
        for (int64_t byte = own.begin; byte < own.end; byte += 64)
          __builtin_prefetch(own.rows + link(next) * own.row_bytes + byte);
      }
      f(link(i), int64_t{others[i]});
    }
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
      const auto before = [&](int64_t n) { return n + starts[n] < wanted; };
      return std::ranges::partition_point(ends, before) - ends.begin();
    };
    parallel_ranges(pieces, 1, [&](int64_t begin, int64_t end) {
      body(first_of(begin), end == pieces ? count : first_of(end));
    });
  }
};

// Eight sums at once, on whatever vectors this build has.
template <class A>
struct EightOf {
  typedef A type __attribute__((vector_size(8 * sizeof(A))));
};
template <class A>
using Eight = typename EightOf<A>::type;

// Eight elements at i, and one.
struct EightAt {
  int64_t i;
  template <class T>
  Eight<Accumulator<T>> load(const T* p) const {
    Eight<Accumulator<T>> made;
    if constexpr (std::is_same_v<T, Accumulator<T>>)
      std::memcpy(&made, p + i, sizeof(made));
    else
      for (int l = 0; l < 8; ++l) made[l] = kernels::load(p + i + l);
    return made;
  }
  template <class T>
  void store(T* p, Eight<Accumulator<T>> v) const {
    if constexpr (std::is_same_v<T, Accumulator<T>>)
      std::memcpy(p + i, &v, sizeof(v));
    else
      for (int l = 0; l < 8; ++l) kernels::store(p + i + l, v[l]);
  }
};
struct OneAt {
  int64_t i;
  template <class T>
  Accumulator<T> load(const T* p) const {
    return kernels::load(p + i);
  }
  template <class T>
  void store(T* p, Accumulator<T> v) const {
    kernels::store(p + i, v);
  }
};

// body(at) for the elements of [begin, end): at.load(pointer), at.store(pointer, value). Heads are
// often narrower than a vector.
template <class Body>
inline void for_eights(int64_t begin, int64_t end, const Body& body) {
  int64_t i = begin;
  for (; i + 8 <= end; i += 8) body(EightAt{i});
  for (; i < end; ++i) body(OneAt{i});
}

// Sum over [begin, end) of f(at), in an order that their number fixes.
template <class A, class F>
inline A sum_eights(int64_t begin, int64_t end, const F& f) {
  Eight<A> s = {};
  A rest = 0;
  int64_t i = begin;
  for (; i + 8 <= end; i += 8) s += f(EightAt{i});
  for (; i < end; ++i) rest += f(OneAt{i});
  return (((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))) + rest;
}

// A row of heads.
struct Heads {
  int64_t count, width;
  int64_t row() const { return count * width; }

  // body(at, head) for all elements of a row: eights, and what is left of a head one by one. Heads
  // of one element make eights together, of which number() tells all.
  template <class Body>
  void each(const Body& body) const {
    if (width == 1) return for_eights(0, count, [&](auto at) { body(at, 0); });
    for (int64_t h = 0; h < count; ++h)
      for_eights(h * width, (h + 1) * width, [&](auto at) { body(at, h); });
  }
  // What the heads of these elements have among `numbers`, one a head.
  template <class A>
  auto number(const A* numbers, auto at, int64_t head) const {
    return width == 1 ? at.load(numbers) : decltype(at.load(numbers)){} + numbers[head];
  }
  // a = the sum over each head of f(at).
  template <class A, class F>
  void sum(const F& f, A* a) const {
    if (width == 1) return for_eights(0, count, [&](auto at) { at.store(a, f(at)); });
    for (int64_t h = 0; h < count; ++h) a[h] = sum_eights<A>(h * width, (h + 1) * width, f);
  }
};

// The sum of some elements of a row stays in registers while the links of one end pass by.
template <class T>
struct Gather {
  using A = Accumulator<T>;
  Ends ends;
  Heads heads;
  const T* x;
  const A* weights;  // or null
  A scale;

  void sum(int64_t end, auto at, int64_t head, T* to) const {
    const int64_t row = heads.row();
    decltype(at.load(x)) total{};
    ends.each(
        end, Ahead::line(x, row, at.i), at.i == 0 ? Ahead::whole(weights, heads.count) : Ahead(),
        [&](int64_t link, int64_t other) {
          const auto value = at.load(x + other * row);
          total += weights ? heads.number(weights + link * heads.count, at, head) * value : value;
        });
    at.store(to + end * row, scale * total);
  }
};

}  // namespace

void gather_sum(Cpu, const Tensor& x, const LinkSide& at, const Tensor& weights, double scale,
                Out out) {
  const Ends ends(at);
  const Span span("gather sum", dot_flops(ends.starts[ends.count], x));
  const Heads heads{x.dim(1), x.dim(2)};
  visit_float(x.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    const Gather<T> gather{ends, heads, x.data<T>(), weights.data_or_null<A>(), A(scale)};
    T* to = out->data<T>();
    ends.share(heads.row(), [=](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n)
        heads.each([&](auto at, int64_t head) { gather.sum(n, at, head, to); });
    });
  });
}

void gather_max(Cpu, const Tensor& x, const LinkSide& at, Out out, Out picked) {
  const Span span("gather max");
  const Ends ends(at);
  const int64_t row = x.dim(1) * x.dim(2);
  visit_float(x.dtype(), [&]<class T>(TypeTag<T>) {
    const T* from = x.data<T>();
    T* to = out->data<T>();
    int32_t* first = picked->data<int32_t>();
    ends.share(row, [=](int64_t begin, int64_t end) {
      std::fill(to + begin * row, to + end * row, T(0));
      std::fill(first + begin * row, first + end * row, -1);
      for (int64_t n = begin; n < end; ++n)
        ends.each(n, Ahead::whole(from, row), {}, [=](int64_t link, int64_t other) {
          for (int64_t i = 0; i < row; ++i) {
            const auto value = load(from + other * row + i);
            int32_t& here = first[n * row + i];
            // What is no number is larger than all that are.
            if (here >= 0 && !(value > load(to + n * row + i)) && value == value) continue;
            here = static_cast<int32_t>(link);
            store(to + n * row + i, value);
          }
        });
    });
  });
}

void gather_max_backward(Cpu, const Tensor& dy, const Tensor& picked, const LinkSide& at, Out dx) {
  const Span span("gather max backward");
  const Ends ends(at);
  const int64_t row = dy.dim(1) * dy.dim(2);
  visit_float(dy.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    const T* from = dy.data<T>();
    const int32_t* first = picked.data<int32_t>();
    T* to = dx->data<T>();
    ends.share(row, [=](int64_t begin, int64_t end) {
      A* const sums = scratch<A>(Scratch::gradients, row);
      for (int64_t n = begin; n < end; ++n) {
        std::fill_n(sums, row, A(0));
        ends.each(n, Ahead::whole(from, row), {}, [=](int64_t link, int64_t other) {
          for (int64_t i = 0; i < row; ++i)
            if (first[other * row + i] == link) sums[i] += load(from + other * row + i);
        });
        for (int64_t i = 0; i < row; ++i) store(to + n * row + i, sums[i]);
      }
    });
  });
}

void link_dot(Cpu, const Tensor& q, const Tensor& k, const Links& links, double scale, Out a) {
  const Ends ends(links.by_row());
  const Span span("link dot", dot_flops(links.size(), q));
  const Heads heads{q.dim(1), q.dim(2)};
  visit_float(q.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    const T *query = q.data<T>(), *key = k.data<T>();
    A* to = a->data<A>();
    ends.share(heads.row(), [=](int64_t begin, int64_t end) {
      const int64_t row = heads.row();
      for (int64_t n = begin; n < end; ++n)
        ends.each(n, Ahead::whole(key, row), {}, [=](int64_t link, int64_t other) {
          A* const dots = to + link * heads.count;
          const auto product = [l = query + n * row, r = key + other * row](auto at) {
            return at.load(l) * at.load(r);
          };
          heads.sum(product, dots);
          for (int64_t h = 0; h < heads.count; ++h) dots[h] *= A(scale);
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
  for (int64_t h = 0; h < heads; ++h) sums[h] = sums[h] == 0 ? A(0) : 1 / sums[h];
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

// LinkTerms, seen from one end of the links; null where there is none.
template <class T>
struct Terms {
  using A = Accumulator<T>;

  Terms(const LinkTerms& terms, const Tensor& near, const Tensor& far)
      : near(near.data_or_null<T>()),
        far(far.data_or_null<T>()),
        own(terms.link.data_or_null<T>()),
        weights(terms.weights.data_or_null<T>()),
        slope(terms.slope),
        heads{terms.defined().dim(1), terms.defined().dim(2)},
        row(heads.row()) {}

  const T *near, *far, *own, *weights;
  A slope;
  Heads heads;
  int64_t row;

  // What a link meets: rows of its terms.
  struct Met {
    const T *near, *far, *own;
  };
  Met met(int64_t end, int64_t other, int64_t link) const {
    return {near ? near + end * row : nullptr, far ? far + other * row : nullptr,
            own ? own + link * row : nullptr};
  }
  static auto sum(const Met& met, auto at) {
    decltype(at.load(met.near)) z{};
    if (met.near) z += at.load(met.near);
    if (met.far) z += at.load(met.far);
    if (met.own) z += at.load(met.own);
    return z;
  }
  auto weighted(auto z, auto at) const { return weights ? at.load(weights) * z : z; }
  template <class V>
  V f(V z) const {
    return z > 0 ? z : slope * z;
  }
  template <class V>
  V slope_of(V z) const {
    return z > 0 ? V{} + 1 : V{} + slope;
  }
};

// What the links at one end give to its term, and to what hangs on links or ends: null where nobody
// asks.
template <class T>
struct EndSums {
  using A = Accumulator<T>;
  T *near, *own;
  A* weights;

  void sum(const Terms<T>& terms, const Ends& ends, const A* da, int64_t end, auto at,
           int64_t head) const {
    const int64_t row = terms.row, heads = terms.heads.count;
    decltype(at.load(da)) total{}, weight_total{};
    ends.each(end, Ahead::line(terms.far, row, at.i), at.i == 0 ? Ahead::whole(da, heads) : Ahead(),
              [&](int64_t link, int64_t other) {
                const auto slope = terms.heads.number(da + link * heads, at, head);
                const auto z = terms.sum(terms.met(end, other, link), at);
                const auto dz = terms.weighted(slope * terms.slope_of(z), at);
                total += dz;
                weight_total += slope * terms.f(z);
                if (own) at.store(own + link * row, dz);
              });
    if (near) at.store(near + end * row, total);
    if (weights) at.store(weights + end * row, weight_total);
  }
};

template <class T>
void sum_ends(const Terms<T>& terms, const Ends& ends, const Tensor& da, const EndSums<T>& to) {
  const auto* slopes = da.data<Accumulator<T>>();
  ends.share(4 * terms.row, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n)
      terms.heads.each([&](auto at, int64_t head) { to.sum(terms, ends, slopes, n, at, head); });
  });
}

}  // namespace

void link_additive(Cpu, const LinkTerms& terms, const Links& links, Out a) {
  const Span span("link additive", 2 * dot_flops(links.size(), terms.defined()));
  const Ends ends(links.by_row());
  visit_float(terms.defined().dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    const Terms<T> of(terms, terms.row, terms.column);
    A* to = a->data<A>();
    ends.share(2 * of.row, [=](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n)
        ends.each(n, Ahead::whole(of.far, of.row), {}, [=, &of](int64_t link, int64_t other) {
          const auto term = [&of, met = of.met(n, other, link)](auto at) {
            return of.weighted(of.f(of.sum(met, at)), at);
          };
          of.heads.sum(term, to + link * of.heads.count);
        });
    });
  });
}

void link_additive_backward(Cpu, const LinkTerms& terms, const Links& links, const Tensor& da,
                            const LinkTermOuts& to) {
  const Span span("link additive backward", 4 * dot_flops(links.size(), terms.defined()));
  visit_float(terms.defined().dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    if (to.row->defined() || to.link->defined() || to.row_weights->defined())
      sum_ends<T>({terms, terms.row, terms.column}, Ends(links.by_row()), da,
                  {to.row->data_or_null<T>(), to.link->data_or_null<T>(),
                   to.row_weights->data_or_null<A>()});
    if (to.column->defined())
      sum_ends<T>({terms, terms.column, terms.row}, Ends(links.by_column()), da,
                  {to.column->data_or_null<T>(), nullptr, nullptr});
  });
}

}  // namespace skein::kernels
