#include "skein/parallel/precision.h"

#include <gtest/gtest.h>

#include "skein/core/error.h"

namespace skein {
namespace {

struct Bound {
  Bound() { bind_precision(options, "train.precision", precision, "of parameters"); }
  std::string settled(DeviceKind device) {
    settle_precision(options, "train.precision", precision, device);
    return options.resolved();
  }

  Precision precision;
  Options options{"test", ""};
};

TEST(Precision, AutoIsBf16OnGpusAndF32OnCpus) {
  EXPECT_EQ(precision_on(DeviceKind::cpu, {}), DType::f32);
  EXPECT_EQ(precision_on(DeviceKind::cuda, {}), DType::bf16);
  for (DType asked : {DType::f32, DType::bf16, DType::f16})
    for (DeviceKind device : {DeviceKind::cpu, DeviceKind::cuda})
      EXPECT_EQ(precision_on(device, asked), asked);
}

TEST(Precision, TheConfigShowsWhatAutoMeans) {
  Bound cpu, gpu, asked;
  EXPECT_NE(cpu.settled(DeviceKind::cpu).find("precision = f32  # auto on a CPU"),
            std::string::npos)
      << cpu.options.resolved();
  EXPECT_EQ(cpu.precision, DType::f32);
  EXPECT_NE(gpu.settled(DeviceKind::cuda).find("precision = bf16  # auto on a GPU"),
            std::string::npos)
      << gpu.options.resolved();
  EXPECT_EQ(gpu.precision, DType::bf16);
  asked.options.read_ini("[train]\nprecision = f16\n", "run.ini");
  EXPECT_NE(asked.settled(DeviceKind::cuda).find("precision = f16  # run.ini:2"), std::string::npos)
      << asked.options.resolved();
  EXPECT_EQ(asked.precision, DType::f16);
}

TEST(Precision, HelpAndErrorsNameTheChoices) {
  Bound bound;
  for (const char* part : {"auto: bf16 on GPUs, f32 on CPUs", "(one of auto,", "default auto"})
    EXPECT_NE(bound.options.help().find(part), std::string::npos) << bound.options.help();
  bound.options.set("train.precision", "bf16", "flag");
  bound.options.set("train.precision", "auto", "flag");
  EXPECT_EQ(bound.precision, Precision());
  try {
    bound.options.set("train.precision", "fp8", "flag");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_NE(std::string(error.what()).find("one of auto, f32, bf16, f16 was expected"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace skein
