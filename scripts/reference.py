#!/usr/bin/env python3
"""Writes docs/reference/: a page a room, with what each header declares and the `///` comments beside it.

    reference.py [--check]      writes the pages; --check: exit status 1 and one line for each that is not up to date
    reference.py --self-test

It reads C++ as clang-format leaves it: a brace after a space opens a body, any other an initialiser. Left out are `detail`
and what is not public; without a comment also specialisations, names that are only declared, and what is deleted or defaulted.
"""
import difflib
import pathlib
import re
import sys
import tempfile
from dataclasses import dataclass, field

TOP = pathlib.Path(__file__).resolve().parent.parent
CLOSING = {"(": ")", "[": "]", "{": "}"}
WIDTH = 120
LONGEST = 6  # lines of a definition that is not cut short


@dataclass
class Item:
    name: str
    text: str  # without the members
    doc: list
    members: list = field(default_factory=list)
    is_class: bool = False
    remark: str = ""  # behind it


def without_conditions(text):
    """Of two that the preprocessor chooses from, the last."""
    return re.sub(r"^#if.*\n(?:(?!#(?:if|else|elif)).*\n)*?#else.*\n((?:(?!#).*\n)*)#endif.*\n", r"\1", text, flags=re.MULTILINE)


def skip_token(text, at):
    """Behind the comment, literal or pair of brackets that begins there, or behind one character."""
    if text.startswith("//", at):
        return (text + "\n").index("\n", at)
    raw = re.compile(r'R"(\w*)\(').match(text, at)
    if raw and not text[at - 1:at].isalnum():
        return text.index(")" + raw[1] + '"', at) + len(raw[1]) + 2
    literal = re.compile(r'"(?:[^"\\]|\\.)*"|(?<!\w)\'(?:[^\'\\]|\\.)+\'', re.DOTALL).match(text, at)
    if literal:
        return literal.end()
    if text[at] in CLOSING:
        end = at + 1
        while text[end] != CLOSING[text[at]]:
            end = skip_token(text, end)
        return end + 1
    return at + 1


def skip_template(text, at):
    """Behind `template <...>` and what it requires, as often as they stand there."""
    while (opening := re.compile(r"\s*template <").match(text, at)):
        at, depth = opening.end(), 1
        while depth:
            depth += {"<": 1, ">": -1 if text[at - 1] not in "-=" else 0}.get(text[at], 0)
            at = skip_token(text, at)
        if requires := re.compile(r"\s*requires\s*").match(text, at):
            at = requires.end()
            while text[at] != "\n" or text[:at].endswith(("&&", "||")):
                at = skip_token(text, at)
    return at


def skip_declaration(text, begin):
    """(the end of its head, the end of the body, behind all of it); the ends are those of the head where it has no body."""
    at, has_value, head_end = skip_template(text, begin), False, None
    while True:
        if text[at] == ";":
            return head_end or at, None, at + 1
        if text[at] == "{":
            end = skip_token(text, at)
            if not has_value and text[at - 1].isspace():
                follows = re.compile(r"\s*;").match(text, end)
                return head_end or at, at, follows.end() if follows else end
            at = end
            continue
        has_value |= text.startswith(" = ", at) or text.startswith(" =\n", at) or text.startswith("concept ", at)
        # The initialisers of a constructor are no part of its head.
        if not has_value and re.compile(r"\s+: ").match(text, at) and re.search(r"(\)|\bnoexcept)$", text[begin:at]):
            head_end = head_end or at
        at = skip_token(text, at)


def name_of(head):
    """What a head declares, with the arguments of a specialisation; empty for a specialised variable."""
    if found := re.match(r"(?:class|struct|enum class|enum|union|concept|using) (\w+(?:<.*?>(?=$| :))?)", head, re.DOTALL):
        return found[1]
    if head.startswith("friend "):
        return "friend"
    head = re.sub(r"^([^()]*?)\s=\s.*", r"\1", head, flags=re.DOTALL)  # a variable without its value
    head = re.sub(r"\s+requires\b.*", "", head, flags=re.DOTALL)
    if found := re.search(r"(~?\boperator ?(?:\(\)|\[\]|[^\s\w(]+|[\w: &*]+)|~?\b\w+) ?\(", head):
        return found[1]
    found = re.search(r"(\w+)(?:\[\w*\])?$", head.split("{")[0].rstrip())
    return found[1] if found else ""


def dedent(text, indent):
    return "\n".join(re.sub(f"^ {{0,{indent}}}", "", line) for line in text.strip().split("\n"))


