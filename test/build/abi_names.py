#!/usr/bin/env python3
"""abi_names.py <config.hpp> <compiler>...: are units of unlike instruction sets of unlike names (PRIMSEL_ABI)?

For all -march= and some -m flags of each compiler: two flags give the same name exactly where the compiler defines the same
macros of instructions that it, or xsimd, uses without being told by name.
"""
import itertools
import re
import subprocess
import sys

# Instructions that only intrinsics of their own name make.
ASKED_FOR = re.compile(r"__(AES|PCLMUL|VAES|VPCLMULQDQ|SHA(512)?|SM[34]|KL|WIDEKL|RDRND|RDSEED|FSGSBASE|RDPID|RDPRU|PRFCHW|PREFETCHWT1|PREFETCHI|"
                       r"CLFLUSHOPT|CLWB|CLZERO|CLDEMOTE|WBNOINVD|XSAVE(C|OPT|S)?|FXSR|MWAITX?|INVPCID|SGX|PKU|PTWRITE|WAITPKG|SERIALIZE|"
                       r"TSXLDTRK|UINTR|HRESET|ENQCMD|MOVDIRI|MOVDIR64B|PCONFIG|LWP|RTM|HLE|SHSTK|AMX_\w+|CMPCCXADD|RAOINT|USERMSR|MMX|"
                       r"3dNOW(_A)?|MMX_WITH_SSE|SSE2?_MATH|SSE2?|AVX5124(FMAPS|VNNIW)|AVX512VP2INTERSECT|SAHF|"
                       r"GCC_HAVE_SYNC_COMPARE_AND_SWAP_16|MOVRS|EVEX(256|512)|NF|CF|ZU|PPX|PUSH2POP2|NDD|CCMP)__")
FEATURE = re.compile(r"^#define (__(?:(?:S?SSE|AVX|FMA|BMI|XOP|TBM|F16C|LZCNT|POPCNT|MOVBE|CRC32|GFNI|ADX|APX)\w*|3dNOW\w*)__) 1$", re.MULTILINE)
MARCHES = re.compile(r"(?:valid|available)[^:]*: (.*)")


def preprocessed(compiler, flags, text, *more):
    done = subprocess.run([compiler, "-std=c++20", *flags, *more, "-E", "-P", "-x", "c++", "-"], input=text, capture_output=True,
                          text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def flags_of(compiler):
    said = subprocess.run([compiler, "-march=none_such", "-E", "-x", "c++", "/dev/null"], capture_output=True, text=True, check=False).stderr
    names = re.findall(r"[\w.+-]+", " ".join(MARCHES.findall(said)))
    yield from (["-march=" + name] for name in names)
    single = ["sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "lzcnt", "bmi", "bmi2", "avx", "fma", "f16c", "avx2", "avx512f", "avx512vl",
              "avx512bw", "avx512dq", "avx512cd", "avx512vbmi", "avx512vnni", "avxvnni", "gfni", "movbe", "xop", "fma4"]
    yield []
    yield ["-ffast-math"]
    yield from (["-m" + name] for name in single)
    yield ["-mavx2", "-mfma"]
    yield ["-mavx2", "-mfma", "-mavx512f"]
    yield ["-mavx2", "-mfma", "-mavx512f", "-mavx512vl"]
    yield ["-march=x86-64-v4", "-mno-avx512bw"]


def main():
    header = open(sys.argv[1], encoding="utf-8").read() + "\nPRIMSEL_ABI\n"
    failures = 0
    for compiler in sys.argv[2:]:
        units = []
        for flags in flags_of(compiler):
            name = preprocessed(compiler, flags, header)
            if name is None:
                continue  # 32 bits, or unknown to this compiler
            macros = frozenset(each for each in FEATURE.findall(preprocessed(compiler, flags, "", "-dM")) if not ASKED_FOR.fullmatch(each))
            units.append((" ".join(flags), macros | ({"fast"} if "-ffast-math" in flags else set()), name.split()[-1]))
        for (first, macros, name), (second, others, other_name) in itertools.combinations(units, 2):
            if (macros == others) != (name == other_name):
                failures += 1
                print(f"{compiler}: '{first}' is {name}, '{second}' {other_name}; they differ by {sorted(macros ^ others)}")
        print(f"{compiler}: {len(units)} sets of flags, {len({name for _, _, name in units})} names")
        if len(units) < 20:
            failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
