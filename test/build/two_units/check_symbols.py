#!/usr/bin/env python3
"""check_symbols.py same|different <nm> <object> <object>: do two objects define common symbols of primsel?

Compiled for two instruction sets they must not: the linker would keep one copy and run it for both. Compiled alike they
must, or this check would not see a thing.
"""
import subprocess
import sys


def defined(nm, object_file):
    output = subprocess.run([nm, "--demangle", object_file], capture_output=True, text=True, check=True).stdout
    fields = (line.split(maxsplit=2) for line in output.splitlines())
    return {each[2] for each in fields if len(each) == 3 and each[1] in "TWVBDRu" and "primsel" in each[2]}


def main():
    what, nm, first, second = sys.argv[1:]
    common = sorted(defined(nm, first) & defined(nm, second))
    print(f"{len(common)} common symbols", *common[:20], sep="\n  ")
    return 0 if (len(common) > 0) == (what == "same") else 1


if __name__ == "__main__":
    sys.exit(main())
