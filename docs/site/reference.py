"""MkDocs hook: the pages reference/<room>.md of the site, made of what Doxygen reads from the headers."""
import collections
import dataclasses
import html
import pathlib
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
XML = TOP / "build/docs-xml"
WIDTH = 90  # of a declaration, where it is broken into lines


@dataclasses.dataclass
class Entry:
    """What a header declares at namespace scope."""

    header: str
    line: int
    name: str
    markdown: str


class Reference:
    def __init__(self, pages):
        self.pages = pages  # the paths of the other pages, relative to docs/
        self.place = {}  # of a Doxygen id: (room, anchor)
        self.entries = collections.defaultdict(list)  # of a room
        compounds = []
        for file in sorted((XML / "xml").glob("*.xml")):
            compound = ElementTree.parse(file).getroot().find("compounddef")
            if compound is not None and compound.get("kind") in ("class", "struct", "union", "concept", "namespace"):
                compounds.append(compound)
        for write in (False, True):  # links can only be written when all anchors are known
            self.write, self.entries, self.anchors = write, collections.defaultdict(list), collections.Counter()
            for compound in compounds:
                self.add(compound)

    def add(self, compound):
        if compound.get("kind") == "namespace":
            for member in compound.iter("memberdef"):
                if self.is_shown(member):
                    self.add_entry(member, member.findtext("name"), lambda anchor, each=member: self.member(each))
            return
        name = compound.findtext("compoundname")
        is_specialised = "<" in name and not self.has_text(compound)
        if name.startswith("std::") or compound.get("prot", "public") != "public" or is_specialised:
            return
        name = re.sub(r"^(?:\w+::)*?(?=[A-Z]|\w+$)", "", tidy(name))
        if compound.get("kind") == "concept":
            self.add_entry(compound, name, lambda anchor: self.concept(compound))
        else:
            self.add_entry(compound, name, lambda anchor: self.type(compound, name, anchor))

    def add_entry(self, node, name, write):
        location = node.find("location")
        header = location.get("file").removeprefix("primsel/")
        room = header.split("/")[0] if "/" in header else "primsel"
        anchor = slug(name)
        self.anchors[room, anchor] += 1
        if self.anchors[room, anchor] > 1:
            anchor += f"-{self.anchors[room, anchor]}"
        self.place[node.get("id")] = (room, anchor)
        self.room = room
        self.entries[room].append(Entry(header, int(location.get("line")), name, f"### `{name}` {{#{anchor}}}\n\n{write(anchor)}\n"))

    @staticmethod
    def has_text(node):
        return any("".join(part.itertext()).strip() for part in (node.find("briefdescription"), node.find("detaileddescription")))

    def is_shown(self, member):
        location = member.find("location")
        return (member.get("prot") == "public" and location is not None and location.get("file", "").startswith("primsel/")
                and member.get("kind") in ("function", "variable", "typedef", "enum", "friend")
                and not re.search(r"^~|<", member.findtext("name") or "~")
                and (self.has_text(member) or not re.search(r"= ?(delete|default)$", member.findtext("argsstring") or "")))

    # The text of an entry.

    def concept(self, node):
        text = node.findtext("initializer") if not list(node.find("initializer")) else "".join(node.find("initializer").itertext())
        text = re.sub(r"\bconcept (\w+::)+", "concept ", text.strip())
        return self.description(node) + code(re.sub(r"= +", "= ", text) + ";")

    def member(self, node):
        return self.description(node) + code(declaration(node)) + self.enumerators(node)

    def enumerators(self, node):
        return "".join(f"- `{value.findtext('name')}`: {self.description(value).strip()}\n"
                       for value in node.iter("enumvalue") if self.has_text(value))

    def type(self, node, name, anchor):
        head = template_head(node) + f"{node.get('kind')} {name}"
        bases = [tidy("".join(base.itertext())) for base in node.iter("basecompoundref")
                 if base.get("prot") == "public" and "detail" not in base.text]
        head += (" : " + ", ".join(bases) if bases else "") + ";"
        members = [member for section in node.iter("sectiondef") for member in section.iter("memberdef") if self.is_shown(member)]
        members.sort(key=lambda each: int(each.find("location").get("line")))
        if members and not any(self.has_text(member) or self.enumerators(member) for member in members):
            for member in members:
                self.place[member.get("id")] = (self.room, anchor)
            lines = "\n".join(declaration(member) for member in members)
            return self.description(node) + code(head[:-1] + " {\n" + re.sub("^", "    ", lines, flags=re.MULTILINE) + "\n};")
        parts, silent = [self.description(node), code(head)], []
        for member in members:
            self.place[member.get("id")] = (self.room, anchor)
            if not self.has_text(member) and not self.enumerators(member):
                silent.append(declaration(member))
                continue
            parts += [self.group(silent), self.group([declaration(member)], self.description(member) + self.enumerators(member))]
            silent = []
        return "\n".join([*parts, self.group(silent)])

    @staticmethod
    def group(declarations, text=""):
        if not declarations:
            return ""
        return f'<div class="member" markdown>\n\n{code(chr(10).join(declarations))}\n{text}\n</div>\n'

    # Doxygen's descriptions as Markdown.

    def description(self, node):
        text = ""
        for part in (node.find("briefdescription"), node.find("detaileddescription")):
            if part is not None and self.write:
                text += self.blocks(part)
        return text

    def blocks(self, node, indent=""):
        text, line = "", escaped(node.text)
        for child in node:
            if child.tag in ("para", "itemizedlist", "orderedlist", "listitem", "verbatim", "programlisting", "simplesect"):
                text += paragraph(line, indent)
                line = ""
                if child.tag == "itemizedlist" or child.tag == "orderedlist":
                    marker = "-" if child.tag == "itemizedlist" else "1."
                    for item in child:
                        text += f"{indent}{marker:4}" + self.blocks(item, indent + "    ").strip() + "\n"
                    text += "\n"
                elif child.tag == "verbatim" or child.tag == "programlisting":
                    lines = [listing_text(each) for each in child.iter("codeline")] or child.text.strip("\n").split("\n")
                    text += "\n" + code("\n".join(lines), indent) + "\n"
                else:
                    text += self.blocks(child, indent)
            else:
                line += self.inline(child)
            line += escaped(child.tail)
        return text + paragraph(line, indent)

    def inline(self, node):
        if node.tag == "computeroutput":
            return self.page_link("".join(node.itertext())) or f"`{''.join(node.itertext())}`"
        if node.tag == "ref":
            text = "".join(node.itertext())
            if node.get("refid") in self.place:
                room, anchor = self.place[node.get("refid")]
                return f"[`{text}`]({'' if room == self.room else room + '.md'}#{anchor})"
            return f"`{text}`"
        if node.tag == "ulink":
            return f"[{escaped(''.join(node.itertext()))}]({node.get('url')})"
        known = {"ndash": "–", "mdash": "—", "linebreak": "  \n", "sp": " ", "lsquo": "‘", "rsquo": "’", "times": "×"}
        inner = escaped(node.text) + "".join(self.inline(child) + escaped(child.tail) for child in node)
        wrapped = {"emphasis": "*", "bold": "**"}.get(node.tag, "")
        return known.get(node.tag) or (f"{wrapped}{inner}{wrapped}" if inner else "")

    def link_pages(self, text):
        """Where the comments name a page of docs/, a link to it."""
        return re.sub(r"(?<![`\w/\[(])docs/([\w/]+\.md)\b", lambda found: self.page_link(found[0]) or found[0], text)

    def page_link(self, text):
        path = text.removeprefix("docs/")
        return f"[{text}](../{path})" if text.startswith("docs/") and path in self.pages else None

    def page(self, room):
        entries = sorted(self.entries[room], key=lambda each: (each.header, each.line))
        title = "primsel.hpp, fwd.hpp, version.hpp" if room == "primsel" else f"{room}/"
        lines = [f"# {title}\n"]
        header = None
        for entry in entries:
            if entry.header != header:
                header = entry.header
                lines.append(f"## {header}\n\n```cpp\n#include <primsel/{header}>\n```\n")
            lines.append(self.link_pages(entry.markdown))
        return "\n".join(lines)


