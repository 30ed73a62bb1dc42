#include "skein/ops/links.h"

#include "skein/kernels/elementwise.h"
#include "skein/ops/attention.h"

#include "by_group.h"
#include "checks.h"
#include "made.h"

namespace skein::ops {
namespace {

void check_ends(const char* op, const char* name, const Tensor& x, int64_t ends, const char* what) {
  check(!x.defined() || x.dim(0) == ends,
        "{}: {} must have {} rows, one for each {} of links: {} {}", op, name, ends, what, name,
        x.shape());
}

// Of links, in the type in which x is summed.
Tensor numbers_of_links(const Tensor& x, const Links& links) {
  return x.like({links.size(), x.dim(1)}, gradient_dtype(x.dtype()));
}

Tensor gathered(const Tensor& x, const kernels::LinkSide& at, const Tensor& weights,
                double scale = 1) {
  return made_on_device(x.like({at.size(), x.dim(1), x.dim(2)}), [&](auto device, Out out) {
    kernels::gather_sum(device, x, at, weights, scale, out);
  });
}

Tensor dotted(const Tensor& q, const Tensor& k, const Links& links, double scale) {
  return made_on_device(numbers_of_links(q, links), [&](auto device, Out out) {
    kernels::link_dot(device, q, k, links, scale, out);
  });
}

}  // namespace

Var gather_sum(const Var& x, const Links& links, const Var& weights) {
  const Tensor none, &given = weights.defined() ? weights.value() : none;
  check_operands("gather_sum",
                 {{"x", "KHD", x.value()},
                  {"columns", "E", links.columns, DType::i32},
                  optional({"weights", "EH", given, gradient_dtype(x.value().dtype())})});
  check_ends("gather_sum", "x", x.value(), links.column_count(), "column");
  return record(gathered(x.value(), links.by_row(), given), {x, weights}, false,
                [x, links, weights](const Tensor& dy) {
                  const Tensor none, &given = weights.defined() ? weights.value() : none;
                  if (x.needs_gradient()) x.add_gradient(gathered(dy, links.by_column(), given));
                  if (weights.needs_gradient())
                    weights.add_gradient(dotted(dy, x.value(), links, 1));
                });
}

Var gather_max(const Var& x, const Links& links) {
  check_operands("gather_max",
                 {{"x", "KHD", x.value()}, {"columns", "E", links.columns, DType::i32}});
  check_ends("gather_max", "x", x.value(), links.column_count(), "column");
  const Shape shape{links.row_count(), x.shape()[1], x.shape()[2]};
  const Tensor picked = x.value().like(shape, DType::i32),
               made = made_on_device(x.value().like(shape), [&](auto device, Out out) {
                 kernels::gather_max(device, x.value(), links.by_row(), out, Out(picked));
               });
  return record(made, {x}, false, [x, links, picked](const Tensor& dy) {
    x.add_gradient(made_on_device(x.value().like(), [&](auto device, Out dx) {
      kernels::gather_max_backward(device, dy, picked, links.by_column(), dx);
    }));
  });
}

Var link_dot(const Var& q, const Var& k, const Links& links, double scale) {
  check_operands("link_dot", {{"q", "RHD", q.value()},
                              {"k", "KHD", k.value()},
                              {"columns", "E", links.columns, DType::i32}});
  check_ends("link_dot", "q", q.value(), links.row_count(), "row");
  check_ends("link_dot", "k", k.value(), links.column_count(), "column");
  return record(dotted(q.value(), k.value(), links, scale), {q, k}, false,
                [q, k, links, scale](const Tensor& da) {
                  if (q.needs_gradient())
                    q.add_gradient(gathered(k.value(), links.by_row(), da, scale));
                  if (k.needs_gradient())
                    k.add_gradient(gathered(q.value(), links.by_column(), da, scale));
                });
}

namespace {

const Tensor& value_of(const Var& x) {
  static const Tensor none;
  return x.defined() ? x.value() : none;
}

kernels::LinkTerms values_of(const LinkTerms& terms, const Weight& weights, double slope) {
  return {value_of(terms.row), value_of(terms.column), value_of(terms.link), weights.value(),
          slope};
}

// Shaped as the term, where its gradient is wanted.
Out slopes_of(const Var& term) {
  return term.defined() && term.needs_gradient() ? Out(term.value().like()) : Out();
}

void add_slopes(const Var& term, const Out& slopes) {
  if (slopes->defined()) term.add_gradient(*slopes);
}

Var record_additive(const LinkTerms& terms, const Weight& weights, const Links& links,
                    double slope) {
  const kernels::LinkTerms given = values_of(terms, weights, slope);
  const Tensor a = made_on_device(
      numbers_of_links(given.defined(), links),
      [&](auto device, Out out) { kernels::link_additive(device, given, links, out); });
  return record(
      a, {terms.row, terms.column, terms.link}, weights.learns(),
      [terms, weights, links, slope](const Tensor& da) {
        const kernels::LinkTerms given = values_of(terms, weights, slope);
        kernels::LinkTermOuts to{slopes_of(terms.row), slopes_of(terms.column),
                                 slopes_of(terms.link)};
        const int64_t rows = links.row_count();
        if (weights.learns())
          to.row_weights = Out(da.like({rows, given.weights.dim(0), given.weights.dim(1)}));
        on_device(da.device(), [&](auto device) {
          kernels::link_additive_backward(device, given, links, da, to);
          if (!weights.learns()) return;
          add_by_group({weights.gradient()}, rows,
                       [&](int64_t begin, int64_t end, const std::vector<Out>& into) {
                         kernels::bias_backward(device, to.row_weights->rows(begin, end), into[0]);
                       });
        });
        add_slopes(terms.row, to.row);
        add_slopes(terms.column, to.column);
        add_slopes(terms.link, to.link);
      });
}

}  // namespace

Var link_pick(const Var& s, const Links& links, LinkEnd end) {
  const bool of_rows = end == LinkEnd::row;
  check_operands("link_pick",
                 {{"s", "NH", s.value()}, {"columns", "E", links.columns, DType::i32}});
  check_ends("link_pick", "s", s.value(), of_rows ? links.row_count() : links.column_count(),
             of_rows ? "row" : "column");
  const Var flat = reshape(s, {s.shape()[0], s.shape()[1], 1});
  return record_additive(of_rows ? LinkTerms{flat} : LinkTerms{{}, flat}, {}, links, 1);
}

Var link_additive(const LinkTerms& terms, const Weight& weights, const Links& links, double slope) {
  const Tensor &row = value_of(terms.row), &column = value_of(terms.column),
               &link = value_of(terms.link);
  check(row.defined() || column.defined() || link.defined(),
        "link_additive: one of row, column and link must have values");
  check_operands("link_additive", {optional({"row", "RHD", row}),
                                   optional({"column", "KHD", column}),
                                   optional({"link", "EHD", link}),
                                   optional({"weights", "HD", weights.value()}),
                                   gradient_of("weights' gradient", "HD", weights),
                                   {"columns", "E", links.columns, DType::i32}});
  check_ends("link_additive", "row", row, links.row_count(), "row");
  check_ends("link_additive", "column", column, links.column_count(), "column");
  return record_additive(terms, weights, links, slope);
}

Var link_softmax(const Var& a, const Links& links) {
  check_operands("link_softmax",
                 {{"a", "EH", a.value()}, {"columns", "E", links.columns, DType::i32}});
  check(a.value().dtype() == gradient_dtype(a.value().dtype()),
        "link_softmax: a must be f32 or f64, not {}: a {}", name_of(a.value().dtype()), a.shape());
  const Tensor w = made_on_device(a.value().like(), [&](auto device, Out out) {
    kernels::link_softmax(device, a.value(), links, out);
  });
  return record(w, {a}, false, [a, w, links](const Tensor& dw) {
    a.add_gradient(made_on_device(dw.like(), [&](auto device, Out da) {
      kernels::link_softmax_backward(device, w, dw, links, da);
    }));
  });
}

Var link_product(const Var& a, const Var& b) {
  check_operands("link_product", {{"a", "EH", a.value()}, {"b", "EH", b.value()}});
  const auto product = [](const Tensor& one, const Tensor& other) {
    return made_on_device(
        one.like(), [&](auto device, Out out) { kernels::link_product(device, one, other, out); });
  };
  return record(product(a.value(), b.value()), {a, b}, false, [a, b, product](const Tensor& dy) {
    if (a.needs_gradient()) a.add_gradient(product(dy, b.value()));
    if (b.needs_gradient()) b.add_gradient(product(dy, a.value()));
  });
}

}  // namespace skein::ops
