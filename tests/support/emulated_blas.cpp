// cuBLASLt on emulated devices: the CPU's products, after what the library would refuse is refused.
// It sees columns where kernels::matmul sees rows, so its a is the right operand.
#include <algorithm>
#include <cstring>
#include <cublasLt.h>
#include <fmt/format.h>

#include "skein/kernels/matmul.h"

#include "emulated_device.h"
#include "emulated_streams.h"

using skein::DType;
using skein::Out;
using skein::Shape;
using skein::Tensor;
using skein::emulation::Access;

struct EmulatedBlas {
  int device;
};
struct EmulatedMatrix {
  cudaDataType_t type;
  int64_t rows, columns, step;
};
struct EmulatedProduct {
  cublasComputeType_t compute;
  cublasOperation_t a = CUBLAS_OP_N, b = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void *bias = nullptr, *aux = nullptr;
  int64_t aux_step = 0;
};
struct EmulatedPreference {
  uint64_t workspace = 0;
  uint32_t reductions = 0;
  uint32_t alignments[4] = {256, 256, 256, 256};
};

namespace {

DType dtype_of(cudaDataType_t type) {
  switch (type) {
    case CUDA_R_64F: return DType::f64;
    case CUDA_R_16F: return DType::f16;
    case CUDA_R_16BF: return DType::bf16;
    case CUDA_R_32F: break;
  }
  return DType::f32;
}

bool has_bias(cublasLtEpilogue_t epilogue) {
  return epilogue == CUBLASLT_EPILOGUE_BIAS || epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
}
bool has_aux(cublasLtEpilogue_t epilogue) { return (epilogue & CUBLASLT_EPILOGUE_GELU_AUX) == 160; }

// Sizes of a product of columns: result [rows, columns].
struct Sizes {
  int64_t rows = 0, columns = 0, depth = 0;
  bool agree = false;
};

Sizes sizes_of(const EmulatedProduct& p, const EmulatedMatrix& a, const EmulatedMatrix& b,
               const EmulatedMatrix& c) {
  const bool turned_a = p.a == CUBLAS_OP_T, turned_b = p.b == CUBLAS_OP_T;
  const Sizes made{turned_a ? a.columns : a.rows, turned_b ? b.rows : b.columns,
                   turned_a ? a.rows : a.columns};
  const bool agree = made.depth == (turned_b ? b.columns : b.rows) && c.rows == made.rows &&
                     c.columns == made.columns && a.type == b.type && a.step >= a.rows &&
                     b.step >= b.rows && c.step >= c.rows;
  return {made.rows, made.columns, made.depth, agree};
}

// Memory of the device as a tensor, packed; null stands for none.
class View {
 public:
  View(const void* data, Shape shape, DType dtype)
      : data_(static_cast<std::byte*>(const_cast<void*>(data))), shape_(shape), dtype_(dtype) {}

  Tensor on_host() const {
    if (!data_) return {};
    const Tensor made = Tensor::empty(shape_, dtype_);
    std::memcpy(made.bytes_data(), data_, static_cast<size_t>(made.bytes()));
    return made;
  }
  void store(const Tensor& made) const {
    if (data_) std::memcpy(data_, made.bytes_data(), static_cast<size_t>(made.bytes()));
  }

 private:
  std::byte* data_;
  Shape shape_;
  DType dtype_;
};

View matrix(const void* data, const EmulatedMatrix& of) {
  return {data, {of.columns, of.rows}, dtype_of(of.type)};
}

bool is_one(const void* factor, cublasComputeType_t compute, double wanted) {
  return (compute == CUBLAS_COMPUTE_64F ? *static_cast<const double*>(factor)
                                        : *static_cast<const float*>(factor)) == wanted;
}

bool is_packed(const EmulatedMatrix& matrix) { return matrix.step == matrix.rows; }

bool aligned(const void* pointer, uint32_t to) {
  return reinterpret_cast<uintptr_t>(pointer) % to == 0;
}

}  // namespace

const char* cublasLtGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "success";
    case CUBLAS_STATUS_INVALID_VALUE: return "invalid value";
    case CUBLAS_STATUS_NOT_SUPPORTED: break;
  }
  return "not supported";
}

// Waits, as the library does.
cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  const int device = skein::emulation::chosen_device();
  skein::emulation::wait_in_driver(device);
  *handle = new EmulatedBlas{device};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* made, cudaDataType_t type,
                                          uint64_t rows, uint64_t columns, int64_t step) {
  *made = new EmulatedMatrix{type, static_cast<int64_t>(rows), static_cast<int64_t>(columns), step};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* made, cublasComputeType_t compute,
                                        cudaDataType_t) {
  *made = new EmulatedProduct{compute};
  return CUBLAS_STATUS_SUCCESS;
}

