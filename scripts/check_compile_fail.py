#!/usr/bin/env python3
"""Checks that files do not compile, and that the compiler says why in the words that each file expects.

    check_compile_fail.py <file>... [--skip-fixed] -- <compiler> <flags...>
    check_compile_fail.py --self-test -- <compiler> <flags...>

A file begins with one or more lines `// expect: <part of the compiler's message>`. One that begins with `primsel: ` is the
compiler's first error, of which it says no more than fits on a page. Where the file has an
`#ifdef PRIMSEL_TEST_FIXED`, that version must compile: the failure is then for the right reason. One compiler may check that for
another, which `--skip-fixed` then spares it.

Several files are compiled as one, each in a namespace of its own, and each error belongs to the file that it names or that asked
for the template that it names. A file that then does not get what it expects is checked again alone, and only that counts: a
template that two files ask for is refused once.
"""
import pathlib
import re
import subprocess
import sys
import tempfile


LINES = 100  # of a page


def compile_file(file, command, *extra):
    result = subprocess.run([*command, "-fsyntax-only", *extra, str(file)], capture_output=True, text=True, check=False)
    return result.returncode == 0, result.stderr


def expectations(text):
    """What the head of a file expects of the message."""
    head = re.match(r"(// expect: .+\n)*", text)
    return re.findall(r"^// expect: (.+)$", head.group(), re.MULTILINE)


def disappointment(expected, message):
    """What is wrong with a compiler's message, or None."""
    for part in expected:
        if part not in message:
            return f"the message does not contain '{part}'; it is:\n{message}"
        if part.startswith("primsel: "):
            first = next((line for line in message.splitlines() if "error: " in line), "")
            if part not in first:
                return f"the first error is not '{part}'; the message is:\n{message}"
            if message.count("\n") > LINES:
                return f"the message is longer than {LINES} lines:\n{message}"
    return None


def check(file, command, skip_fixed=False):
    """What is wrong with the file, as text, or None."""
    text = pathlib.Path(file).read_text(encoding="utf-8")
    expected = expectations(text)
    if not expected:
        return "the first line is not `// expect: <part of the message>`"
    compiles, message = compile_file(file, command)
    if compiles:
        return "compiles, but should not"
    wrong = disappointment(expected, message)
    if wrong:
        return wrong
    if "PRIMSEL_TEST_FIXED" in text and not skip_fixed:
        compiles, message = compile_file(file, command, "-DPRIMSEL_TEST_FIXED")
        if not compiles:
            return f"does not compile with -DPRIMSEL_TEST_FIXED either:\n{message}"
    return None


INCLUDE = re.compile(r"^#include .+$", re.MULTILINE)


def joined(texts):
    """One source of all files, which keep their names and line numbers; what they include comes first."""
    includes = dict.fromkeys(line for text in texts.values() for line in INCLUDE.findall(text))
    parts = [f'namespace case_{number} {{\n#line 1 "{file}"\n{INCLUDE.sub("", text)}}}  // namespace\n'
             for number, (file, text) in enumerate(texts.items())]
    return "\n".join([*includes, *parts])


ERROR = re.compile(r": (fatal )?error: ")
# Lines that lead to an error: of g++ all that say for which template it is, of clang those of includes.
LEADING = re.compile(r"^In file included from |^ {10,}from |: (In|At) |:   (required|recursively required|in) ")


def errors_of(message, files):
    """{file: the part of the message that belongs to it}"""
    parts = []  # each one error with what leads to it and the notes on it
    for line in message.splitlines(keepends=True):
        if not parts or ((ERROR.search(line) or LEADING.search(line)) and any(map(ERROR.search, parts[-1]))):
            parts.append([])
        parts[-1].append(line)
    names = re.compile("(" + "|".join(re.escape(str(file)) for file in files) + "):")
    named, last = {}, None
    for part in parts:
        at = next((number for number, line in enumerate(part) if ERROR.search(line)), 0)
        # The error itself, else the nearest line that leads to it (g++), else the first that follows (clang). A template
        # that is the same as that of the error before is not named again.
        owners = (names.findall(line) for line in [*part[at::-1], *part[at:]])
        last = next((each[-1] for each in owners if each), last)
        named.setdefault(last, []).extend(part)
    return {file: "".join(lines) for file, lines in named.items()}


