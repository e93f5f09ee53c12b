"""Check every internal link of a built site: ``python docs/check_links.py docs/_build/html``."""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The anchors of a page, and where its links point."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and (name == "id" or (tag == "a" and name == "name")):
                self.anchors.add(value)
            elif value and name in ("href", "src"):
                self.links.append(value)


def broken_links(site: Path) -> list[str]:
    """A sentence for each link to a file or an anchor that is not there."""
    files = [
        file.resolve() for file in site.rglob("*.html") if "_static" not in file.parts
    ]  # there are templates in it
    pages = {file: Page(file.read_text(encoding="utf-8")) for file in files}
    found = []
    for file, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            if target.is_dir():
                target /= "index.html"
            if not target.is_file():
                found.append(f"{file.relative_to(site.resolve())} links to {link}, which is not there")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                found.append(f"{file.relative_to(site.resolve())} links to {link}, which has no such anchor")
    return found


if __name__ == "__main__":
    broken = broken_links(Path(sys.argv[1]))
    print("\n".join(broken) or "every internal link leads somewhere")
    sys.exit(bool(broken))
