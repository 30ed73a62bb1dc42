// Sums over links and attention over them, on the tape. What each is, kernels/links.h says; links
// are on the operands' device. Work and memory grow with the links: nothing here has E · H · D
// numbers but what is given so.
//
//   w = link_softmax(link_dot(q, k, links, scale), links);   // [E,H]
//   y = gather_sum(v, links, w);                             // [R,H,D]
#pragma once

#include "skein/kernels/links.h"
#include "skein/ops/var.h"

namespace skein::ops {

using kernels::Links;

// x [K,H,D] -> [R,H,D]: each row the sum of the columns it is linked to, times weights [E,H]
// (accumulator type) where they are defined.
Var gather_sum(const Var& x, const Links& links, const Var& weights = {});

// x [K,H,D] -> [R,H,D]: of each number the largest among the columns that the row is linked to; 0
// where it has no link. The first column that has it takes the gradient.
Var gather_max(const Var& x, const Links& links);

// q [R,H,D], k [K,H,D] -> [E,H] in the accumulator type: scale · q·k of each link.
Var link_dot(const Var& q, const Var& k, const Links& links, double scale);

// s [R,H] or [K,H] -> [E,H] in the accumulator type: what s has at the row, or at the column, of
// each link. A table of categories is picked from by links to them, one a row.
enum class LinkEnd { row, column };
Var link_pick(const Var& s, const Links& links, LinkEnd end);

// Terms of additive scores; undefined ones are zeros, but one is defined.
struct LinkTerms {
  Var row = {}, column = {}, link = {};  // [R,H,D], [K,H,D], [E,H,D]
};
// -> [E,H] in the accumulator type: of each link the sum over d of weights [H,D] times
// LeakyReLU(row + column + link), whose slope below 0 is `slope`. Undefined weights are ones, so
// that GAT's own scores are those of D = 1.
Var link_additive(const LinkTerms& terms, const Weight& weights, const Links& links, double slope);

// a [E,H] of f32 or f64 -> [E,H]: the softmax over the links of each row.
Var link_softmax(const Var& a, const Links& links);

// a, b [E,H] -> [E,H]: scores times weights of links.
Var link_product(const Var& a, const Var& b);

}  // namespace skein::ops
