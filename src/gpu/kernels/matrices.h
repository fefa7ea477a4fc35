/* Matrices of 16 x 16 over a subgroup of 32, with the names of GLSL's cooperative matrices, for targets that are C++
 * and have instructions for parts of them. So kernels NAME.matrix.k are one text for Vulkan and CUDA.
 *
 * Every matrix has the element-to-lane mapping that fragments.kh checks on Vulkan: invocation 4 g + t holds, of a
 * left-hand matrix or of sums, elements 2 t, 2 t + 1, 2 t + 8 and 2 t + 9 of row g, then the same of row g + 8; of a
 * right-hand matrix the same of its columns. A product is two of 16 x 8 x 16, for the left and the right half of the
 * columns of b, and each takes what an invocation holds as it is.
 *
 * Before this file: k_load_matrices, k_multiply and K_STORE_PAIR (k_cuda_matrix.h; tests/gpu/coop/k_coop.h emulates
 * them on the host). */
#define K_MATRIX_AT(i)                                                                                               \
  (16u * (gl_SubgroupInvocationID / 4u + (i) / 4u * 8u) + 2u * (gl_SubgroupInvocationID % 4u) + (i) / 2u % 2u * 8u + \
   (i) % 2u) /* 16 row + column */

enum { gl_MatrixUseA, gl_MatrixUseB, gl_MatrixUseAccumulator, gl_ScopeSubgroup };
enum { gl_CooperativeMatrixLayoutRowMajor, gl_CooperativeMatrixLayoutColumnMajor };

template <class T, int Scope, int Rows, int Columns, int Use> struct coopmat {
  T e[8];
  coopmat() = default;
  K_MEMBER explicit coopmat(f32 f) { K_UNROLL for (u32 i = 0u; i < 8u; i += 1u) e[i] = T(f); }
  K_MEMBER T &operator[](u32 i) { return e[i]; }
  K_MEMBER int length() const { return 8; }
};
typedef coopmat<f32, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> k_sums;
template <int Use> using k_factor = coopmat<float16_t, gl_ScopeSubgroup, 16, 16, Use>;

K_DEVICE k_sums operator+(k_sums a, const k_sums &b) {
  K_UNROLL for (u32 i = 0u; i < 8u; i += 1u) a.e[i] += b.e[i];
  return a;
}

template <int Use, class Array>
K_DEVICE void coopMatLoad(k_factor<Use> &m, Array &from, u32 first, u32 stride, int layout) {
  const bool transposed = (Use == gl_MatrixUseA) != (layout == gl_CooperativeMatrixLayoutRowMajor);
  const u32 part = gl_SubgroupInvocationID / 8u, in = gl_SubgroupInvocationID % 8u;
  const u32 line = in + 8u * (transposed ? part % 2u : part / 2u), vec = transposed ? part / 2u : part % 2u;
  u32 w[4];
  k_load_matrices(&from[first + line * stride + vec], transposed, w);
  K_UNROLL for (u32 i = 0u; i < 4u; i += 1u) {
    m.e[2u * i].bits = (unsigned short)(w[i] & 0xffffu);
    m.e[2u * i + 1u].bits = (unsigned short)(w[i] >> 16u);
  }
}

/* Element i of sums: its vector in an array, and the element of that. */
K_DEVICE u32 k_sum_vector(u32 i, u32 first, u32 stride, int layout) {
  const u32 row = K_MATRIX_AT(i) / 16u, column = K_MATRIX_AT(i) % 16u;
  return layout == gl_CooperativeMatrixLayoutRowMajor ? first + row * stride + column / 4u
                                                      : first + column * stride + row / 4u;
}
K_DEVICE u32 k_sum_element(u32 i, int layout) {
  return layout == gl_CooperativeMatrixLayoutRowMajor ? K_MATRIX_AT(i) % 4u : K_MATRIX_AT(i) / 16u % 4u;
}
template <class Array> K_DEVICE void coopMatLoad(k_sums &m, Array &from, u32 first, u32 stride, int layout) {
  K_UNROLL for (u32 i = 0u; i < 8u; i += 1u) {
    m.e[i] = AS_F32(from[k_sum_vector(i, first, stride, layout)][k_sum_element(i, layout)]);
  }
}
template <class Array> K_DEVICE void coopMatStore(const k_sums &m, Array &to, u32 first, u32 stride, int layout) {
  if (layout == gl_CooperativeMatrixLayoutRowMajor) {
    K_UNROLL for (u32 i = 0u; i < 8u; i += 2u) {
      K_STORE_PAIR(to[k_sum_vector(i, first, stride, layout)], k_sum_element(i, layout), m.e[i], m.e[i + 1u]);
    }
  } else {
    K_UNROLL for (u32 i = 0u; i < 8u; i += 1u) {
      to[k_sum_vector(i, first, stride, layout)][k_sum_element(i, layout)] = AS_U32(m.e[i]);
    }
  }
}

template <int Use> K_DEVICE u32 k_pair(const k_factor<Use> &m, u32 i) {
  return (u32)m.e[2u * i].bits | ((u32)m.e[2u * i + 1u].bits << 16u);
}
K_DEVICE k_sums coopMatMulAdd(const k_factor<gl_MatrixUseA> &a, const k_factor<gl_MatrixUseB> &b, k_sums c) {
  const u32 left[4] = {k_pair(a, 0u), k_pair(a, 2u), k_pair(a, 1u), k_pair(a, 3u)};
  k_multiply(left, k_pair(b, 0u), k_pair(b, 1u), c.e[0], c.e[1], c.e[4], c.e[5]);
  k_multiply(left, k_pair(b, 2u), k_pair(b, 3u), c.e[2], c.e[3], c.e[6], c.e[7]);
  return c;
}
