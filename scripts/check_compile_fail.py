#!/usr/bin/env python3
"""Checks that a file does not compile, and that the compiler says why in the words that the file expects.

    check_compile_fail.py <file> -- <compiler> <flags...>
    check_compile_fail.py --self-test -- <compiler> <flags...>

The file begins with one or more lines `// expect: <part of the compiler's message>`. Where it has an
`#ifdef PRIMSEL_TEST_FIXED`, that version must compile: the failure is then for the right reason.
"""
import pathlib
import re
import subprocess
import sys
import tempfile


def compile_file(file, command, *extra):
    result = subprocess.run([*command, "-fsyntax-only", *extra, str(file)], capture_output=True, text=True, check=False)
    return result.returncode == 0, result.stderr


def check(file, command):
    """What is wrong with the file, as text, or None."""
    text = pathlib.Path(file).read_text(encoding="utf-8")
    head = re.match(r"(// expect: .+\n)+", text)
    if not head:
        return "the first line is not `// expect: <part of the message>`"
    compiles, message = compile_file(file, command)
    if compiles:
        return "compiles, but should not"
    for expected in re.findall(r"^// expect: (.+)$", head.group(), re.MULTILINE):
        if expected not in message:
            return f"the message does not contain '{expected}'; it is:\n{message}"
    if "PRIMSEL_TEST_FIXED" in text:
        compiles, message = compile_file(file, command, "-DPRIMSEL_TEST_FIXED")
        if not compiles:
            return f"does not compile with -DPRIMSEL_TEST_FIXED either:\n{message}"
    return None


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
        ("// expect: an int is one byte\n#ifdef PRIMSEL_TEST_FIXED\n#endif\n" + wrong, "with -DPRIMSEL_TEST_FIXED either"),
    ]
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "case.cpp"
        for text, expected in cases:
            file.write_text(text, encoding="utf-8")
            finding = check(file, command)
            if (finding is None) != (expected is None) or (expected and expected not in finding):
                return f"on\n{text}expected {expected!r}, got {finding!r}"
    return None


def main(arguments):
    if len(arguments) < 3 or arguments[1] != "--":
        print(__doc__)
        return 2
    what, command = arguments[0], arguments[2:]
    finding = self_test(command) if what == "--self-test" else check(what, command)
    if finding:
        print(f"{what}: {finding}")
    return 1 if finding else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
