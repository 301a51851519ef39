#!/usr/bin/env python3
"""Checks that every link of the repository's pages to a file, and to a heading of a page, leads somewhere.

    check_links.py [<folder>]
    check_links.py --self-test
"""
import pathlib
import re
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent


def text_of(page):
    """Its text without the blocks of code, which have no links."""
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def anchors(page):
    headings = re.findall(r"^#+ (.+)$", text_of(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def check(top):
    findings = []
    for page in [*top.glob("*.md"), *top.glob("docs/**/*.md"), *top.glob("bench/**/*.md")]:
        for target in re.findall(r"\]\(([^()\s]+)\)", text_of(page)):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            file = page.parent / path if path else page
            if not file.exists():
                findings.append(f"{page.relative_to(top)}: there is no {target}")
            elif anchor and anchor not in anchors(file):
                findings.append(f"{page.relative_to(top)}: {path or 'the page'} has no heading #{anchor}")
    return findings


def self_test():
    cases = [("[a](b.md)", []), ("[a](b.md#the-c-of-it)", []), ("[a](https://x.org/y)", []), ("```\n[a](no.md)\n```", []),
             ("[a](no.md)", ["a.md: there is no no.md"]), ("[a](b.md#d)", ["a.md: b.md has no heading #d"]),
             ("[a](#d)", ["a.md: the page has no heading #d"])]
    for text, expected in cases:
        with tempfile.TemporaryDirectory() as folder:
            top = pathlib.Path(folder)
            (top / "a.md").write_text(text, encoding="utf-8")
            (top / "b.md").write_text("# The `C` of it\n", encoding="utf-8")
            if check(top) != expected:
                return [f"{text}: expected {expected}, got {check(top)}"]
    return []


def main(arguments):
    if arguments == ["--self-test"]:
        findings = self_test()
    else:
        findings = check(pathlib.Path(arguments[0]) if arguments else TOP)
    print("\n".join(findings))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
