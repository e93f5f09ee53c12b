"""Docstrings are written to be read in the source: |x| is an absolute value there and coef_ a name, not markup."""

import re

MARKUP = re.compile(r"(``.+?``|:[\w:]+:`[^`]+`|`[^`]+`_?)")


def escaped(line):
    parts = MARKUP.split(line)
    parts[::2] = [re.sub(r"(?<=\w)_(?!\w)", r"\\_", part.replace("|", r"\|")) for part in parts[::2]]
    return "".join(parts)


def escape(app, what, name, obj, options, lines):
    lines[:] = map(escaped, lines)


def setup(app):
    app.connect("autodoc-process-docstring", escape, priority=100)  # before numpydoc makes markup of its own
    return {"parallel_read_safe": True, "parallel_write_safe": True}
