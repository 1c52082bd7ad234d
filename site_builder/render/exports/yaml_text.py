"""YAML as the exports write it: keys in their order, long texts as blocks, nothing folded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml


class _Dumper(yaml.CSafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.CSafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text and not any(line.endswith(" ") for line in text.split("\n")) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def yaml_text(header: Sequence[str], *documents: Any) -> str:
    """The documents under comment lines, ending in a newline."""
    texts = [
        yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000) for document in documents
    ]
    return "\n".join(header) + "\n" + "---\n".join(texts)