def check_all(files, command, skip_fixed=False):
    """{file: what is wrong with it}, and the files that were compiled alone."""
    texts = {str(file): pathlib.Path(file).read_text(encoding="utf-8") for file in files}
    alone = set()
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "joined.cpp"
        source.write_text(joined(texts), encoding="utf-8")
        all_errors = ["-ferror-limit=0"] if "clang" in pathlib.Path(command[0]).name else []
        _, message = compile_file(source, command, *all_errors)
        errors = errors_of(message, texts)
        for file, text in texts.items():
            expected = expectations(text)
            if not expected or file not in errors or disappointment(expected, errors[file]):
                alone.add(file)
        fixed = {file: text for file, text in texts.items() if "PRIMSEL_TEST_FIXED" in text}
        if fixed and not skip_fixed:
            source.write_text(joined(fixed), encoding="utf-8")
            compiles, message = compile_file(source, command, "-DPRIMSEL_TEST_FIXED", *all_errors)
            if not compiles:
                alone |= errors_of(message, fixed).keys() & texts.keys() or fixed.keys()
    findings = {file: check(file, command, skip_fixed) for file in texts if file in alone}
    return {file: finding for file, finding in findings.items() if finding}, alone


def self_test(command):
    """Files that the check must pass or reject, and in which words."""
    wrong = 'static_assert(sizeof(int) == 1, "an int is one byte");\n'
    fixable = f"#ifndef PRIMSEL_TEST_FIXED\n{wrong}#endif\n"
    cases = [
        ("// expect: an int is one byte\n" + wrong, None),
        ("// expect: an int is one byte\n" + fixable, None),
        (wrong, "the first line is not"),
        ("// expect: an int is one byte\nint answer = 42;\n", "compiles, but should not"),
        ("// expect: an int is two bytes\n" + wrong, "does not contain 'an int is two bytes'"),
        ("// expect: an int is one byte\n// expect: and red\n" + wrong, "does not contain 'and red'"),
        ("// expect: primsel: one byte\n" + wrong.replace("an int is", "primsel:"), None),
        ("// expect: primsel: one byte\n" + wrong + wrong.replace("an int is", "primsel:"), "the first error is not"),
        ("// expect: primsel: one byte\n" + wrong.replace("an int is", "primsel:") + wrong * 100, "is longer than"),
        ("// expect: an int is one byte\n#ifdef PRIMSEL_TEST_FIXED\n#endif\n" + wrong, "with -DPRIMSEL_TEST_FIXED either"),
    ]
    common = "#pragma once\ntemplate <int N>\nstruct Positive { static_assert(N > 0, \"primsel: not positive\"); };\n"
    cases += [('// expect: primsel: not positive\n#include "common.hpp"\n' + f"Positive<{number}> number;\n", None)
              for number in (-1, -2, -1)]
    cases += [('// expect: primsel: not positive\n#include "common.hpp"\nPositive<3> number;\n', "compiles, but should not"),
              ('// expect: primsel: not positive\n#include "common.hpp"\n' + wrong, "does not contain"),
              ('// expect: primsel: not positive\n#include "common.hpp"\n' + wrong + "Positive<-3> number;\n", "the first error is not")]
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "common.hpp").write_text(common, encoding="utf-8")
        command = [*command, f"-I{folder}"]
        expected = {}
        for number, (text, words) in enumerate(cases):
            file = pathlib.Path(folder) / f"case_{number}.cpp"
            file.write_text(text, encoding="utf-8")
            expected[str(file)] = words
        together, alone = check_all(expected, command)
        for (file, words), (text, _) in zip(expected.items(), cases):
            for finding in (check(file, command), together.get(file)):
                if (finding is None) != (words is None) or (words and words not in finding):
                    return f"on\n{text}expected {words!r}, got {finding!r}"
        # Those that fail, and the second that asks for the same template.
        if len(alone) != 1 + sum(words is not None for words in expected.values()):
            return f"compiled alone: {sorted(alone)}"
    return None


def main(arguments):
    if "--" not in arguments[1:]:
        print(__doc__)
        return 2
    own = arguments[: arguments.index("--")]
    command = arguments[arguments.index("--") + 1 :]
    if own == ["--self-test"]:
        finding = self_test(command)
        findings = {"--self-test": finding} if finding else {}
    else:
        files = [pathlib.Path(file).resolve() for file in own if file != "--skip-fixed"]
        if len(files) == 1:
            finding = check(files[0], command, "--skip-fixed" in own)
            findings = {files[0]: finding} if finding else {}
        else:
            findings, alone = check_all(files, command, "--skip-fixed" in own)
            print(f"{len(files)} files, of which alone: {', '.join(pathlib.Path(file).name for file in sorted(alone)) or 'none'}")
    for file, finding in findings.items():
        print(f"{file}: {finding}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