def shorten(text):
    """Without attributes, and without a value that takes many lines."""
    lines, cut = [], 0
    for line in text.split("\n"):
        kept = re.sub(r"^(\s*)(static )?(?:(?:\[\[nodiscard\]\]|PRIMSEL_INLINE|PRIMSEL_NOINLINE|inline) )+", r"\1\2", line)
        # The following lines are aligned to the one before.
        lines.append(line[cut:] if kept == line and line.startswith(" " * (cut + 4)) else kept)
        cut = len(line) - len(kept) or cut
    text = "\n".join(lines)
    text = re.sub(r"^ *// NOLINT.*\n", "", text, flags=re.MULTILINE)
    if text.count("\n") >= LONGEST or re.search(r" =\s+\[", text):
        at = skip_template(text, 0)
        while at < len(text) and not re.compile(r" =\s").match(text, at):
            at = skip_token(text, at)
        if at < len(text) and not re.search(r"\bconcept\b", text):
            text = text[:at] + " = ..."
    return text


def declaration(text, begin, doc, is_public, indent):
    """(the item or None, where it ends)"""
    head_end, body, end = skip_declaration(text, begin)
    plain = text[skip_template(text, begin):head_end].strip()
    name = name_of(plain)
    is_type = re.match(r"(class|struct|enum|union) ", plain) is not None
    item = Item(name, shorten(dedent(text[begin:head_end], indent)), doc)
    is_left_out = body is None and is_type or "<" in name or re.search(r"= (delete|default)$", plain)
    if not name or name.startswith("~") or is_left_out and not doc or not is_public:
        return None, end
    if is_type and plain.startswith("enum"):
        item.text += " " + dedent(text[body:skip_token(text, body)], indent)
    elif is_type and body is not None:
        item.is_class = True
        item.members, _ = scope(text, body + 1, "", not plain.startswith("class"), indent + 4)
        item.members = [member for _, member in item.members]
    return item, end


def scope(text, at, prefix, is_public, indent=0):
    """([(prefix, item)] up to the brace that closes it, behind which it ends)"""
    items, doc = [], []
    while at < len(text):
        if text[at].isspace():
            at += 1
        elif text.startswith("//", at):
            end = skip_token(text, at)
            if text.startswith("///<", at):
                items[-1][1].remark = "  " + text[at:end]
            elif text.startswith("///", at):
                doc.append(text[at + 3:end].removeprefix(" "))
            at = end
        elif text[at] == "#":
            at = re.compile(r"(.*\\\n)*.*\n").match(text, at).end()
        elif text[at] == "}":
            return items, at + 1
        elif access := re.compile(r"(public|private|protected):").match(text, at):
            at, is_public = access.end(), access[1] == "public"
        elif opened := re.compile(r"namespace ?([\w: ]*?) ?\{").match(text, at):
            inside = re.sub(r"^primsel::inline PRIMSEL_ABI(::)?", "", opened[1])
            inner, end = scope(text, opened.end(), prefix + inside + "::" * bool(inside), True)
            items += [] if re.search(r"detail$|^$", opened[1]) else inner
            at, doc = end, []
        elif text[at] == ";":
            at += 1
        elif re.compile(r"static_assert\(|extern template|template (class|struct)|using namespace").match(text, at):
            at, doc = skip_declaration(text, at)[2], []
        else:
            item, at = declaration(text, at, doc, is_public, indent)
            if item:
                items.append((prefix, item))
            doc = []
    return items, at


def code(item, indent=0):
    """The lines of a declaration, with its public members."""
    lines = item.text.split("\n")
    if item.is_class:
        lines[-1] += " {" if item.members else " {}"
        for member in item.members:
            lines += ["    /// " + line if line else "    ///" for line in member.doc] + code(member, 4)
        lines += ["}"] if item.members else []
    lines[-1] += ";" + item.remark
    return [" " * indent + line if line else line for line in lines]


def prose(doc):
    """Comments as Markdown: code keeps its lines, and what would be a tag or emphasis is escaped."""
    lines, was_code = [], False
    for line in doc:
        is_code = line.startswith("    ") or was_code and not line
        ends_list = re.match(r"[^\s-]", line) and lines and re.match(r"- |  \S", lines[-1])
        if (is_code != was_code or ends_list) and lines and lines[-1]:
            lines.append("")
        if not is_code:
            parts = re.split(r"(`[^`]*`)", line)
            line = "".join(part if part.startswith("`") else re.sub(r"([<*])", r"\\\1", part) for part in parts)
            line = re.sub(r"\bdocs/([\w/]+\.md)", r"[docs/\1](../\1)", line)
        lines.append(line)
        was_code = is_code
    return lines


