"""What language models read to find their way: ``llms.txt`` (https://llmstxt.org) and ``llms-full.txt``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from site_builder.browse import Entry
from site_builder.query import PARAMETERS
from site_builder.schema.vocabulary import Site
from site_builder.urls import Addresses

_SHARED = (
    ("models.json", "every recipe with its addresses, hardware and variants"),
    ("taxonomy.json", "hardware profiles with their memory, features, and other words of the recipes"),
    ("strategies.json", "the ways to spread a model over GPUs and nodes"),
    ("kv_store.json", "key-value stores that several servers share"),
    ("platforms.json", "where hardware can be rented"),
)
_OPTIONAL = (
    ("llms-full.txt", "every recipe in its default configuration, in one file"),
    ("openapi.json", "all addresses and the shapes of their answers"),
    ("recipe.schema.json", "JSON Schema of a recipe file"),
    ("feed.xml", "the newest recipes"),
)


def llms(entries: Sequence[Entry], site: Site, addresses: Addresses) -> str:
    """The map of the site: what it answers, how to ask, and a link to the markdown of each recipe by provider."""
    return "\n".join(_lines(entries, site, addresses)) + "\n"


def _lines(entries: Sequence[Entry], site: Site, addresses: Addresses) -> Iterator[str]:
    yield f"# {site.title}\n"
    if site.tagline:
        yield f"> {site.tagline}\n"
    yield _how(addresses) + "\n"
    for provider in dict.fromkeys(entry.provider for entry in entries):
        yield f"## {provider}\n"
        for entry in entries:
            if entry.provider == provider:
                about = " ".join(entry.description.split())
                yield f"- [{entry.id}]({addresses.form(entry.id, 'md')})" + (f": {about}" if about else "")
        yield ""
    for title, files in (("Shared facts", _SHARED), ("Optional", _OPTIONAL)):
        yield f"## {title}\n"
        yield from (f"- [{name}]({addresses.full(name)}): {about}" for name, about in files)
        yield ""


def _how(addresses: Addresses) -> str:
    """How another configuration is had: a query where something can answer it, else the prepared files."""
    start = "Each recipe says how to serve one model with vLLM; its markdown holds commands that are complete."
    if addresses.prepared:
        return f"{start} It links files with other configurations, by hardware and by strategy."
    names = ", ".join(f"`{name}`" for name in PARAMETERS)
    return (
        f"{start} A query string on any `.md`, `.json` or page address chooses another configuration:"
        " `?hardware=h200&variant=default`. "
        f"Parameters: {names}. What does not fit together is replaced, and the answer says what was replaced and why."
    )


def llms_full(site: Site, recipes: Iterable[str]) -> str:
    """Every recipe's markdown, one after the other, under the name of the site."""
    return f"<!-- {site.title}: every recipe in its default configuration -->\n\n" + "\n---\n\n".join(recipes)
