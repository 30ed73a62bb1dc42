// The widest vectors this build may use: loads, broadcasts and fused multiply-adds, once a kind of
// unit.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "skein/kernels/units.h"
#include "skein/tensor/dtype.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#define SKEIN_AVX512 1
#define SKEIN_PAIRS __attribute__((target("avx512bf16")))
#else
#define SKEIN_AVX512 0
#define SKEIN_PAIRS
#endif

namespace skein::kernels {

// Two bf16 that neighbour in depth: what one lane of the bf16 units multiplies at once.
struct Pair {
  BFloat16 low, high;
};

// The same for AMX, whose tiles take sixteen Pairs of depth at once.
struct TilePair {
  BFloat16 low, high;
};

template <class Unit>
constexpr bool kPairs = std::is_same_v<Unit, Pair> || std::is_same_v<Unit, TilePair>;

// a * b + c, fused where this build's CPUs can.
template <class A>
requires std::is_arithmetic_v<A>
inline A fused(A a, std::type_identity_t<A> b, std::type_identity_t<A> c) {
#ifdef __FMA__
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}

constexpr int kVectorBytes = SKEIN_AVX512 ? 64 : __BIGGEST_ALIGNMENT__ >= 32 ? 32 : 16;

template <class A>
struct VectorOf {
  typedef A type __attribute__((vector_size(kVectorBytes)));
};
template <class A>
using Vector = typename VectorOf<A>::type;

template <class V>
using Lane = std::remove_cvref_t<decltype(V{}[0])>;
template <class V>
inline V all(Lane<V> value) {
  return value - V{};
}

inline Vector<float> fused(Vector<float> a, Vector<float> b, Vector<float> c) {
#if SKEIN_AVX512
  return (Vector<float>)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
  return (Vector<float>)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
  return a * b + c;
#endif
}
inline Vector<double> fused(Vector<double> a, Vector<double> b, Vector<double> c) {
#if SKEIN_AVX512
  return (Vector<double>)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__FMA__)
  return (Vector<double>)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#else
  return a * b + c;
#endif
}

template <class V, class E>
inline __attribute__((always_inline)) V load_vector(const E* p) {
  V v;
  std::memcpy(&v, p, sizeof(V));
  return v;
}

// Unit: what one lane takes at one step of depth; Sum: what it adds to.
template <class Unit>
struct Lanes {
  using Sum = Unit;
  using Value = Vector<Unit>;
  static constexpr int kDepth = 1;  // elements of depth in a unit
  static constexpr int kStep = 1;   // units of depth taken at once
  static inline __attribute__((always_inline)) Value all(const Unit* p) { return *p - Value{}; }
  static inline __attribute__((always_inline)) void add_product(Vector<Sum>& sum, Value a,
                                                                Value b) {
    sum = fused(a, b, sum);
  }
};

#if SKEIN_AVX512
template <>
struct Lanes<Pair> {
  using Sum = float;
  using Value = Vector<int32_t>;
  static constexpr int kDepth = 2, kStep = 1;
  static inline __attribute__((always_inline)) Value all(const Pair* p) {
    int32_t bits;
    std::memcpy(&bits, p, 4);
    return bits - Value{};
  }
  SKEIN_PAIRS static inline __attribute__((always_inline)) void add_product(Vector<float>& sum,
                                                                            Value a, Value b) {
    sum = (Vector<float>)_mm512_dpbf16_ps((__m512)sum, (__m512bh)a, (__m512bh)b);
  }
};
#else
template <>
struct Lanes<Pair> {
  using Sum = float;
  static constexpr int kDepth = 2, kStep = 1;
};
#endif

template <>
struct Lanes<TilePair> {
  using Sum = float;
  static constexpr int kDepth = 2, kStep = 16;
};

// Calls f with the tag of the unit in which products of T run here.
template <class T, class F>
void visit_unit(const F& f) {
#if SKEIN_AVX512
  if constexpr (std::is_same_v<T, BFloat16>) {
    switch (bf16_unit(Cpu{})) {
      case Bf16Unit::amx:
      case Bf16Unit::amx_emulated: return f(TypeTag<TilePair>{});
      case Bf16Unit::avx512_bf16: return f(TypeTag<Pair>{});
      case Bf16Unit::f32: break;
    }
  }
#endif
  f(TypeTag<Accumulator<T>>{});
}

// Memory of one thread that grows and is kept, aligned to a vector. Each use has a slot of its own.
enum class Scratch {
  packed_left,
  packed_right,
  strip,
  scores,
  slopes,
  dropped,
  keys,
  values,
  key_rows,
  queries,
  query_rows,
  douts,
  dout_rows,
  gradients,
  turns,
  frequencies,
  count
};

template <class A>
A* scratch(Scratch slot, int64_t elements) {
  struct ScratchMemory {
    void* data = nullptr;
    size_t bytes = 0;
    ~ScratchMemory() { ::operator delete(data, std::align_val_t(64)); }
  };
  thread_local ScratchMemory held[static_cast<int>(Scratch::count)];
  ScratchMemory& wanted = held[static_cast<int>(slot)];
  const size_t bytes = static_cast<size_t>(elements) * sizeof(A);
  if (wanted.bytes < bytes) {
    ::operator delete(wanted.data, std::align_val_t(64));
    wanted.data = nullptr;
    wanted.data = ::operator new(bytes, std::align_val_t(64));
    wanted.bytes = bytes;
  }
  return static_cast<A*>(wanted.data);
}

}  // namespace skein::kernels
