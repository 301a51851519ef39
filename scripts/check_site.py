#!/usr/bin/env python3
"""Walks the site that `make docs` built, as a reader without a network does, in headless Chromium.

    check_site.py <folder of the site> [--screenshots <folder>] [--chromium <program>]

Every page of the navigation and every page those link to is opened from disk, at the width of a desktop and of a phone. Findings:
links and anchors that lead nowhere, pages that the front page does not lead to, requests to a network, errors on the console or of
scripts, a page that scrolls sideways on a phone, and a search for `Engine` that does not lead to the class. It needs playwright; the
interpreter of `make docs` has it.
"""
import argparse
import pathlib
import sys
import urllib.parse
from html.parser import HTMLParser

DESKTOP = {"width": 1280, "height": 900}
SIZES = {"desktop": DESKTOP, "phone": {"width": 390, "height": 844}}
PICTURED = ("index.html", "source/index.html", "reference/engine.html", "cli.html", "layer/layers.html")


class Page(HTMLParser):
    def __init__(self, file):
        super().__init__()
        self.links, self.anchors = [], {"", "__top"}
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.anchors.update(values[name] for name in ("id", "name") if values.get(name))
        for name in ("href", "src"):
            if values.get(name):
                self.links.append(values[name])


def check_links(site):
    """Findings, and the pages that can be reached from the front page."""
    pages = {file: Page(file) for file in sorted(site.rglob("*.html"))}
    findings, reached, waiting = [], set(), [site / "index.html"]
    targets = {}
    for file, page in pages.items():
        targets[file] = set()
        if file.name == "404.html":  # its links are those of a server's root
            continue
        for link in dict.fromkeys(page.links):
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else file
            if target.is_dir():
                target = target / "index.html"
            anchor = urllib.parse.unquote(parts.fragment)
            if not target.is_file():
                findings.append(f"{file.relative_to(site)}: there is no {link}")
            elif target in pages:
                targets[file].add(target)
                if anchor not in pages[target].anchors:
                    findings.append(f"{file.relative_to(site)}: no anchor of {link}")
    while waiting:
        file = waiting.pop()
        if file not in reached:
            reached.add(file)
            waiting += targets.get(file, ())
    findings += [f"{file.relative_to(site)}: no link leads there" for file in pages if file not in reached and file.name != "404.html"]
    return findings, sorted(reached)


def check_in_browser(site, pages, options):
    from playwright.sync_api import Error, sync_playwright  # pylint: disable=import-outside-toplevel

    findings = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=options.chromium, args=["--no-sandbox", "--disable-gpu"])
        context = browser.new_context(viewport=DESKTOP, offline=True)
        tab, at = context.new_page(), ""
        tab.on("console", lambda message: findings.append(f"{at}: console: {message.text}") if message.type == "error" else None)
        tab.on("pageerror", lambda error: findings.append(f"{at}: error: {error}"))
        tab.on("request", lambda request: None if request.url.startswith(("file:", "data:", "blob:"))
               else findings.append(f"{at}: asks a network for {request.url}"))
        for page in pages:
            name = page.relative_to(site).as_posix()
            at = name
            tab.set_viewport_size(DESKTOP)
            tab.goto(page.as_uri())
            for device, size in SIZES.items():
                tab.set_viewport_size(size)
                if (width := tab.evaluate("document.documentElement.scrollWidth")) > size["width"]:
                    findings.append(f"{at}: is {width} pixels wide on a {device}")
                if options.screenshots and name in PICTURED:
                    tab.screenshot(path=options.screenshots / f"{name.replace('/', '_')}_{device}.png")
            if tab.evaluate("document.querySelector('article').innerText.trim().length") < 20:
                findings.append(f"{at}: is empty")
        for device, size in SIZES.items():
            at = f"search ({device})"
            tab.set_viewport_size(size)
            tab.goto((site / "index.html").as_uri())
            try:
                if device == "phone":
                    tab.locator("label[for=__search]:visible").first.click()
                tab.locator("input.md-search__input").fill("Engin")
                tab.keyboard.press("e")  # it searches when a key goes up
                result = tab.locator(".md-search-result__link[href*='reference/engine.html'][href*='#engine']").first
                result.wait_for(state="attached", timeout=60000)
                if options.screenshots:
                    tab.wait_for_timeout(500)
                    tab.screenshot(path=options.screenshots / f"search_{device}.png")
                tab.goto(urllib.parse.urljoin(tab.url, result.get_attribute("href")))
                tab.locator("#engine").wait_for(state="visible")
            except Error as error:
                findings.append(f"{at}: `Engine` does not lead to its class: {error.message.splitlines()[0]}")
        browser.close()
    return findings


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", type=pathlib.Path)
    parser.add_argument("--screenshots", type=pathlib.Path)
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    options = parser.parse_args()
    site = options.site.resolve()
    if options.screenshots:
        options.screenshots.mkdir(parents=True, exist_ok=True)
    findings, pages = check_links(site)
    if len(pages) < 50:
        findings.append(f"only {len(pages)} pages")
    findings += check_in_browser(site, pages, options)
    print("\n".join(findings))
    print(f"{len(pages)} pages walked at two widths, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
