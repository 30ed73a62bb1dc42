#include <cublasLt.h>
#include <map>
#include <mutex>

#include "skein/kernels/matmul.h"

#include "common.cuh"

namespace skein::kernels {
namespace {

constexpr size_t kWorkspace = 32 << 20;

void check_blas(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    fail("cuBLASLt: {} failed: {}", what, cublasLtGetStatusString(status));
}

cudaDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return CUDA_R_32F;
    case DType::bf16: return CUDA_R_16BF;
    case DType::f16: return CUDA_R_16F;
    case DType::f64: return CUDA_R_64F;
    default: break;
  }
  throw Error(ExitCode::internal, fmt::format("no products of {} on a GPU", name_of(dtype)));
}

// All that decides which algorithm runs; equal keys run the same one, and so give the same bits.
struct Key {
  int device;
  int64_t m, n, k;
  bool transpose_a, transpose_b, accumulate;
  DType in, out;
  int epilogue;
  bool any_rows;
  int64_t alignment;
  auto operator<=>(const Key&) const = default;
};

struct Layouts {
  cublasLtMatrixLayout_t left = nullptr, right = nullptr, result = nullptr;
};

struct Plan {
  cublasLtMatmulDesc_t description = nullptr;
  Layouts layouts;
  cublasLtMatmulAlgo_t algorithm{};
  bool possible = false;
};

struct Blas {
  cublasLtHandle_t handle = nullptr;
  std::byte* workspace = nullptr;
};

struct Plans {
  std::mutex mutex;
  std::map<int, Blas> blas;
  std::map<Key, Plan> plans;
};

Plans& plans() {
  static Plans& instance = *new Plans;
  return instance;
}

Blas& blas_of(int device) {
  Blas& blas = plans().blas[device];
  if (!blas.handle) {
    check_blas(cublasLtCreate(&blas.handle), "starting");
    blas.workspace = cuda::allocate(kWorkspace, device);
  }
  return blas;
}

template <class T>
void set(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t attribute,
         const T& value) {
  check_blas(cublasLtMatmulDescSetAttribute(description, attribute, &value, sizeof(value)),
             "describing a product");
}

cublasLtMatrixLayout_t layout(DType dtype, int64_t rows, int64_t columns) {
  cublasLtMatrixLayout_t made = nullptr;
  check_blas(cublasLtMatrixLayoutCreate(&made, type_of(dtype), static_cast<uint64_t>(rows),
                                        static_cast<uint64_t>(columns), rows),
             "describing a matrix");
  return made;
}

// cuBLAS sees columns where we see rows, so it multiplies the operands in exchange: cᵀ = op(b)ᵀ
// op(a)ᵀ.
Layouts layouts_of(const Key& key) {
  return {key.transpose_b ? layout(key.in, key.k, key.n) : layout(key.in, key.n, key.k),
          key.transpose_a ? layout(key.in, key.m, key.k) : layout(key.in, key.k, key.m),
          layout(key.out, key.n, key.m)};
}

void describe(const Key& key, cublasLtMatmulDesc_t description) {
  set(description, CUBLASLT_MATMUL_DESC_TRANSA, key.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(description, CUBLASLT_MATMUL_DESC_TRANSB, key.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(description, CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<cublasLtEpilogue_t>(key.epilogue));
  if (key.epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS || key.epilogue == CUBLASLT_EPILOGUE_GELU_AUX)
    set(description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, key.n);
}

// Parts of a sum are not to be added in the type of the result, which may be bf16; nor at all where
// the number of rows would decide how many parts there are.
uint32_t reductions_of(const Key& key) {
  return key.any_rows ? CUBLASLT_REDUCTION_SCHEME_NONE : CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
}

bool find_algorithm(const Key& key, const Blas& blas, const Layouts& of, Plan& plan) {
  cublasLtMatmulPreference_t preference = nullptr;
  check_blas(cublasLtMatmulPreferenceCreate(&preference), "choosing an algorithm");
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
    check_blas(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof(value)),
               "choosing an algorithm");
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspace);
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions_of(key));
  for (auto attribute :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    prefer(attribute, static_cast<uint32_t>(key.alignment));
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  const auto status =
      cublasLtMatmulAlgoGetHeuristic(blas.handle, plan.description, of.left, of.right, of.result,
                                     of.result, preference, 1, &found, &count);
  cublasLtMatmulPreferenceDestroy(preference);
  plan.algorithm = found.algo;
  return status == CUBLAS_STATUS_SUCCESS && count > 0;
}

// What an algorithm is chosen for where the number of rows may not matter. Each element is one
// chain over k in all of those that add no parts (an H200 with cuBLASLt 13.1 gave a row the same
// bits among 1 to 8,192 rows, with any of them).
constexpr int64_t kAnyRows = 4096;

