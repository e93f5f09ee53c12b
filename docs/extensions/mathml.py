"""Equations as MathML, which browsers draw themselves: no script, no network."""

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml


def visit_inline(translator, node):
    translator.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def visit_block(translator, node):
    translator.body.append(f'<div class="math-block">{tex2mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
