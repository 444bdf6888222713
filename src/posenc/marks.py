"""Parts of a page that a script writes: between `<!-- NAME -->` and `<!-- end -->`."""

import re


def _between(name: str) -> str:
    return rf"(?s)(<!-- {name} -->\n).*?(<!-- end -->)"


def renewed(page: str, name: str, text: str) -> str:
    """The page with `text` between its marks of that name, as it was where it has none."""
    return re.sub(_between(name), lambda found: f"{found[1]}{text.rstrip()}\n{found[2]}", page)


def marked(page: str, name: str) -> bool:
    """Whether the page has marks of that name."""
    return re.search(_between(name), page) is not None
