"""Examples of docstrings, and those of docs/python.md."""

import doctest
import pathlib
import re

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


def test_examples_of_docstrings():
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
