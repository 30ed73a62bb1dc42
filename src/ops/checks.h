// What ops check of their operands before a kernel reads them. Who hands over the wrong ones has
// made a mistake in a model or in an op: Error(internal), whose text names the op, what it needs,
// what it was given instead, and all operands. No text is made where nothing is wrong.
#pragma once

#include <initializer_list>
#include <optional>

#include "skein/ops/var.h"

namespace skein::ops {

struct Operand {
  const char* name;
  // The form that headers write in brackets: "BTC" is [B,T,C], "...C" is [...,C]; a letter is one
  // size in all operands of an op. "=": the shape of the first operand.
  const char* form;
  const Tensor& tensor;
  std::optional<DType> dtype = {};  // absent: one of the float types, alike in all these operands
  bool may_be_undefined = false;
  bool on_host = false;  // else on one device with the others
};

inline Operand optional(Operand operand) {
  operand.may_be_undefined = true;
  return operand;
}
inline Operand on_host(Operand operand) {
  operand.on_host = true;
  return operand;
}
// The gradient of a weight, in the accumulator type, where it lies in memory already.
inline Operand gradient_of(const char* name, const char* form, const Weight& weight) {
  return {name, form, weight.gradient_at_hand(), gradient_dtype(weight.value().dtype()), true};
}

void check_operands(const char* op, std::initializer_list<Operand> operands);

// Where operands fit one another, but not what is done with them.
template <class... Args>
void check(bool ok, fmt::format_string<Args...> text, Args&&... args) {
  if (!ok) throw Error(ExitCode::internal, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace skein::ops
