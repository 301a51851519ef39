#!/usr/bin/env python3
"""Checks that each header stands alone: that none leans on what was included before it.

    check_headers_alone.py <scratch folder> <file that lists the headers> -- <compiler> <flags...>
    check_headers_alone.py --self-test -- <compiler> <flags...>

The list has one header a line, relative to include/. Clang compiles all of them at once as the submodules of one module: in each
it sees nothing but what that header includes, directly or indirectly, and it parses none twice. Headers of C++ libraries are
submodules, too; those of C are read wherever they are included. Other compilers are given one header at a time.
"""
import concurrent.futures
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from check_includes import includes_of

TOP = pathlib.Path(__file__).resolve().parent.parent


def is_clang(command):
    return "clang" in pathlib.Path(command[0]).name


def run(command):
    """The compiler's message if it fails, or None."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode != 0 else None


@functools.cache
def included_by(path):
    return [target for _, _, target in includes_of(path.read_text(encoding="utf-8"))]


def includes_from(include, headers):
    """Everything that `headers` lead to: our own headers under `include`, and the C++ headers of others."""
    own, others, left = {}, {}, list(headers)
    while left:
        header = left.pop()
        if header not in own:
            own[header] = None
            for target in included_by(include / header):
                if (include / target).is_file():
                    left.append(target)
                elif not target.endswith(".h"):
                    others[target] = None
    return sorted(own), sorted(others)


def paths_of(others, scratch, command):
    """{name of a header of another library: its path}, of those that this machine has."""
    source = scratch / "others.cpp"
    source.write_text("".join(f"#if __has_include(<{name}>)\n#include <{name}>\n#endif\n" for name in others), encoding="utf-8")
    done = subprocess.run([*command, "-M", source], capture_output=True, text=True, check=True)
    paths = {os.path.realpath(word) for word in done.stdout.split() if word.startswith("/")}
    # Included first within `extern "C"` by Eigen, by way of the intrinsics.
    names = [*others, "bits/c++config.h"]
    found = {name: min((path for path in paths if path.endswith("/" + name)), key=len, default=None) for name in names}
    return {name: path for name, path in found.items() if path}


def check_together(include, headers, scratch, command):
    own, others = includes_from(include, headers)
    paths = paths_of(others, scratch, command)
    parts = [*paths.values(), *(str(include / header) for header in own)]
    lines = [f'  module part_{number} {{ header "{path}" export * }}' for number, path in enumerate(parts)]
    module_map = scratch / "all.modulemap"
    module_map.write_text("\n".join(["module all {", *lines, "}"]) + "\n", encoding="utf-8")
    source = scratch / "all.cpp"
    source.write_text(f"#include <{headers[0]}>\n", encoding="utf-8")  # which compiles the module
    # A header of others counts as our own here: their warnings are passed over by name. Clang 16 takes hexadecimal floats in a
    # module for an extension.
    done = subprocess.run([*(flag for flag in command if flag != "-Werror"), "-fmodules", "-fno-implicit-module-maps",
                           f"-fmodule-map-file={module_map}", f"-fmodules-cache-path={scratch / 'cache'}",
                           "-Xclang", "-fmodules-local-submodule-visibility", "-Wno-module-import-in-extern-c", "-Wno-c++17-extensions",
                           "-Wno-modules-ambiguous-internal-linkage",  # C headers are read several times
                           "-ferror-limit=0", "-fsyntax-only", source], capture_output=True, text=True, check=False)
    shutil.rmtree(scratch / "cache", ignore_errors=True)  # half a gigabyte
    own_warning = re.compile("^" + re.escape(str(include)) + "/.* warning: ", re.MULTILINE)
    is_wrong = done.returncode != 0 or ("-Werror" in command and own_warning.search(done.stderr))
    return without_warnings_of_others(include, done.stderr) if is_wrong else None


def without_warnings_of_others(include, message):
    """The parts of Clang's message that tell of errors or of warnings in our headers."""
    place = re.compile(r"^(\S+?):\d+:\d+: (?:fatal )?(error|warning): ")
    kept, keeps = [], False
    for line in message.splitlines():
        found = place.match(line)
        if found:
            keeps = found.group(2) == "error" or found.group(1).startswith(f"{include}/")
        elif line.startswith(("In file included from", "While building module")):
            keeps = False
        if keeps:
            kept.append(line)
    return "\n".join(kept) or message


