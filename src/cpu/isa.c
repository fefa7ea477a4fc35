/* Detects which instruction sets of isa.def this machine can run. A set counts only if the processor has every
 * extension that its files are compiled for and the operating system saves its registers. */
#include <string.h>

#include "base/os_cpu.h"
#include "cpu/cpu.h"

#define CPU_ISA_NAME(A, B, name, runs, features) #name,
static const char *const names[] = {CPU_ISAS(CPU_ISA_NAME, , )};
#define CPU_ISA_FEATURES(A, B, name, runs, features) features,
static const char *const features_of[] = {CPU_ISAS(CPU_ISA_FEATURES, , )};

cpu_isa cpu_isa_best(void) {
  int n = 0; /* sets that run, up to the first that does not */
#define CPU_ISA_RUNS(A, B, name, runs, features) \
  if (n == (int)CPU_ISA_##name && (runs)) n++;
  CPU_ISAS(CPU_ISA_RUNS, , )
  return (cpu_isa)(n - 1); /* the first always runs */
}

const char *cpu_isa_name(cpu_isa isa) { return isa < CPU_ISA_COUNT ? names[isa] : "?"; }
const char *cpu_isa_features(cpu_isa isa) { return isa < CPU_ISA_COUNT ? features_of[isa] : ""; }

bool cpu_isa_find(const char *name, cpu_isa *out) {
  if (strcmp(name, "base") == 0) { /* the poorest, also where it has a name of its own */
    *out = CPU_ISA_FIRST;
    return true;
  }
  for (int i = 0; i <= (int)cpu_isa_best(); i++)
    if (strcmp(name, names[i]) == 0) {
      *out = (cpu_isa)i;
      return true;
    }
  return false;
}
