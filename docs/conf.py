"""How Sphinx builds the site. ``-D plot_gallery=0`` builds it without running the gallery."""

import sys
from pathlib import Path

import garrote

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "extensions"))

project = "garrote"
author = "The garrote developers"
copyright = author
version = release = garrote.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "home_picture",
    "mathml",
    "plain_docstrings",
]
exclude_patterns = ["_build", "_trust", "gallery", "extensions"]
templates_path = ["_templates"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

# Names such as ``Any`` and numpy's types are explained elsewhere, and the site is built without network.
nitpicky = True
nitpick_ignore_regex = [("py:class", r"(?!garrote).*"), ("py:obj", r".*")]
autodoc_typehints = "none"
autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "pydata_sphinx_theme"
html_title = "garrote"
html_static_path = ["_static"]
html_css_files = ["garrote.css"]
html_math_renderer = "mathml"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
html_context = {"default_mode": "auto"}
PLAIN_PAGES = ("index", "guide", "inclusion", "theory", "reproduction", "benchmarks", "trust", "licences", "design")
html_sidebars = {page: [] for page in PLAIN_PAGES}

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "filename_pattern": r"plot_",
    "within_subsection_order": "FileNameSortKey",
    "show_memory": False,
    "download_all_examples": False,
    "remove_config_comments": True,
    "min_reported_time": 1000,
    "write_computation_times": False,
}
