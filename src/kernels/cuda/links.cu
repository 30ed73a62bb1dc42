// A thread a number of the result: it goes through the links of its row or column in their order,
// and threads beside it read what lies beside.
#include "skein/kernels/links.h"

#include "common.cuh"

namespace skein::kernels {
namespace {

constexpr int kThreads = 128;

// A LinkSide as the kernels read it.
struct Ends {
  const int32_t *starts, *links, *others;
};

Ends ends_of(const LinkSide& at) {
  return {at.starts.data<int32_t>(), at.links.data_or_null<int32_t>(), at.others.data<int32_t>()};
}

__device__ inline int64_t own_number() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

// f(link, the other end) for the links at one end.
template <class F>
__device__ void each_link(const Ends& ends, int64_t end, const F& f) {
  const int64_t last = ends.starts[end + 1];
  for (int64_t i = ends.starts[end]; i < last; ++i)
    f(ends.links ? static_cast<int64_t>(ends.links[i]) : i, static_cast<int64_t>(ends.others[i]));
}

dim3 threads_for(int64_t count) { return grid_of(pieces_of(count, kThreads)); }

// Of rows, and how many numbers there are to make.
struct Sizes {
  int64_t count, heads, width;
};

template <class T>
__global__ void gather(Sizes sizes, Ends ends, const T* x, const Accumulator<T>* weights,
                       Accumulator<T> scale, T* out) {
  const int64_t at = own_number(), row = sizes.heads * sizes.width;
  if (at >= sizes.count) return;
  const int64_t i = at % row, head = i / sizes.width;
  Accumulator<T> sum = 0;
  each_link(ends, at / row, [&](int64_t link, int64_t other) {
    const Accumulator<T> value = load(x + other * row + i);
    sum += weights ? weights[link * sizes.heads + head] * value : value;
  });
  store(out + at, scale * sum);
}

template <class T>
__global__ void largest(Sizes sizes, Ends ends, const T* x, T* out, int32_t* picked) {
  const int64_t at = own_number(), row = sizes.heads * sizes.width;
  if (at >= sizes.count) return;
  Accumulator<T> top = 0;
  int32_t first = -1;
  each_link(ends, at / row, [&](int64_t link, int64_t other) {
    const Accumulator<T> value = load(x + other * row + at % row);
    if (first >= 0 && !(value > top) && value == value) return;
    top = value;
    first = static_cast<int32_t>(link);
  });
  store(out + at, top);
  picked[at] = first;
}

template <class T>
__global__ void largest_slopes(Sizes sizes, Ends ends, const T* dy, const int32_t* picked, T* dx) {
  const int64_t at = own_number(), row = sizes.heads * sizes.width;
  if (at >= sizes.count) return;
  Accumulator<T> sum = 0;
  each_link(ends, at / row, [&](int64_t link, int64_t other) {
    const int64_t i = other * row + at % row;
    if (picked[i] == link) sum += load(dy + i);
  });
  store(dx + at, sum);
}

// Where links come from and lead to, by number.
struct Between {
  const int32_t *rows, *columns;
};

Between between(const Links& links) {
  return {links.rows.data<int32_t>(), links.columns.data<int32_t>()};
}

// A thread a link and head.
template <class T>
__global__ void dots(Sizes sizes, Between links, const T* q, const T* k, Accumulator<T> scale,
                     Accumulator<T>* a) {
  const int64_t at = own_number(), link = at / sizes.heads, head = at % sizes.heads;
  if (at >= sizes.count) return;
  const T *left = q + (links.rows[link] * sizes.heads + head) * sizes.width,
          *right = k + (links.columns[link] * sizes.heads + head) * sizes.width;
  Accumulator<T> sum = 0;
  for (int64_t d = 0; d < sizes.width; ++d) sum += load(left + d) * load(right + d);
  a[at] = scale * sum;
}

// A thread a row and head.
template <class A>
__global__ void softmax_rows(int64_t count, int64_t heads, const int32_t* starts, const A* a,
                             A* w) {
  const int64_t at = own_number(), head = at % heads;
  if (at >= count) return;
  const int64_t first = starts[at / heads] * heads + head,
                last = starts[at / heads + 1] * heads + head;
  const A nothing = -INFINITY;
  A top = nothing, sum = 0;
  for (int64_t i = first; i < last; i += heads) top = a[i] > top ? a[i] : top;
  if (top == nothing) top = 0;
  for (int64_t i = first; i < last; i += heads) {
    w[i] = exp(a[i] - top);
    sum += w[i];
  }
  const A share = sum == 0 ? A(0) : 1 / sum;
  for (int64_t i = first; i < last; i += heads) w[i] *= share;
}

template <class A>
__global__ void softmax_slopes(int64_t count, int64_t heads, const int32_t* starts, const A* w,
                               const A* dw, A* da) {
  const int64_t at = own_number(), head = at % heads;
  if (at >= count) return;
  const int64_t first = starts[at / heads] * heads + head,
                last = starts[at / heads + 1] * heads + head;
  A along = 0;
  for (int64_t i = first; i < last; i += heads) along += w[i] * dw[i];
  for (int64_t i = first; i < last; i += heads) da[i] = w[i] * (dw[i] - along);
}

// LinkTerms, seen from one end of the links; null where there is none.
template <class T>
struct Terms {
  using A = Accumulator<T>;
  const T *near, *far, *own, *weights;
  A slope;
  int64_t heads, width, row;

