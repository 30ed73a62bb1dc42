// Ops refuse an operand that is on another device than the others, or not on the host where it has
// to be there.
#include "support/kernel_home.h"
#include "support/op_cases.h"

namespace skein {
namespace {

using test::kHome;

std::vector<Tensor> placed_operands(const test::OpCase& one) {
  std::vector<Tensor> made;
  for (const test::CaseOperand& operand : one.operands)
    made.push_back(operand.on_host ? operand.tensor : operand.tensor.to(kHome));
  return made;
}

TEST(OpChecksOnCuda, RightCallsAreNotRefused) {
  for (const test::OpCase& one : test::op_cases())
    EXPECT_EQ(test::internal_error_of([&] { one.call(placed_operands(one)); }), "") << one.op;
}

TEST(OpChecksOnCuda, OperandsOnAnotherDevice) {
  for (const test::OpCase& one : test::op_cases()) {
    const auto there = std::count_if(one.operands.begin(), one.operands.end(),
                                     [](const auto& operand) { return !operand.on_host; });
    for (size_t i = 0; i < one.operands.size(); ++i) {
      const test::CaseOperand& operand = one.operands[i];
      if (!operand.on_host && there == 1) continue;
      std::vector<Tensor> operands = placed_operands(one);
      operands[i] = operand.on_host ? operand.tensor.to(kHome) : operand.tensor;
      const std::string text = test::internal_error_of([&] { one.call(operands); });
      EXPECT_TRUE(text.starts_with(one.op + ": ") && text.find(" must be on ") != text.npos)
          << operand.name << ": " << text;
    }
  }
}

}  // namespace
}  // namespace skein
