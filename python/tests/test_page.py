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
    shown = capsys.readouterr().out
    assert "(1, 1000" in shown and "EpochReport(2" in shown and "Forecast(" in shown
    assert primsel.load("trained.onnx").outputs[0].shape == (1, 1000, 1, 1)
    assert pathlib.Path("trace.svg").read_text(encoding="utf-8").startswith("<svg")
