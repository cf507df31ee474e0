"""The templates of pages. jinja2 is loaded here, and nowhere else."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

OF_NO_MARKUP = (".md.j2", ".py.j2", ".go.j2", ".mjs.j2")


def rendered(name: str, /, **values: Any) -> str:
    """The template `name`, filled in. In HTML every value is escaped; a value that is missing is an error."""
    text: str = _environment().get_template(f"{name}.j2").render(**values)
    return text


@lru_cache(maxsize=1)
def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("quidnunc.reports.pages", "templates"),
        autoescape=lambda name: name is None or not name.endswith(OF_NO_MARKUP),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
