// Picks, when the program starts, which of several copies of a part of it runs: one for each instruction set.
// dispatch.sh compiles this file and links it to the copies. It defines
//   PRIMSEL_ARCHS(X)           X(avx512) X(avx2) X(sse4_2): those that there is a copy for, the widest first
//   PRIMSEL_ENTRIES(X, arch)   X(classify, arch) ...: the functions by which the rest of the program calls the part
// Only <entry>_<arch> and the bounds of the static initialisers of each copy are visible here. The initialisers of the
// copy that was picked are run; those of the others never are.
#include <cpuid.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
using primsel_initialiser = void (*)(int, char**, char**);

// Arguments and results of the functions do not matter: a jump passes a call on, registers and stack as they are.
#define PRIMSEL_DECLARE_ENTRY(entry, arch) void entry##_##arch();
#define PRIMSEL_DECLARE(arch)                                     \
    extern const primsel_initialiser primsel_init_begin_##arch[]; \
    extern const primsel_initialiser primsel_init_end_##arch[];   \
    PRIMSEL_ENTRIES(PRIMSEL_DECLARE_ENTRY, arch)
PRIMSEL_ARCHS(PRIMSEL_DECLARE)

#define PRIMSEL_DEFINE_TARGET(entry, none) \
    __attribute__((visibility("hidden"), used)) void (*primsel_target_of_##entry)() = nullptr;
PRIMSEL_ENTRIES(PRIMSEL_DEFINE_TARGET, )
}

#define PRIMSEL_DEFINE_ENTRY(entry, none)                                            \
    asm(".text\n.p2align 4\n.globl " #entry "\n.type " #entry ", @function\n" #entry \
        ":\n"                                                                        \
        "endbr64\njmp *primsel_target_of_" #entry "(%rip)\n.size " #entry ", . - " #entry "\n");
PRIMSEL_ENTRIES(PRIMSEL_DEFINE_ENTRY, )

namespace {

// The instructions that -march=x86-64-v2, -v3 and -v4 let a compiler use. The built-in also asks whether the operating
// system saves the registers. It does not know every name with every compiler; CPUID is asked for those it lacks.
bool runs_sse4_2() {
    return __builtin_cpu_supports("sse3") && __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.1") &&
           __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
}
bool runs_avx2() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_MOVBE) == 0 || (c & bit_F16C) == 0) return false;
    if (__get_cpuid(0x80000001, &a, &b, &c, &d) == 0 || (c & bit_LZCNT) == 0) return false;
    return runs_sse4_2() && __builtin_cpu_supports("avx") && __builtin_cpu_supports("avx2") &&
           __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}
bool runs_avx512() {
    return runs_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}

[[noreturn]] void refuse(const char* first, const char* second, const char* third) {
    std::fputs(first, stderr);
    std::fputs(second, stderr);
    std::fputs(third, stderr);
    std::_Exit(1);
}

/// Whether this copy is wanted and the processor can run it. PRIMSEL_ARCH of the environment may ask for one of them.
bool is_picked(const char* arch, bool runs, const char* wanted) {
    if (wanted == nullptr || *wanted == '\0') return runs;
    if (std::strcmp(arch, wanted) != 0) return false;
    if (!runs) refuse("PRIMSEL_ARCH=", wanted, ": this processor cannot run it\n");
    return true;
}

// Before the program's own static initialisers, which may call an entry.
__attribute__((constructor(101))) void pick(int argc, char** argv, char** environment) {
    __builtin_cpu_init();
    const char* wanted = std::getenv("PRIMSEL_ARCH");
#define PRIMSEL_SET_TARGET(entry, arch) primsel_target_of_##entry = entry##_##arch;
#define PRIMSEL_PICK(arch)                                                                        \
    if (is_picked(#arch, runs_##arch(), wanted)) {                                                \
        PRIMSEL_ENTRIES(PRIMSEL_SET_TARGET, arch)                                                 \
        const primsel_initialiser* initialiser = primsel_init_begin_##arch;                       \
        while (initialiser != primsel_init_end_##arch) (*initialiser++)(argc, argv, environment); \
        return;                                                                                   \
    }
    PRIMSEL_ARCHS(PRIMSEL_PICK)
#define PRIMSEL_NAME(arch) " " #arch
    if (wanted != nullptr && *wanted != '\0') {
        refuse("PRIMSEL_ARCH=", wanted, ": there is no such copy; there are" PRIMSEL_ARCHS(PRIMSEL_NAME) "\n");
    }
    refuse("this processor runs none of", PRIMSEL_ARCHS(PRIMSEL_NAME), ", which this program is compiled for\n");
}

}  // namespace