def slug(name):
    return re.sub(r"[^\w-]+", "-", name).strip("-").lower() or "operator"


def escaped(text):
    return re.sub(r"[\\`*_{}\[\]<>#|~&]", lambda found: html.escape(found[0]) if found[0] in "<>&" else f"&#{ord(found[0])};", text or "")


def paragraph(text, indent):
    return f"{indent}{' '.join(text.split())}\n\n" if text.strip() else ""


def code(text, indent=""):
    return "".join(f"{indent}{line}\n" for line in ["```cpp", *text.split("\n"), "```"])


def listing_text(line):
    return "".join(text_of(line))


def text_of(node):
    yield " " if node.tag == "sp" else node.text or ""
    for child in node:
        yield from text_of(child)
        yield child.tail or ""


def tidy(text):
    """C++ as Doxygen writes it, as clang-format does."""
    text = re.sub(r"\[\[nodiscard\]\] ?|\bprimsel::", "", " ".join(text.split()))
    text = re.sub(r"< ", "<", re.sub(r" (?=>)", "", text))
    return re.sub(r" ([&*])(?=\w|$)", r"\1 ", text).strip() if not text.startswith("operator") else text


def parameter(node):
    text = tidy("".join(node.find("type").itertext())) if node.find("type") is not None else ""
    name = node.findtext("declname")
    if name:
        text += " " + name
    text += node.findtext("array") or ""
    value = node.find("defval")
    return text + (" = " + tidy("".join(value.itertext())) if value is not None else "")


