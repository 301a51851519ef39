"""MkDocs hook: pages that are written for GitHub, as MkDocs wants them.

A link that leaves docs/ goes to a page of the site with that file's text, or with the list of that folder's files. Lists need no blank
line before them, and headings have GitHub's anchors.
"""
import pathlib
import posixpath
import re

from mkdocs.structure.files import File, InclusionLevel

SITE = pathlib.Path(__file__).resolve().parent
DOCS = SITE.parent
TOP = DOCS.parent
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\[\]]*\])*\]\()([^()\s]+)(\))")
LANGUAGES = {".hpp": "cpp", ".cpp": "cpp", ".py": "python", ".sh": "bash", ".cmake": "cmake", ".json": "json", ".yml": "yaml", ".yaml": "yaml"}
MOST_LINES = 2000  # of a file that is shown
ALWAYS = ("README.md", "HACKING.md", "CHANGELOG.md")
ASSETS = ("iframe-worker.js", "site.css")


def anchor_of(heading, separator):
    """GitHub's."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", separator)


def outside_code(text, change):
    """The text with every part outside fenced code changed."""
    parts = re.split(r"(^```.*?^```[^\n]*$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if index % 2 else change(part) for index, part in enumerate(parts))


def with_blank_lines(text):
    """Where a list follows a paragraph at once, a blank line between them."""
    lines = []
    for line in text.split("\n"):
        is_item = re.match(r"(?:[-*+]|\d+\.) ", line)
        if is_item and lines and lines[-1].strip() and not re.match(r"(?:[-*+]|\d+\.) |\s", lines[-1]) and not in_list(lines):
            lines.append("")
        lines.append(line)
    return "\n".join(lines)


def in_list(lines):
    """Whether the last paragraph is an item of a list."""
    for line in reversed(lines):
        if not line.strip():
            return False
        if re.match(r"(?:[-*+]|\d+\.) ", line):
            return True
    return False


def page_of(path):
    """The page of the site with a file or folder outside docs/."""
    return f"source/{path}" if path.endswith(".md") else f"source/{path}.md"


def rewritten(text, folder, page):
    """The text of a page that lies in that folder of the repository, its links as seen from that page of the site."""
    targets = []

    def rewrite(found):
        if re.match(r"[a-z]+:|#", found[2]):
            return found[0]
        path, hash_sign, anchor = found[2].partition("#")
        target = posixpath.normpath(posixpath.join(folder, path))
        if target.startswith("docs/") or not (TOP / target).exists():
            to = target.removeprefix("docs/")
        elif target == "docs":
            to = "README.md"
        else:
            to = page_of(target)
            targets.append(target)
        return found[1] + posixpath.relpath(to, posixpath.dirname(page) or ".") + hash_sign + anchor + found[3]

    return outside_code(text, lambda part: LINK.sub(rewrite, with_blank_lines(part))), targets


def shown(target):
    """The Markdown of a file or folder outside docs/."""
    path = TOP / target
    if path.is_dir():
        files = sorted(each.relative_to(path).as_posix() for each in path.rglob("*") if each.is_file() and "__pycache__" not in each.parts)
        listed = "\n".join(f"- [{each}]({path.name}/{each})" for each in files[:MOST_LINES])
        return f"# {target}/\n\n{listed}\n" if len(files) <= 40 else f"# {target}/\n\n" + "\n".join(f"- `{each}`" for each in files)
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".md":
        return text
    lines = text.rstrip("\n").split("\n")
    left_out = [] if len(lines) <= MOST_LINES else [f"... {len(lines) - MOST_LINES} more lines"]
    return "\n".join([f"# {target}", "", f"````{LANGUAGES.get(path.suffix, 'text')}", *lines[:MOST_LINES], *left_out, "````"]) + "\n"


def on_config(config):
    config.mdx_configs.setdefault("toc", {})["slugify"] = anchor_of
    return config


def on_files(files, config):
    for asset in ASSETS:
        files.append(File(asset, str(SITE), config.site_dir, False, dest_uri=f"assets/{asset}"))
    waiting, known = list(ALWAYS), set()
    for file in list(files.documentation_pages()):
        if file.generated_by is None:
            _, targets = rewritten(file.content_string, posixpath.dirname(f"docs/{file.src_uri}"), file.src_uri)
            waiting += targets
    while waiting:
        target = waiting.pop()
        if target in known:
            continue
        known.add(target)
        page = page_of(target)
        text, targets = rewritten(shown(target), posixpath.dirname(target), page)
        waiting += targets
        if target not in ALWAYS:
            text = f"---\nsearch:\n  exclude: true\n---\n\n{text}"
        level = InclusionLevel.INCLUDED if target in ALWAYS else InclusionLevel.NOT_IN_NAV
        files.append(File.generated(config, page, content=text, inclusion=level))
    return files


def on_page_markdown(markdown, page, config, files):
    if page.file.generated_by is not None:
        return markdown
    return rewritten(markdown, posixpath.dirname(f"docs/{page.file.src_uri}"), page.file.src_uri)[0]