  __device__ static A at(const T* term, int64_t i) { return term ? load(term + i) : A(0); }
  __device__ A weight(int64_t i) const { return weights ? load(weights + i) : A(1); }
  __device__ A sum(int64_t end, int64_t other, int64_t link, int64_t i) const {
    return at(near, end * row + i) + at(far, other * row + i) + at(own, link * row + i);
  }
  __device__ A f(A z) const { return z > A(0) ? z : slope * z; }
};

template <class T>
Terms<T> terms_of(const LinkTerms& terms, const Tensor& near, const Tensor& far) {
  const Shape& shape = terms.defined().shape();
  return {near.data_or_null<T>(),
          far.data_or_null<T>(),
          terms.link.data_or_null<T>(),
          terms.weights.data_or_null<T>(),
          static_cast<Accumulator<T>>(terms.slope),
          shape[1],
          shape[2],
          shape[1] * shape[2]};
}

// A thread a link and head.
template <class T>
__global__ void additive(int64_t count, Terms<T> terms, Between links, Accumulator<T>* a) {
  const int64_t at = own_number(), link = at / terms.heads, head = at % terms.heads;
  if (at >= count) return;
  Accumulator<T> sum = 0;
  for (int64_t i = head * terms.width; i < (head + 1) * terms.width; ++i)
    sum += terms.weight(i) * terms.f(terms.sum(links.rows[link], links.columns[link], link, i));
  a[at] = sum;
}

// Where the slopes of one end's term go, and what hangs on links or ends; null where nobody asks.
template <class T>
struct SlopesTo {
  T *near, *own;
  Accumulator<T>* weights;
};

template <class T>
__global__ void additive_slopes(int64_t count, Terms<T> terms, Ends ends, const Accumulator<T>* da,
                                SlopesTo<T> to) {
  using A = Accumulator<T>;
  const int64_t at = own_number(), i = at % terms.row, end = at / terms.row;
  if (at >= count) return;
  A sum = 0, weight_sum = 0;
  each_link(ends, end, [&](int64_t link, int64_t other) {
    const A z = terms.sum(end, other, link, i), slope = da[link * terms.heads + i / terms.width],
            dz = slope * terms.weight(i) * (z > A(0) ? A(1) : terms.slope);
    sum += dz;
    weight_sum += slope * terms.f(z);
    if (to.own) store(to.own + link * terms.row + i, dz);
  });
  if (to.near) store(to.near + at, sum);
  if (to.weights) to.weights[at] = weight_sum;
}

}  // namespace

void gather_sum(Cuda on, const Tensor& x, const LinkSide& at, const Tensor& weights, double scale,
                Out out) {
  visit_float(x.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    launch("gather_sum", on, gather<T>, threads_for(out->size()), kThreads, 0,
           Sizes{out->size(), x.dim(1), x.dim(2)}, ends_of(at), x.data<T>(),
           weights.data_or_null<A>(), static_cast<A>(scale), out->data<T>());
  });
}