namespace {

template <class T>
cublasStatus_t take(T& field, const void* value, size_t bytes) {
  if (bytes != sizeof(T)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&field, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA: return take(description->a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB: return take(description->b, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE: return take(description->epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return take(description->bias, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER: return take(description->aux, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD: return take(description->aux_step, value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* made) {
  *made = new EmulatedPreference;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, size_t bytes) {
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
    return take(preference->workspace, value, bytes);
  if (attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK)
    return take(preference->reductions, value, bytes);
  return take(preference->alignments[attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES], value,
              bytes);
}

// None of doubles ends in GELU: there the product and the activation are two passes.
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t description,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t* found, int* count) {
  const Sizes sizes = sizes_of(*description, *a, *b, *c);
  if (!sizes.agree || c != d || wanted < 1) return CUBLAS_STATUS_INVALID_VALUE;
  *count = 0;
  if (has_aux(description->epilogue) && a->type == CUDA_R_64F) return CUBLAS_STATUS_NOT_SUPPORTED;
  *count = 1;
  found->algo = {sizes.rows,
                 sizes.columns,
                 sizes.depth,
                 preference->reductions,
                 *std::min_element(preference->alignments, preference->alignments + 4),
                 preference->workspace};
  return CUBLAS_STATUS_SUCCESS;
}

// Other columns, which are rows to us, only with an algorithm that adds no parts.
cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t description,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t,
                                       const cublasLtMatmulAlgo_t* algorithm,
                                       cublasLtMatmulHeuristicResult_t*) {
  const Sizes sizes = sizes_of(*description, *a, *b, *c);
  const bool fits = sizes.agree && sizes.rows == algorithm->rows &&
                    sizes.depth == algorithm->depth &&
                    (sizes.columns == algorithm->columns ||
                     algorithm->reductions == CUBLASLT_REDUCTION_SCHEME_NONE);
  return fits ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

namespace {

// Queues a product that was found right.
void multiply(const EmulatedProduct& p, bool accumulate, const View& right, const View& left,
              const View& result, const View& bias, const View& before, int device) {
  skein::emulation::now_or_recorded(device, [=] {
    const Access access;
    skein::kernels::MatmulArguments how;
    how.transpose_a = p.b == CUBLAS_OP_T;
    how.transpose_b = p.a == CUBLAS_OP_T;
    how.accumulate = accumulate;
    how.bias = bias.on_host();
    const Tensor made = result.on_host(), sums = before.on_host();
    const bool activated = sums.defined();
    skein::kernels::matmul(skein::Cpu{}, left.on_host(), right.on_host(), how,
                           Out(activated ? sums : made), Out(activated ? made : Tensor()));
    result.store(made);
    before.store(sums);
  });
}

}  // namespace

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t description,
                              const void* alpha, const void* a, cublasLtMatrixLayout_t a_layout,
                              const void* b, cublasLtMatrixLayout_t b_layout, const void* beta,
                              const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              size_t workspace_bytes, cudaStream_t stream) {
  const EmulatedProduct& p = *description;
  const bool biased = has_bias(p.epilogue), aux = has_aux(p.epilogue);
  const bool accumulate = is_one(beta, p.compute, 1);
  bool right = cublasLtMatmulAlgoCheck(handle, description, a_layout, b_layout, c_layout, d_layout,
                                       algorithm, nullptr) == CUBLAS_STATUS_SUCCESS;
  for (const EmulatedMatrix* layout : {a_layout, b_layout, c_layout})
    right = right && is_packed(*layout);
  for (const void* pointer : {a, b, c, static_cast<const void*>(d)})
    right = right && aligned(pointer, algorithm->alignment);
  right = right && c == d && c_layout == d_layout && is_one(alpha, p.compute, 1) &&
          (accumulate || is_one(beta, p.compute, 0)) && workspace &&
          workspace_bytes >= algorithm->workspace && stream->device() == handle->device &&
          biased <= (p.bias != nullptr) && (!aux || (p.aux && p.aux_step == c_layout->rows));
  if (!right) return CUBLAS_STATUS_INVALID_VALUE;
  skein::emulation::load_kernel(
      handle->device,
      fmt::format("product {} {} {} {} {} {} {}", algorithm->rows, c_layout->columns,
                  algorithm->depth, static_cast<int>(p.a), static_cast<int>(p.b),
                  static_cast<int>(a_layout->type), static_cast<int>(p.epilogue)));
  const DType out = dtype_of(c_layout->type);
  multiply(p, accumulate, matrix(a, *a_layout), matrix(b, *b_layout), matrix(d, *d_layout),
           {biased ? p.bias : nullptr, {c_layout->rows}, out},
           matrix(aux ? p.aux : nullptr, *c_layout), handle->device);
  return CUBLAS_STATUS_SUCCESS;
}
