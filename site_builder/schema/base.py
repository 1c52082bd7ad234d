"""What all content models share: how scalars are read and how unknown keys are found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator

#: A place in a document: the keys and list positions that lead to it.
KeyPath = tuple[str | int, ...]


def _as_text(value: Any) -> Any:
    """A number or truth value as it was written.

    The reader keeps only spellings that survive this (``1.10`` is text).
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    return value


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


#: A string that an author may also have written as a number or a truth value.
Text = Annotated[str, BeforeValidator(_as_text)]
#: One string, or several.
Names = Annotated[list[str], BeforeValidator(_as_list)]
Args = list[Text]
Env = dict[str, Text]


class Model(BaseModel):
    """A block of content.

    Unknown keys are kept, so that a check can name them; a key without value counts as absent.
    """

    model_config = ConfigDict(
        extra="allow",
        frozen=True,
        protected_namespaces=(),
        allow_inf_nan=False,  # "inf" would be taken for a number, and fits into no JSON
        json_schema_extra={"additionalProperties": False},
    )

    @model_validator(mode="before")
    @classmethod
    def _drop_empty_keys(cls, data: Any) -> Any:
        if isinstance(data, dict):
            return {key: value for key, value in data.items() if value is not None}
        return data

    def unknown_keys(self, path: KeyPath = ()) -> Iterator[tuple[KeyPath, list[str]]]:
        """``(path of an unknown key, the keys known there)`` for this block and all blocks in it."""
        fields = type(self).model_fields
        names = [field.alias or name for name, field in fields.items()]
        for key in self.model_extra or {}:
            yield (*path, key), names
        for name, field in fields.items():
            yield from _unknown_in(getattr(self, name), (*path, field.alias or name))


def _unknown_in(value: object, path: KeyPath) -> Iterator[tuple[KeyPath, list[str]]]:
    if isinstance(value, Model):
        yield from value.unknown_keys(path)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _unknown_in(item, (*path, key))
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from _unknown_in(item, (*path, position))
