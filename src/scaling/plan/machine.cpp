
#include "skein/core/error.h"

#include "search.h"

namespace skein::scaling::plan {

const std::vector<MachineKind>& machine_kinds() {
  static const std::vector<MachineKind> kinds{
      {"v100", 125e12, 31.7, 300, "NVIDIA V100 SXM2 32 GB data sheet (f16: it has no bf16)"},
      {"a100-40", 312e12, 39.5, 400, "NVIDIA A100 SXM4 40 GB data sheet"},
      {"a100", 312e12, 79.2, 400, "NVIDIA A100 SXM4 80 GB data sheet"},
      {"l40s", 362e12, 44.5, 350, "NVIDIA L40S data sheet"},
      {"rtx4090", 165.2e12, 23.6, 450, "NVIDIA Ada architecture white paper, f32 sums"},
      {"h100-pcie", 756e12, 79.2, 350, "NVIDIA H100 PCIe data sheet"},
      {"h100", 989.4e12, 79.2, 700, "NVIDIA H100 SXM5 data sheet"},
      {"h200", 989.4e12, 139.8, 700, "NVIDIA H200 SXM data sheet"},
      {"b200", 2250e12, 178, 1000, "NVIDIA DGX B200 data sheet"},
      {"mi250x", 383e12, 127.9, 560, "AMD Instinct MI250X data sheet, both dies"},
      {"mi300x", 1307.4e12, 191.5, 750, "AMD Instinct MI300X data sheet"}};
  return kinds;
}

namespace {

void check_shares(const Machine& m) {
  require(m.share > 0 && m.share <= 1,
          "machine.share={} is a share of the peak: above 0, at most 1", m.share);
  require(m.share_low >= 0 && m.share_high >= 0 && m.low() <= m.share && m.share <= m.high() &&
              m.high() <= 1,
          "machine.share={} must lie between machine.share_low={} and machine.share_high={}, both "
          "at most 1",
          m.share, m.low(), m.high());
}

void check_numbers(const Machine& m) {
  constexpr double kMost = 1e30;
  require(m.count >= 1 && m.count <= 10'000'000, "machine.count={}; it is 1 to 10000000 devices",
          m.count);
  require(m.per_host >= 1, "machine.per_host={}; a host has at least 1 device", m.per_host);
  const std::pair<const char*, double> numbers[] = {{"peak", m.peak},
                                                    {"memory", m.memory},
                                                    {"price", m.price},
                                                    {"watts", m.watts},
                                                    {"carbon", m.carbon}};
  for (const auto& [name, value] : numbers)
    require(value >= 0 && value <= kMost, "machine.{}={} must be a number from 0 to {}", name,
            value, kMost);
  require(m.peak == 0 || m.peak >= 1,
          "machine.peak={} is less than one FLOP/s; a device makes about 1e9 to 1e16", m.peak);
  require(m.pue >= 1 && m.pue <= kMost,
          "machine.pue={}: a building needs at least what its devices need, so it is 1 or more",
          m.pue);
}

}  // namespace

Machine settled(const Machine& given) {
  Machine m = given;
  check_numbers(m);
  check_shares(m);
  if (m.kind.empty()) return m;
  const auto& kinds = machine_kinds();
  const auto found = std::ranges::find(kinds, m.kind, &MachineKind::name);
  require(found != kinds.end(),
          "machine.kind={} is not known; there are {}; or give machine.peak, machine.memory and "
          "machine.watts",
          m.kind, names_of(machine_kinds()));
  if (m.peak == 0) m.peak = found->peak;
  if (m.memory == 0) m.memory = found->memory;
  if (m.watts == 0) m.watts = found->watts;
  return m;
}

void bind(Options& options, Machine& m) {
  options.add("machine.kind", m.kind, "gives peak, memory and watts: " + names_of(machine_kinds()));
  options.add("machine.count", m.count, "devices", "devices");
  options.add("machine.per_host", m.per_host, "of them in one host: the most that divide a matrix",
              "devices");
  options.add("machine.peak", m.peak, "of one device at the precision of training", "FLOP/s");
  options.add("machine.share", m.share, "part of the peak that training is expected to reach");
  options.add("machine.share_low", m.share_low, "and at the least; 0: three quarters of it");
  options.add("machine.share_high", m.share_high, "and at the most; 0: five quarters of it");
  options.add("machine.memory", m.memory, "of one device; 0: not looked at", "GiB");
  options.add("machine.price", m.price, "of one device for an hour, in any currency");
  options.add("machine.watts", m.watts, "that one device takes at work", "watts");
  options.add("machine.pue", m.pue, "energy of the building over that of its devices");
  options.add("machine.carbon", m.carbon, "of a kWh where it runs", "g CO2");
  options.add_choice("machine.device", m.device,
                     {{"cpu", DeviceKind::cpu}, {"cuda", DeviceKind::cuda}},
                     "what it is to `skein pretrain`");
}

}  // namespace skein::scaling::plan