def template_head(node):
    parameters = node.find("templateparamlist")
    text = f"template <{', '.join(parameter(each) for each in parameters)}>\n" if parameters is not None else ""
    required = node.find("requiresclause")
    return text + (f"    requires {tidy(''.join(required.itertext()))}\n" if required is not None else "")


def declaration(node):
    kind, name = node.get("kind"), node.findtext("name")
    type_node = node.find("type")
    written = tidy("".join(type_node.itertext())) if type_node is not None else ""
    head = template_head(node)
    if kind == "enum":
        values = [value.findtext("name") + (" " + value.findtext("initializer") if value.find("initializer") is not None else "")
                  for value in node.iter("enumvalue")]
        return wrapped(f"enum {'class ' if node.get('strong') == 'yes' else ''}{name} {{", values, "};")
    if kind == "typedef":
        return head + f"using {name} = {written};"
    if kind == "variable":
        initial = node.find("initializer")
        initial = tidy("".join(initial.itertext())) if initial is not None else ""
        static = "static " if node.get("static") == "yes" and "static" not in written else ""
        if len(initial) > WIDTH:
            initial = "= ..."
        gap = " " if initial.startswith("=") else ""
        return head + f"{static}{written} {name}{node.findtext('argsstring') or ''}{gap}{initial};"
    behind = (node.findtext("argsstring") or "").rpartition(")")[2]
    before = [word for word, is_so in (("friend", kind == "friend"), ("static", node.get("static") == "yes"),
                                       ("explicit", node.get("explicit") == "yes")) if is_so and word not in written.split()]
    front = " ".join([*before, *([written] if written else []), name])
    if kind == "friend" and node.find("param") is None and "(" not in (node.findtext("argsstring") or ""):
        return head + front + ";"
    parameters = [each for each in (parameter(each) for each in node.findall("param")) if each not in ("", "void")]
    return head + wrapped(front + "(", parameters, ")" + (" " + tidy(behind) if behind.strip() else "") + ";")


def wrapped(front, parts, behind):
    line = front + ", ".join(parts) + behind if front[-1] == "(" else f"{front} {', '.join(parts)} {behind}"
    if len(line) <= WIDTH or not parts:
        return line
    return front + "\n    " + ",\n    ".join(parts) + ("" if front[-1] == "(" else "\n") + behind


def rooms():
    """In the order of HACKING.md's table; those it does not name behind."""
    named = re.findall(r"^\| (\w+)/ \|", (TOP / "HACKING.md").read_text(encoding="utf-8"), re.MULTILINE)
    present = sorted(folder.name for folder in (TOP / "include/primsel").iterdir() if folder.is_dir())
    return [room for room in named if room in present] + [room for room in present if room not in named]


def on_config(config):
    if shutil.which("doxygen") is None:
        raise PluginError("doxygen is missing: scripts/setup.sh docs installs it")
    XML.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(XML / "xml", ignore_errors=True)
    subprocess.run(["doxygen", "docs/site/Doxyfile"], cwd=TOP, check=True)
    return config


def on_files(files, config):
    reference = Reference({file.src_uri for file in files.documentation_pages()})
    names = ["primsel", *rooms()]
    for room in names:
        if reference.entries[room]:
            files.append(File.generated(config, f"reference/{room}.md", content=reference.page(room)))
    nav = [f"reference/{room}.md" for room in names if reference.entries[room]]
    config.nav = [{"Reference": [*section["Reference"], {"Headers": nav}]} if isinstance(section, dict) and "Reference" in section else section
                  for section in config.nav]
    return files
