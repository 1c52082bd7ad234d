"""The content models. Everything about the shape of a file is here; nothing about its meaning is."""

from site_builder.schema.base import KeyPath, Model
from site_builder.schema.recipe import RecipeFile
from site_builder.schema.vocabulary import DynamoRecipes, Hardware, KvStore, Platforms, Site, Strategy, Taxonomy

__all__ = [
    "DynamoRecipes",
    "Hardware",
    "KeyPath",
    "KvStore",
    "Model",
    "Platforms",
    "RecipeFile",
    "Site",
    "Strategy",
    "Taxonomy",
]
