#!/usr/bin/env python3
"""Checks the links of a built site: check_links.py FOLDER [--external]

Every href and src of every page must lead to a file in the folder, and its fragment to an id there.
Pages load nothing from other sites; links to them are not fetched. --external lists those.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The ids of a page and what it links to: (line, whether it is loaded, address)."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links = {"", "top"}, []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.ids.update(values[key] for key in ("id", "name") if values.get(key))
        is_own_address = values.get("rel") == "canonical"
        for key in ("href", "src", "poster", "data"):
            if values.get(key) is not None and not is_own_address:
                self.links.append((self.getpos()[0], tag != "a", values[key]))


def faults(folder, external=None):
    """A line for each link without a target. Adds links to other sites to the set `external`."""
    folder = folder.resolve()
    pages = {file: Page(file.read_text()) for file in sorted(folder.rglob("*.html"))}
    found = [] if pages else [f"{folder} has no pages"]
    for file, page in pages.items():
        if file.name == "404.html":  # served at any address, so its links are absolute
            continue
        for line, loaded, address in page.links:
            where = f"{file.relative_to(folder)}:{line}: {address}"
            parts = urlsplit(address)
            if parts.scheme in ("data", "javascript", "mailto"):
                continue
            if parts.scheme or parts.netloc:
                if loaded:
                    found.append(f"{where} is loaded from another site")
                elif external is not None:
                    external.add(address)
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            if target.is_dir():
                target /= "index.html"
            if not target.is_relative_to(folder) or not target.is_file():
                found.append(f"{where} has no target")
            elif target in pages and unquote(parts.fragment) not in pages[target].ids:
                found.append(f"{where} has no such anchor")
    return found


def main():
    external = set()
    found = faults(Path(sys.argv[1]), external)
    if "--external" in sys.argv[2:]:
        print("\n".join(sorted(external)))
    print("\n".join(found), end="\n" if found else "", file=sys.stderr)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
