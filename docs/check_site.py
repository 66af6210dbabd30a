"""Check the built site: links and anchors lead somewhere, pictures have texts, nothing is remote.

python docs/check_site.py results/site
"""

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

REMOTE = re.compile(r"(?:https?:)?//")
ELSEWHERE = re.compile(r"[a-z]+:")  # links to other sites, mail, data
OF_CSS = re.compile(r"(?:@import\s+|url\()[\"']?((?:https?:)?//[^\"')]+)")
LOADS = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "srcset"}


class Page(HTMLParser):
    """The anchors of a page, its links, what it loads, and its pictures without a text."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.textless: list[str] = []
        self.feed(file.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect what a tag has."""
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if found.get(LOADS.get(tag, "")):
            self.loaded.append(found[LOADS[tag]])
        if tag == "img" and not found.get("alt", "").strip():
            self.textless.append(found.get("src", ""))


def _is_page(file: Path) -> bool:
    """Whether Sphinx wrote it: no template of the theme, nor the explorer, which has own tests."""
    return file.parts[0] not in ("_static", "explorer")


def faults(site: Path) -> Iterator[str]:
    """Yield what is wrong, a sentence for each fault."""
    files = (file for file in site.rglob("*.html") if _is_page(file.relative_to(site)))
    pages = {file.resolve(): Page(file) for file in files}
    for file, page in pages.items():
        place = file.relative_to(site.resolve()).as_posix()
        yield from (f"{place} loads {url}" for url in page.loaded if REMOTE.match(url))
        yield from (f"{place} has no text for {source}" for source in page.textless)
        for link in [*page.links, *page.loaded]:
            if REMOTE.match(link) or ELSEWHERE.match(link):
                continue
            name, _, anchor = link.partition("#")
            target = (file.parent / unquote(name.partition("?")[0])).resolve() if name else file
            if not target.exists():
                yield f"{place} leads to {link}, which is no file"
            elif anchor and target in pages and unquote(anchor) not in pages[target].anchors:
                yield f"{place} leads to {link}, which is no place of that page"
    for file in site.rglob("*.css"):
        for url in OF_CSS.findall(file.read_text("utf-8")):
            yield f"{file.relative_to(site)} loads {url}"


if __name__ == "__main__":
    found = list(faults(Path(sys.argv[1])))
    print("\n".join(found) or "All links of the site lead somewhere.")
    sys.exit(bool(found))
