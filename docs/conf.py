"""The documentation site. `make docs` builds it into build/docs, without network, and it can be read from there."""

from __future__ import annotations

import inspect
import sys
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any

import ziamath
from sphinx.application import Sphinx

import marginwise

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

PACKAGE = Path(marginwise.__file__).resolve().parent
SOURCES = "https://github.com/marginwise/marginwise/blob/main"

project = "marginwise"
author = "The marginwise developers"
copyright = author
version = release = marginwise.__version__

extensions = [
    "examples_gallery",
    "mathml",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.linkcode",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
# `gallery` holds the sources of the examples, from which sphinx-gallery writes `examples`.
exclude_patterns = ["gallery"]
templates_path = ["_templates"]

# Markdown. Links go to files, so that they also work where the repository is shown; anchors are those of a forge.
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

# Every reference that can't be resolved is an error.
nitpicky = True

autosummary_generate = True
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"  # docstrings tell types in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "examples",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "examples_gallery.ReadingOrder",
    "reset_modules": ("matplotlib", "examples_gallery.use_our_style"),
    "reset_modules_order": "before",
    "image_srcset": ["2x"],
    "capture_repr": (),  # what is printed is shown, and no more
    "matplotlib_animations": False,
    "show_memory": False,
    "write_computation_times": False,
    "abort_on_example_error": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "marginwise"
# With the font that formulas need: browsers have MathML, but not all systems a font with signs that grow.
html_static_path = ["_static", str(Path(ziamath.__file__).parent / "fonts" / "STIXTwoMath-Regular.ttf")]
html_css_files = ["site.css"]
html_favicon = "_static/logo.svg"
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False
html_domain_indices = False
html_theme_options = {
    "logo": {"image_light": "_static/logo.svg", "image_dark": "_static/logo.svg", "text": "marginwise"},
    "icon_links": [
        {"name": "Source", "url": "https://github.com/marginwise/marginwise", "icon": "fa-brands fa-github"},
    ],
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "navigation_with_keys": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": []}


def linkcode_resolve(domain: str, info: dict[str, str]) -> str | None:
    """Return where the source of a name is shown."""
    try:
        named = attrgetter(info["fullname"])(import_module(info["module"]))
        named = inspect.unwrap(named.fget if isinstance(named, property) else named)
        path = Path(inspect.getsourcefile(named) or "").resolve()
        lines, first = inspect.getsourcelines(named)
    except (AttributeError, OSError, TypeError):  # values and fields have no source of their own
        return None
    if not path.is_relative_to(PACKAGE):
        return None
    return f"{SOURCES}/{path.relative_to(PACKAGE.parents[1]).as_posix()}#L{first}-L{first + len(lines) - 1}"


def _is_ours(app: Sphinx, what: str, name: str, member: Any, skip: bool, options: Any) -> bool:
    """Leave out what classes inherit from others: scikit-learn documents it."""
    function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
    module = getattr(function, "__module__", "marginwise") or ""  # values have none: ours; builtin functions None
    return skip or not module.startswith("marginwise")


def setup(app: Sphinx) -> None:
    """Connect what chooses the members of classes."""
    app.connect("autodoc-skip-member", _is_ours)
