"""The programs of docs/python.md."""
import pathlib
import re

import primsel


def test_the_page(tmp_path, monkeypatch, capsys):
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs/python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) >= 2
    monkeypatch.chdir(tmp_path)
    pathlib.Path("model.onnx").write_bytes(primsel.zoo("squeezenet1_1", size=(64, 64)).to_onnx())
    names = {}
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), names)
    assert "(1, 1000" in capsys.readouterr().out
    assert pathlib.Path("trace.svg").read_text(encoding="utf-8").startswith("<svg")