bool find_algorithm_of_any_rows(const Key& key, const Blas& blas, Plan& plan) {
  Key many = key;
  many.m = kAnyRows;
  const Layouts of = layouts_of(many);
  const bool found = find_algorithm(many, blas, of, plan);
  for (cublasLtMatrixLayout_t one : {of.left, of.right, of.result})
    cublasLtMatrixLayoutDestroy(one);
  if (!found) return false;
  cublasLtMatmulHeuristicResult_t checked{};
  check_blas(
      cublasLtMatmulAlgoCheck(blas.handle, plan.description, plan.layouts.left, plan.layouts.right,
                              plan.layouts.result, plan.layouts.result, &plan.algorithm, &checked),
      "taking the algorithm of many rows for few (parallel.equal_micro_batches)");
  return true;
}

Plan make_plan(const Key& key, const Blas& blas) {
  Plan plan;
  const bool wide = key.in == DType::f64;
  check_blas(
      cublasLtMatmulDescCreate(&plan.description, wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                               wide ? CUDA_R_64F : CUDA_R_32F),
      "describing a product");
  describe(key, plan.description);
  plan.layouts = layouts_of(key);
  plan.possible = key.any_rows ? find_algorithm_of_any_rows(key, blas, plan)
                               : find_algorithm(key, blas, plan.layouts, plan);
  return plan;
}

int64_t alignment_of(std::initializer_list<const void*> pointers) {
  uintptr_t bits = 256;
  for (const void* p : pointers) bits |= reinterpret_cast<uintptr_t>(p);
  return static_cast<int64_t>(bits & (~bits + 1));
}

// That any row may begin at, where the whole begins well.
int64_t row_alignment(const Key& key) {
  const int64_t rows = (key.transpose_a ? key.m : key.k) * size_of(key.in) |
                       key.n * size_of(key.in) | key.n * size_of(key.out) | 16;
  return rows & -rows;
}

struct Operands {
  const Tensor &a, &b, &c;
  bool any_rows;
  const void* bias = nullptr;
  const Tensor* activated = nullptr;  // then c receives what the activation was of
};

// False where cuBLASLt has no algorithm for the key.
bool run(Cuda on, Key key, const Operands& x) {
  const Tensor& result = x.activated ? *x.activated : x.c;
  key.alignment =
      alignment_of({x.a.bytes_data(), x.b.bytes_data(), x.c.bytes_data(), result.bytes_data()});
  if (x.any_rows) key.alignment = std::min(key.alignment, row_alignment(key));
  const std::lock_guard lock(plans().mutex);
  const Blas& blas = blas_of(on.index);
  auto found = plans().plans.find(key);
  if (found == plans().plans.end()) found = plans().plans.emplace(key, make_plan(key, blas)).first;
  const Plan& plan = found->second;
  if (!plan.possible) return false;
  if (x.bias) set(plan.description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, x.bias);
  if (x.activated)
    set(plan.description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER,
        static_cast<void*>(x.c.bytes_data()));
  const double ones[] = {1, 0};
  const float singles[] = {1, 0};
  const bool wide = key.in == DType::f64;
  const void *one = wide ? static_cast<const void*>(ones) : singles,
             *none = wide ? static_cast<const void*>(ones + 1) : singles + 1;
  check_blas(cublasLtMatmul(blas.handle, plan.description, one, x.b.bytes_data(), plan.layouts.left,
                            x.a.bytes_data(), plan.layouts.right, key.accumulate ? one : none,
                            result.bytes_data(), plan.layouts.result, result.bytes_data(),
                            plan.layouts.result, &plan.algorithm, blas.workspace, kWorkspace,
                            stream_of(on)),
             "a product");
  return true;
}

}  // namespace

int64_t depth_granule(Cuda, DType) { return 1; }

void matmul(Cuda on, const Tensor& a, const Tensor& b, const MatmulArguments& arguments, Out c,
            Out activated) {
  const bool transpose_a = arguments.transpose_a, transpose_b = arguments.transpose_b;
  const int64_t depth = a.dim(transpose_a ? 0 : 1);
  SKEIN_CHECK_EQ(a.dim(transpose_a ? 1 : 0), c->dim(0));
  SKEIN_CHECK_EQ(b.dim(transpose_b ? 0 : 1), c->dim(1));
  SKEIN_CHECK_EQ(b.dim(transpose_b ? 1 : 0), depth);
  const bool biased = arguments.bias.defined();
  const KernelSpan span(on, "matmul",
                        2.0 * static_cast<double>(c->size()) * static_cast<double>(depth));
  Key key{on.index,
          c->dim(0),
          c->dim(1),
          depth,
          transpose_a,
          transpose_b,
          arguments.accumulate,
          a.dtype(),
          c->dtype(),
          biased ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT,
          arguments.any_rows && !transpose_a,
          0};
  const void* bias = biased ? arguments.bias.bytes_data() : nullptr;
  if (activated->defined() && arguments.activation == Activation::gelu_tanh && c->dim(1) % 8 == 0) {
    Key fused = key;
    fused.epilogue = biased ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX;
    if (run(on, fused, {a, b, *c, arguments.any_rows, bias, &*activated})) return;
  }
  if (!run(on, key, {a, b, *c, arguments.any_rows, bias}))
    fail("cuBLASLt has no algorithm for a product of {} and {}", a.shape().str(), b.shape().str());
  if (activated->defined()) activation(on, arguments.activation, *c, activated);
}

}  // namespace skein::kernels
