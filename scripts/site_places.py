"""For mkdocs.yml: where the pages that scripts/site makes are in the navigation."""


def on_nav(nav, config, files):
    """Opens the part of the navigation beside a page that isn't in it."""
    reference, internals = nav.items[1], nav.items[2]
    cpp = next(item for item in reference.children if item.title == "C++")
    for file in files.documentation_pages():
        if file.page.parent is None and not file.page.is_homepage:
            file.page.parent = cpp if file.src_uri.startswith("reference/") else internals
    return nav
