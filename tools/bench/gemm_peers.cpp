// The peers of `skein bench --bench.what=gemm`: OpenBLAS (f32) and oneDNN (weights packed
// beforehand) on the same products.
//   g++ -O2 -std=c++20 tools/bench/gemm_peers.cpp -o gemm_peers -ldnnl -lopenblas
//   OMP_NUM_THREADS=2 OPENBLAS_NUM_THREADS=2 ./gemm_peers bf16 4096 768x768 3072x768 768x3072
//   50304x768
// One line a product, form and library: the median of 5 rates in GFLOP/s.
#include <algorithm>
#include <cblas.h>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "oneapi/dnnl/dnnl.hpp"

using dnnl::memory;
using Type = memory::data_type;

namespace {

const dnnl::engine kEngine(dnnl::engine::kind::cpu, 0);

double rate_of(double flops, const std::function<void()>& work) {
  const auto seconds = [&](int calls) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / calls;
  };
  const int calls = std::clamp(static_cast<int>(0.05 / seconds(1)), 1, 1000);
  std::vector<double> rates;
  for (int i = 0; i < 5; ++i) rates.push_back(flops / seconds(calls) * 1e-9);
  std::sort(rates.begin(), rates.end());
  return rates[2];
}

memory::desc matrix(long rows, long columns, bool transposed, Type type) {
  return {{rows, columns}, type, transposed ? memory::dims{1, rows} : memory::dims{columns, 1}};
}

// c [m,n] = a [m,k] · b [k,n], of operands that may be transposed.
struct Product {
  long m, n, k;
  bool ta, tb;
  double flops() const { return 2.0 * m * n * k; }
};

// b packed before where `pack`.
double dnnl_rate(const Product& p, Type type, Type out, bool pack) {
  dnnl::stream stream(kEngine);
  const auto [m, n, k, ta, tb] = p;
  const memory::desc a = matrix(m, k, ta, type), b = matrix(k, n, tb, type),
                     c = matrix(m, n, false, out);
  const memory::desc wanted = pack ? memory::desc({k, n}, type, memory::format_tag::any) : b;
  const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(a, wanted, c), kEngine);
  memory left(a, kEngine), plain(b, kEngine), right(description.weights_desc(), kEngine),
      result(c, kEngine);
  std::memset(left.get_data_handle(), 0x3c, a.get_size());
  std::memset(plain.get_data_handle(), 0x3c, b.get_size());
  dnnl::reorder(plain, right).execute(stream, plain, right);
  stream.wait();
  const dnnl::matmul product(description);
  return rate_of(p.flops(), [&] {
    product.execute(stream,
                    {{DNNL_ARG_SRC, left}, {DNNL_ARG_WEIGHTS, right}, {DNNL_ARG_DST, result}});
    stream.wait();
  });
}

double blas_rate(const Product& p) {
  std::vector<float> a(p.m * p.k, 0.5f), b(p.k * p.n, 0.25f), c(p.m * p.n);
  return rate_of(p.flops(), [&] {
    cblas_sgemm(CblasRowMajor, p.ta ? CblasTrans : CblasNoTrans, p.tb ? CblasTrans : CblasNoTrans,
                p.m, p.n, p.k, 1, a.data(), p.ta ? p.m : p.k, b.data(), p.tb ? p.k : p.n, 0,
                c.data(), p.n);
  });
}

}  // namespace

int main(int argc, char** argv) {
  const bool bf16 = argc > 1 && std::string(argv[1]) == "bf16";
  const long rows = argc > 2 ? std::stol(argv[2]) : 1024;
  const Type type = bf16 ? Type::bf16 : Type::f32;
  for (int i = 3; i < argc; ++i) {
    const long outputs = std::stol(argv[i]), inputs = std::stol(std::strchr(argv[i], 'x') + 1);
    const auto tell = [&](const char* form, const Product& p, bool weight) {
      std::printf("%ldx%ld %s: oneDNN %.1f", outputs, inputs, form,
                  dnnl_rate(p, type, weight ? type : Type::f32, weight));
      if (!bf16) std::printf(", OpenBLAS %.1f", blas_rate(p));
      std::printf(" GFLOP/s\n");
    };
    tell("forward", {rows, outputs, inputs, false, true}, true);
    tell("dx", {rows, inputs, outputs, false, false}, true);
    tell("dw", {outputs, inputs, rows, true, false}, false);
  }
}