void gather_max(Cuda on, const Tensor& x, const LinkSide& at, Out out, Out picked) {
  visit_float(x.dtype(), [&]<class T>(TypeTag<T>) {
    launch("gather_max", on, largest<T>, threads_for(out->size()), kThreads, 0,
           Sizes{out->size(), x.dim(1), x.dim(2)}, ends_of(at), x.data<T>(), out->data<T>(),
           picked->data<int32_t>());
  });
}

void gather_max_backward(Cuda on, const Tensor& dy, const Tensor& picked, const LinkSide& at,
                         Out dx) {
  visit_float(dy.dtype(), [&]<class T>(TypeTag<T>) {
    launch("gather_max_backward", on, largest_slopes<T>, threads_for(dx->size()), kThreads, 0,
           Sizes{dx->size(), dy.dim(1), dy.dim(2)}, ends_of(at), dy.data<T>(),
           picked.data<int32_t>(), dx->data<T>());
  });
}

void link_dot(Cuda on, const Tensor& q, const Tensor& k, const Links& links, double scale, Out a) {
  visit_float(q.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    launch("link_dot", on, dots<T>, threads_for(a->size()), kThreads, 0,
           Sizes{a->size(), q.dim(1), q.dim(2)}, between(links), q.data<T>(), k.data<T>(),
           static_cast<A>(scale), a->data<A>());
  });
}

void link_softmax(Cuda on, const Tensor& a, const Links& links, Out w) {
  const int64_t count = links.row_count() * a.dim(1);
  visit_float(a.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    launch("link_softmax", on, softmax_rows<A>, threads_for(count), kThreads, 0, count, a.dim(1),
           links.starts.data<int32_t>(), a.data<A>(), w->data<A>());
  });
}

void link_softmax_backward(Cuda on, const Tensor& w, const Tensor& dw, const Links& links, Out da) {
  const int64_t count = links.row_count() * w.dim(1);
  visit_float(w.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    launch("link_softmax_backward", on, softmax_slopes<A>, threads_for(count), kThreads, 0, count,
           w.dim(1), links.starts.data<int32_t>(), w.data<A>(), dw.data<A>(), da->data<A>());
  });
}

namespace {

struct Product {
  template <class A>
  __device__ A operator()(A a, A b) const {
    return a * b;
  }
};

}  // namespace

void link_product(Cuda on, const Tensor& a, const Tensor& b, Out out) {
  visit_float(a.dtype(), [&]<class T>(TypeTag<T>) {
    map("link_product", on, a.size(), Product{}, out->data<T>(), a.data<T>(), b.data<T>());
  });
}

void link_additive(Cuda on, const LinkTerms& terms, const Links& links, Out a) {
  visit_float(terms.defined().dtype(), [&]<class T>(TypeTag<T>) {
    launch("link_additive", on, additive<T>, threads_for(a->size()), kThreads, 0, a->size(),
           terms_of<T>(terms, terms.row, terms.column), between(links), a->data<Accumulator<T>>());
  });
}

void link_additive_backward(Cuda on, const LinkTerms& terms, const Links& links, const Tensor& da,
                            const LinkTermOuts& to) {
  visit_float(terms.defined().dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    const auto sum_ends = [&](const Terms<T>& of, const LinkSide& at, const SlopesTo<T>& into) {
      const int64_t count = at.size() * of.row;
      launch("link_additive_backward", on, additive_slopes<T>, threads_for(count), kThreads, 0,
             count, of, ends_of(at), da.data<A>(), into);
    };
    if (to.row->defined() || to.link->defined() || to.row_weights->defined())
      sum_ends(terms_of<T>(terms, terms.row, terms.column), links.by_row(),
               {to.row->data_or_null<T>(), to.link->data_or_null<T>(),
                to.row_weights->data_or_null<A>()});
    if (to.column->defined())
      sum_ends(terms_of<T>(terms, terms.column, terms.row), links.by_column(),
               {to.column->data_or_null<T>(), nullptr, nullptr});
  });
}

}  // namespace skein::kernels
