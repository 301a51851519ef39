#!/usr/bin/env python3
"""Uses the page as a visitor does, in headless Chromium: check_page.py <folder of the page> [<screenshot.png>]

The first test images of Fashion-MNIST (Debian: dataset-fashion-mnist) are chosen as pictures; the answers must be those of PyTorch in
examples/fashion_mnist/expected_classes.bin. Then something is drawn, which must be answered too. It needs playwright, as
scripts/check_site.py does.
"""
import functools
import gzip
import http.server
import pathlib
import struct
import sys
import threading
import zlib

from playwright.sync_api import sync_playwright

TOP = pathlib.Path(__file__).resolve().parents[2]
IMAGES = "/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz"
COUNT, SIDE = 20, 28


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def png(grey):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + grey[SIDE * y:SIDE * (y + 1)] for y in range(SIDE))
    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def wait_until(tab, condition):
    for _ in range(3000):
        if tab.evaluate(condition):
            return
        tab.wait_for_timeout(20)
    sys.exit(f"not within a minute: {condition}; the page says: {tab.evaluate('document.body.innerText')}")


def main():
    folder, *screenshot = sys.argv[1:]
    with gzip.open(IMAGES) as file:
        pixels = file.read(16 + COUNT * SIDE * SIDE)[16:]
    expected = (TOP / "examples/fashion_mnist/expected_classes.bin").read_bytes()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    findings = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"])
        tab = browser.new_page()
        tab.on("console", lambda message: findings.append(f"console: {message.text}") if message.type == "error" else None)
        tab.on("pageerror", lambda error: findings.append(f"error: {error}"))
        tab.goto(f"http://127.0.0.1:{server.server_port}/")
        answer = tab.locator("#answer")
        wait_until(tab, "document.querySelector('#answer').textContent.startsWith('Draw')")
        right = 0
        for i in range(COUNT):
            picture = png(pixels[i * SIDE * SIDE:(i + 1) * SIDE * SIDE])
            answer.evaluate("element => { delete element.dataset.class; }")
            tab.set_input_files("input", {"name": f"{i}.png", "mimeType": "image/png", "buffer": picture})
            wait_until(tab, "document.querySelector('#answer').dataset.class !== undefined")
            right += int(answer.get_attribute("data-class")) == expected[i]
        if right < COUNT - 2:  # the page scales its pictures up and down again
            findings.append(f"only {right} of {COUNT} pictures have PyTorch's class")
        if screenshot:
            tab.screenshot(path=screenshot[0])
        last = answer.inner_text()
        tab.evaluate("document.querySelector('#clear').click()")
        box = tab.locator("canvas").bounding_box()
        tab.mouse.move(box["x"] + 110, box["y"] + 40)
        tab.mouse.down()
        for x, y in ((110, 250), (150, 60), (175, 250)):
            tab.mouse.move(box["x"] + x, box["y"] + y, steps=10)
        tab.mouse.up()
        drawn = answer.inner_text()
        if drawn == last or " ms" not in drawn:
            findings.append(f"a drawing is answered by: {drawn}")
        browser.close()
    server.shutdown()
    print(*findings, sep="\n")
    print(f"{right} of {COUNT} pictures have PyTorch's class; the last answer: {last}; a drawing: {drawn}")
    sys.exit(1 if findings else 0)


main()
