"""Examples of docstrings, and those of docs/python.md."""

import doctest
import pathlib
import re
import runpy

import pytest

import bitsort as bs

ROOT = pathlib.Path(__file__).parents[2]


def documented():
    """Objects with a docstring, by name."""
    for name in bs.__all__:
        thing = getattr(bs, name)
        if isinstance(thing, str):
            continue
        yield name, thing
        for part in vars(thing) if isinstance(thing, type) else ():
            if not part.startswith("_"):
                yield f"{name}.{part}", getattr(thing, part)


def test_everything_is_documented():
    for name, thing in documented():
        assert thing.__doc__, name


def test_examples_of_docstrings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner()
    for name, thing in [("bitsort", bs), *documented()]:
        test = parser.get_doctest(thing.__doc__ or "", {}, name, None, 0)
        runner.run(test)
    assert runner.failures == 0 and runner.tries > 20


SNIPPETS = re.findall(r"^## (.*?)$|^```python\n(.*?)^```", (ROOT / "docs/python.md").read_text(), re.S | re.M)


def tasks():
    title = None
    for heading, code in SNIPPETS:
        if heading:
            title = heading
        else:
            yield pytest.param(code, id=title)


@pytest.mark.parametrize("code", list(tasks()))
def test_snippets_of_the_document(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "docs/python.md", "exec"), {"__name__": "snippet"})


def test_the_document_has_ten_tasks():
    assert len(list(tasks())) >= 10


def test_the_example_draws_a_map(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("192.0.2.1\n192.0.2.2\n\n")
    for arguments, drawn in [([], 17_895_680), (["a.txt", "b.svg"], 2)]:
        monkeypatch.setattr("sys.argv", ["draw_map.py", *arguments])
        runpy.run_path(str(ROOT / "python/examples/draw_map.py"), run_name="__main__")
        assert int(capsys.readouterr().out.split()[0]) >= drawn
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "b.svg").read_text().startswith("<svg")
