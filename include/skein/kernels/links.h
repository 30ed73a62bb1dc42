// Links: rows that gather from listed columns, such as nodes of a graph from their neighbours; and
// attention over them, whose work and memory grow with the links.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "skein/kernels/pattern.h"

namespace skein::kernels {

// Links by one of their ends: i = starts[n] .. starts[n+1] - 1 are those at n. Number links[i]
// leads to others[i].
struct LinkSide {
  Tensor starts;  // [N+1] i32
  Tensor links;   // [E] i32, which rise at each n; undefined: 0, 1, 2, ...
  Tensor others;  // [E] i32
  int64_t size() const { return starts.size() - 1; }
};

// E links from R rows to K columns: those of row r are numbers starts[r] .. starts[r+1] - 1, and
// link e leads to columns[e]. A row may be linked to itself where rows and columns are the same
// nodes; a link that is there twice counts twice. Every sum over links goes in the order of their
// numbers, at each row and at each column.
struct Links {
  Tensor starts;   // [R+1] i32
  Tensor columns;  // [E] i32
  Tensor rows;     // [E] i32: where each comes from
  // By column, [K+1], [E] and [E] i32: column c has back_links[back_starts[c]] and so on, which
  // rise, and those come from back_rows.
  Tensor back_starts, back_links, back_rows;

  int64_t row_count() const { return starts.size() - 1; }
  int64_t column_count() const { return back_starts.size() - 1; }
  int64_t size() const { return columns.size(); }
  LinkSide by_row() const { return {starts, {}, columns}; }
  LinkSide by_column() const { return {back_starts, back_links, back_rows}; }
  Links to(Device device) const;
};

// In host memory. Usage errors name what is wrong: starts that do not rise from 0 to the number of
// links, columns that are not among the `column_count`, more of anything than 31 bits count.
Links make_links(std::span<const int64_t> starts, std::span<const int64_t> columns,
                 int64_t column_count);

struct Edge {
  int64_t row, column;
};
// Of edges in any order; those of a row keep theirs. order: becomes the number of the edge that
// each link is. Usage errors as above.
Links links_of_edges(std::span<const Edge> edges, int64_t row_count, int64_t column_count,
                     std::vector<int64_t>* order = nullptr);

// Kernels: x, q, k and what is made of them have one float type, numbers of links [E,H] its
// accumulator type. No sum depends on threads, or on what other rows are there.

// out [N,H,D] = scale · Σ w[e,h] x[other(e),h] over the links e at each n, of x [M,H,D]; undefined
// weights are ones. 2 · E · H · D FLOPs.
void gather_sum(Cpu, const Tensor& x, const LinkSide& at, const Tensor& weights, double scale,
                Out out);
void gather_sum(Cuda, const Tensor& x, const LinkSide& at, const Tensor& weights, double scale,
                Out out);

// out [N,H,D]: the largest of x[other(e),h,d] over the links e at each n, of x [M,H,D], and picked
// [N,H,D] i32 the first of those links that has it; 0 and -1 where there is no link.
void gather_max(Cpu, const Tensor& x, const LinkSide& at, Out out, Out picked);
void gather_max(Cuda, const Tensor& x, const LinkSide& at, Out out, Out picked);
// dx [M,H,D] of slopes dy [N,H,D]: those of the links that were picked. at: the other side's.
void gather_max_backward(Cpu, const Tensor& dy, const Tensor& picked, const LinkSide& at, Out dx);
void gather_max_backward(Cuda, const Tensor& dy, const Tensor& picked, const LinkSide& at, Out dx);

// a [E,H] = scale · q[row(e),h] · k[column(e),h], of q [R,H,D] and k [K,H,D]. 2 · E · H · D FLOPs.
void link_dot(Cpu, const Tensor& q, const Tensor& k, const Links& links, double scale, Out a);
void link_dot(Cuda, const Tensor& q, const Tensor& k, const Links& links, double scale, Out a);

// w [E,H]: exp(a) over the sum of that of all links of the same row; 0 where all of a row are -inf.
void link_softmax(Cpu, const Tensor& a, const Links& links, Out w);
void link_softmax(Cuda, const Tensor& a, const Links& links, Out w);
// da = w (dw - Σ w dw), summed over the links of the same row.
void link_softmax_backward(Cpu, const Tensor& w, const Tensor& dw, const Links& links, Out da);
void link_softmax_backward(Cuda, const Tensor& w, const Tensor& dw, const Links& links, Out da);

// out = a · b, number by number.
void link_product(Cpu, const Tensor& a, const Tensor& b, Out out);
void link_product(Cuda, const Tensor& a, const Tensor& b, Out out);

// Scores that are no product: those of Veličković and others, "Graph attention networks" (2018),
// and of Brody and others, "How attentive are graph attention networks?" (2022).
//
//   a[e,h] = Σ_d weights[h,d] · f(row[row(e),h,d] + column[column(e),h,d] + link[e,h,d])
//
// where f(z) = z above 0 and slope · z elsewhere. Undefined terms are zeros, undefined weights
// ones; one of the terms is defined.
struct LinkTerms {
  Tensor row = {}, column = {}, link = {};  // [R,H,D], [K,H,D], [E,H,D]
  Tensor weights = {};                      // [H,D]
  double slope = 1;

  // One that is defined: their last dims, type and device.
  const Tensor& defined() const { return row.defined() ? row : column.defined() ? column : link; }
};
void link_additive(Cpu, const LinkTerms& terms, const Links& links, Out a);
void link_additive(Cuda, const LinkTerms& terms, const Links& links, Out a);

// Shaped as the terms, of which undefined ones are not asked for. row_weights [R,H,D] (accumulator
// type): what each row's links give to the gradient of the weights.
struct LinkTermOuts {
  Out row = {}, column = {}, link = {}, row_weights = {};
};
void link_additive_backward(Cpu, const LinkTerms& terms, const Links& links, const Tensor& da,
                            const LinkTermOuts& to);
void link_additive_backward(Cuda, const LinkTerms& terms, const Links& links, const Tensor& da,
                            const LinkTermOuts& to);

}  // namespace skein::kernels
