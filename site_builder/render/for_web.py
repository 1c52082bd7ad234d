"""What search engines, feed readers and other sites read: sitemap, robots, Atom feed, manifest, JSON-LD, pictures."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from PIL import Image, ImageDraw, ImageFont

from site_builder.browse import Entry
from site_builder.schema.vocabulary import Site
from site_builder.urls import Addresses
from site_builder.views import View

#: The size that other sites show a picture of a page in.
PICTURE = (1200, 630)
_GROUND, _INK, _MUTED, _ACCENT, _GOLD = "#0b5d57", "#ffffff", "#c4ded9", "#083f3b", "#f2b84b"


def sitemap(paths: Sequence[tuple[str, str]], addresses: Addresses) -> str:
    """``paths`` are addresses with the date of their last change, or an empty one."""
    lines = ['<?xml version="1.0" encoding="utf-8"?>', '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">']
    for path, date in paths:
        changed = f"<lastmod>{escape(date)}</lastmod>" if date else ""
        lines.append(f"<url><loc>{escape(addresses.full(path))}</loc>{changed}</url>")
    return "\n".join([*lines, "</urlset>"]) + "\n"


def robots(addresses: Addresses) -> str:
    """Everything may be read; the sitemap is named where the site knows its address."""
    site = f"\nSitemap: {addresses.full('sitemap.xml')}\n" if addresses.base_url else ""
    return f"User-agent: *\nAllow: /\n{site}"


def feed(entries: Sequence[Entry], site: Site, addresses: Addresses) -> str:
    """An Atom feed of the newest recipes. Its times come from the recipes, so it changes only when they do."""
    newest = sorted(entries, key=lambda entry: (entry.date_added, entry.id), reverse=True)[:30]
    updated = max((entry.date_added for entry in newest), default="") or "1970-01-01"
    home = addresses.full("")
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom">',
        f"<title>{escape(site.title)}</title>",
        f"<id>{escape(home)}</id>",
        f"<updated>{updated}T00:00:00Z</updated>",
        f"<author><name>{escape(site.title)}</name></author>",
        f'<link rel="self" href={quoteattr(addresses.full("feed.xml"))}/>',
        f"<link href={quoteattr(home)}/>",
    ]
    for entry in newest:
        address = addresses.full(entry.id)
        lines += [
            "<entry>",
            f"<title>{escape(entry.title)}</title>",
            f"<id>{escape(address)}</id>",
            f"<link href={quoteattr(address)}/>",
            f"<updated>{entry.date_added or '1970-01-01'}T00:00:00Z</updated>",
            f"<summary>{escape(entry.description)}</summary>",
            "</entry>",
        ]
    return "\n".join([*lines, "</feed>"]) + "\n"


def manifest(site: Site, addresses: Addresses, icon: str) -> dict[str, Any]:
    """The web manifest."""
    return {
        "name": site.title,
        "short_name": site.title,
        "description": site.tagline,
        "start_url": addresses.to(""),
        "display": "minimal-ui",
        "background_color": "#fbfaf6",
        "theme_color": _GROUND,
        "icons": [{"src": icon, "sizes": "any", "type": "image/svg+xml"}],
    }


def linked_data(view: View, site: Site, addresses: Addresses) -> list[dict[str, Any]]:
    """The recipe as schema.org's TechArticle, and where it stands on the site."""
    meta, (org, repo) = view.recipe.file.meta, view.id.split("/", 1)
    article = {
        "@context": "https://schema.org",
        "@type": "TechArticle",
        "headline": f"How to serve {meta.title} with vLLM",
        "description": meta.description,
        "url": addresses.full(view.id),
        "datePublished": meta.date_added or None,
        "dateModified": meta.date_updated or meta.date_added or None,
        "publisher": {"@type": "Organization", "name": site.title},
    }
    places = [(site.title, ""), (meta.provider or org, org), (repo, view.id)]
    crumbs = {
        "@context": "https://schema.org",
        "@type": "BreadcrumbList",
        "itemListElement": [
            {"@type": "ListItem", "position": position, "name": name, "item": addresses.full(path)}
            for position, (name, path) in enumerate(places, start=1)
        ],
    }
    return [{key: value for key, value in article.items() if value is not None}, crumbs]


def picture(view: View, site: Site) -> bytes:
    """A PNG with the name of the recipe and its default configuration."""
    image = Image.new("RGB", PICTURE, _GROUND)
    draw = ImageDraw.Draw(image)
    org, repo = view.id.split("/", 1)
    draw.rectangle((0, 500, *PICTURE), fill=_ACCENT)
    draw.rectangle((80, 92, 152, 100), fill=_GOLD)
    draw.text((80, 130), f"{org} /", font=ImageFont.load_default(40), fill=_MUTED)
    size = next(
        (size for size in (96, 80, 64, 52, 42) if draw.textlength(repo, ImageFont.load_default(size)) <= 1040), 34
    )
    draw.text((80, 190), repo, font=ImageFont.load_default(size), fill=_INK)
    draw.text((80, 340), view.summary.replace("×", "x").replace("·", "-"), font=ImageFont.load_default(44), fill=_MUTED)
    draw.text((80, 540), site.title, font=ImageFont.load_default(40), fill=_INK)
    output = io.BytesIO()
    image.save(output, "PNG", optimize=False)
    return output.getvalue()