def check_one_by_one(headers, scratch, command):
    def compile_one(header):
        source = scratch / (header.replace("/", "_").removesuffix(".hpp") + ".cpp")
        source.write_text(f"#include <{header}>\n" * 2, encoding="utf-8")
        return run([*command, "-fsyntax-only", source])

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return "".join(filter(None, pool.map(compile_one, headers)))


def without_abi(include, headers):
    """The headers that use PRIMSEL_ABI and lead to none that defines it: a compiler takes it for a namespace's name."""
    texts = {header: (include / header).read_text(encoding="utf-8") for header in includes_from(include, headers)[0]}
    defining = {header for header, text in texts.items() if "#define PRIMSEL_ABI" in text}
    using = [header for header, text in texts.items() if "PRIMSEL_ABI" in text]
    return "".join(f"{header} uses PRIMSEL_ABI without a definition\n" for header in using
                   if defining.isdisjoint(includes_from(include, [header])[0]))


def check(include, headers, scratch, command):
    """The compiler's messages, or something false."""
    if finding := without_abi(include, headers):
        return finding
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    if is_clang(command):
        return check_together(include, headers, scratch, command)
    return check_one_by_one(headers, scratch, command)


def self_test(command):
    """Headers that stand alone, and one that does not but could lean on its neighbours, whatever their names."""
    sound = {"base.hpp": "#include <cstddef>\n#define FOUR 4\nstruct Base {};\n",
             "user.hpp": "#include <base.hpp>\nstruct User : Base {};\n",
             "top.hpp": "#include <user.hpp>\n#include <vector>\nstruct Top : User { std::vector<int> numbers{FOUR}; };\n",
             "other.hpp": "#include <base.hpp>\nBase other();\n"}
    cases = [(sound, None)]
    for name in ("a.hpp", "z.hpp"):
        for text, expected in (("struct Leaning : Base {};\n", "Base"),
                               ("#include <base.hpp>\nstruct Leaning : User {};\n", "User"),
                               ("#include <base.hpp>\nstd::vector<Base> leaning();\n", "vector"),
                               ("inline int leaning = FOUR;\n", "FOUR"),
                               ("namespace inline PRIMSEL_ABI {}\n", "PRIMSEL_ABI"),
                               ("inline int leaning(int unused) { return 4; }\n", "unused")):
            cases.append(({**sound, name: text}, expected))
    for files, expected in cases:
        with tempfile.TemporaryDirectory() as folder:
            include = pathlib.Path(folder) / "include"
            include.mkdir()
            for name, text in files.items():
                (include / name).write_text("#pragma once\n" + text, encoding="utf-8")
            finding = check(include, sorted(files), pathlib.Path(folder) / "scratch", [*command, "-Werror", f"-I{include}"])
        if bool(expected) != bool(finding) or (expected and expected not in finding):
            return f"of {files}, expected {expected!r}, got {finding}"
    return None


def main(arguments):
    if "--" not in arguments[1:]:
        print(__doc__)
        return 2
    own = arguments[: arguments.index("--")]
    command = arguments[arguments.index("--") + 1 :]
    if own == ["--self-test"]:
        finding = self_test(command)
    else:
        headers = pathlib.Path(own[1]).read_text(encoding="utf-8").split()
        finding = check(TOP / "include", headers, pathlib.Path(own[0]).resolve(), command)
        print(f"{len(headers)} headers checked")
    if finding:
        print(finding)
    return 1 if finding else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