def page(top, room):
    lines = [f"# {room}/", "", "Written by `scripts/reference.py` from the headers."]
    for header in headers(top, room):
        text = without_conditions(header.read_text(encoding="utf-8"))
        remark = re.match(r"((?://(?!/).*\n)*)", text)[1].replace("// ", "").strip()
        items, _ = scope(text, 0, "", True)
        if not items:
            continue
        path = header.relative_to(top / "include")
        lines += ["", f"## [{path.relative_to('primsel')}](../../include/{path})"]
        lines += ["", *prose(remark.split("\n"))] if remark else []
        last = None
        for prefix, item in items:
            if item.name != last or item.doc:
                lines += ["", f"### `{prefix}{item.name}`", *([""] + prose(item.doc) if item.doc else []), "", "```c++", *code(item), "```"]
            else:  # an overload
                lines[-1:] = [*code(item), "```"]
            last = item.name
    return "\n".join(lines) + "\n"


def headers(top, room):
    left_out = lambda path: "detail" in path.parts or path.parent.name == "pretrained"
    return [path for path in sorted((top / "include/primsel" / room).rglob("*.hpp")) if not left_out(path)]


def pages(top):
    rooms = [folder.name for folder in sorted((top / "include/primsel").iterdir()) if folder.is_dir()]
    texts = {f"{room}.md": page(top, room) for room in rooms}
    index = ["# What the headers declare", "", "A page a room, written by `scripts/reference.py`. [HACKING.md](../../HACKING.md) says what each is for.",
             "", *(f"- [{room}/]({room}.md)" for room in rooms)]
    return {**texts, "README.md": "\n".join(index) + "\n"}


def self_test():
    header = """// Opt-in: needs care.
#pragma once
#include <a>
namespace primsel::inline PRIMSEL_ABI {
namespace detail {
struct Inside {};
}  // namespace detail
struct Later;
/// Holds <T>.
template <class T>
    requires requires(T t) { t.f(); } &&
             true
class Box : detail::Inside {
    int hidden_ = '{';
public:
    /// From one.
    explicit Box(T t) : hidden_{1}, other_(t) { f("}"); }
    Box(Box const&) = delete;
    ~Box() { g(); }
    [[nodiscard]] static constexpr int f(int a = 1,
                                         int b = 2) noexcept { return a; }
    int size{3};  ///< in floats
private:
    T other_;
};
template <>
struct Box<int> {};
/// - one
/// Two, in docs/a.md:
///     f(<x>)
template <>
struct Box<char> {};
template <class T>
inline constexpr bool sure = [] {
    return true;
}();
namespace layer {
enum class Kind { a, b };
inline int two() { return 2; }
inline int two(Kind kind);
}  // namespace layer
}  // namespace primsel::inline PRIMSEL_ABI
"""
    expected = """# room/

Written by `scripts/reference.py` from the headers.

## [room/a.hpp](../../include/primsel/room/a.hpp)

Opt-in: needs care.

### `Box`

Holds \\<T>.

```c++
template <class T>
    requires requires(T t) { t.f(); } &&
             true
class Box : detail::Inside {
    /// From one.
    explicit Box(T t);
    static constexpr int f(int a = 1,
                           int b = 2) noexcept;
    int size{3};  ///< in floats
};
```

### `Box<char>`

- one

Two, in [docs/a.md](../a.md):

    f(<x>)

```c++
template <>
struct Box<char> {};
```

### `sure`

```c++
template <class T>
constexpr bool sure = ...;
```

### `layer::Kind`

```c++
enum class Kind { a, b };
```

### `layer::two`

```c++
int two();
int two(Kind kind);
```
"""
    with tempfile.TemporaryDirectory() as folder:
        room = pathlib.Path(folder) / "include/primsel/room"
        (room / "detail").mkdir(parents=True)
        (room / "a.hpp").write_text(header, encoding="utf-8")
        (room / "detail/b.hpp").write_text(header, encoding="utf-8")
        text = page(pathlib.Path(folder), "room")
    return list(difflib.unified_diff(expected.split("\n"), text.split("\n"), "expected", "written", lineterm=""))


def main(arguments):
    if arguments == ["--self-test"]:
        findings = self_test()
    else:
        folder = TOP / "docs/reference"
        texts = pages(TOP)
        present = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
        findings = [f"docs/reference/{name}: run `make reference`" for name in sorted(texts.keys() | present.keys())
                    if texts.get(name) != present.get(name)]
        if arguments != ["--check"]:
            findings = []
            folder.mkdir(exist_ok=True)
            for name in present.keys() - texts.keys():
                (folder / name).unlink()
            for name, text in texts.items():
                (folder / name).write_text(text, encoding="utf-8")
    print("\n".join(findings))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
