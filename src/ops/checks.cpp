#include "checks.h"

#include <array>

namespace skein::ops {
namespace {

using Operands = std::initializer_list<Operand>;

constexpr std::string_view kAnyAhead = "...";

std::string form_of(std::string_view form) {
  std::string made;
  if (form.starts_with(kAnyAhead)) {
    made = kAnyAhead;
    form.remove_prefix(kAnyAhead.size());
  }
  for (char letter : form) {
    if (!made.empty()) made += ',';
    made += letter;
  }
  return "[" + made + "]";
}

std::string name_of(Device device) {
  return device.kind == DeviceKind::cpu ? "the host" : fmt::format("cuda:{}", device.index);
}

std::string described(const Operand& operand) {
  const Tensor& x = operand.tensor;
  if (!x.defined() && x.shape() == Shape()) return fmt::format("{} undefined", operand.name);
  return fmt::format("{} {} {}", operand.name, skein::name_of(x.dtype()), x.shape().str());
}

// "norm: gain must be f32 as x, not bf16: x f32 [2,6], gain bf16 [6]"
template <class... Args>
[[noreturn]] void refuse(const char* op, Operands all, fmt::format_string<Args...> need,
                         Args&&... args) {
  std::string text = fmt::format("{}: {}", op, fmt::format(need, std::forward<Args>(args)...));
  const char* before = ": ";
  for (const Operand& operand : all) {
    if (operand.may_be_undefined && !operand.tensor.defined()) continue;
    text += before + described(operand);
    before = ", ";
  }
  throw Error(ExitCode::internal, text);
}

// Sizes of letters, as far as they are known.
class Sizes {
 public:
  Sizes() { sizes_.fill(kUnknown); }

  // False where the letter has another size already.
  bool take(char letter, int64_t size) {
    int64_t& known = sizes_.at(static_cast<size_t>(letter - 'A'));
    if (known == kUnknown) known = size;
    return known == size;
  }
  int64_t of(char letter) const { return sizes_.at(static_cast<size_t>(letter - 'A')); }

 private:
  static constexpr int64_t kUnknown = -1;
  std::array<int64_t, 26> sizes_;
};

const Operand& first_with(char letter, Operands all) {
  for (const Operand& operand : all)
    if (operand.tensor.defined() &&
        std::string_view(operand.form).find(letter) != std::string_view::npos)
      return operand;
  return *all.begin();
}

void check_shape(const char* op, Operands all, const Operand& one, Sizes& sizes) {
  const Shape& shape = one.tensor.shape();
  std::string_view form = one.form;
  if (form == "=") {
    const Operand& first = *all.begin();
    if (shape != first.tensor.shape())
      refuse(op, all, "{} must have the shape {} of {}, not {}", one.name, first.tensor.shape(),
             first.name, shape);
    return;
  }
  const bool any_ahead = form.starts_with(kAnyAhead);
  if (any_ahead) form.remove_prefix(kAnyAhead.size());
  const int rank = static_cast<int>(form.size()), ahead = shape.rank() - rank;
  if (any_ahead ? ahead < 0 : ahead != 0)
    refuse(op, all, "{} must have the form {}, not {}", one.name, form_of(one.form), shape);
  for (int dim = 0; dim < rank; ++dim) {
    const char letter = form[static_cast<size_t>(dim)];
    if (sizes.take(letter, shape[ahead + dim])) continue;
    const Operand& other = first_with(letter, all);
    refuse(op, all, "{} {} must have {} = {} as {} {}, not {}", one.name, form_of(one.form), letter,
           sizes.of(letter), other.name, form_of(other.form), shape[ahead + dim]);
  }
}

bool is_float(DType dtype) {
  return dtype != DType::i32 && dtype != DType::i64 && dtype != DType::u8;
}

// `alike`: the first operand of a float type of its own choice; may be null.
void check_type(const char* op, Operands all, const Operand& one, const Operand* alike) {
  const DType given = one.tensor.dtype();
  const auto must = [&](std::string_view need) {
    refuse(op, all, "{} must be {}, not {}", one.name, need, skein::name_of(given));
  };
  if (one.dtype) {
    if (given != *one.dtype) must(skein::name_of(*one.dtype));
  } else if (!is_float(given)) {
    must("of a float type");
  } else if (alike && given != alike->tensor.dtype()) {
    must(fmt::format("{} as {}", skein::name_of(alike->tensor.dtype()), alike->name));
  }
}

void check_device(const char* op, Operands all, const Operand& one, const Operand* beside) {
  const Device device = one.tensor.device(),
               wanted = one.on_host || !beside ? Device{} : beside->tensor.device();
  if (device == wanted || !(one.on_host || beside)) return;
  const std::string why = one.on_host ? "" : fmt::format(" as {}", beside->name);
  refuse(op, all, "{} must be on {}{}, not on {}", one.name, name_of(wanted), why, name_of(device));
}

}  // namespace

void check_operands(const char* op, Operands operands) {
  Sizes sizes;
  const Operand *alike = nullptr, *beside = nullptr;
  for (const Operand& one : operands) {
    if (!one.tensor.defined()) {
      if (one.may_be_undefined) continue;
      refuse(op, operands, "{} must have values", one.name);
    }
    check_shape(op, operands, one, sizes);
    check_type(op, operands, one, alike);
    check_device(op, operands, one, beside);
    if (!alike && !one.dtype) alike = &one;
    if (!beside && !one.on_host) beside = &one;
  }
}

}  // namespace skein::ops
