/* Detects which instruction sets this machine can run. A set counts only if the processor has every extension that its
 * files are compiled for and the operating system saves its registers. The compiler's builtin test checks both. */
#include <string.h>

#include "cpu/cpu.h"
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define CPU_ISA_NAME(name) #name,
static const char *const names[] = {CPU_ISAS(CPU_ISA_NAME)};
#undef CPU_ISA_NAME

#if defined(__x86_64__)
/* Not every compiler's builtin test knows this name. F16C needs the AVX registers, which the test of AVX2 covers. */
static bool has_f16c(void) {
  unsigned a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

cpu_isa cpu_isa_best(void) {
  __builtin_cpu_init();
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
  bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                __builtin_cpu_supports("avx512vnni");
  return avx512 ? CPU_ISA_avx512 : avx2 ? CPU_ISA_avx2 : CPU_ISA_base;
}
#else
cpu_isa cpu_isa_best(void) { return (cpu_isa)(CPU_ISA_COUNT - 1); } /* NEON is part of every 64-bit Arm */
#endif

const char *cpu_isa_name(cpu_isa isa) { return isa < CPU_ISA_COUNT ? names[isa] : "?"; }

bool cpu_isa_find(const char *name, cpu_isa *out) {
  for (int i = 0; i <= (int)cpu_isa_best(); i++)
    if (strcmp(name, names[i]) == 0) {
      *out = (cpu_isa)i;
      return true;
    }
  return false;
}
