"""The content folder as a catalog.

Vocabulary and recipes, read and validated, with everything that is wrong with them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from site_builder.errors import ContentError, Problem, UnknownRecipe, closest, suggestion
from site_builder.schema import DynamoRecipes, KeyPath, KvStore, Model, Platforms, RecipeFile, Site, Strategy, Taxonomy
from site_builder.schema.vocabulary import Platform
from site_builder.source import Document, read
from site_builder.validation import validation_problems

Kind = TypeVar("Kind", bound=Model)
Progress = Callable[[int, int], None]
#: The flag tables of this project, for content folders that bring none.
OWN_TABLES = Path(__file__).resolve().parent.parent / "content" / "vllm"
TABLE_KEYS = frozenset({"version", "flags", "environment", "config_fields"})


@dataclass(frozen=True)
class Recipe:
    """A recipe that was understood. ``id`` is ``org/repo``, from the path of its file."""

    id: str
    file: RecipeFile
    document: Document


@dataclass(frozen=True)
class Catalog:
    """Vocabulary in its own order, recipes by id. A file with an error is not here; ``problems`` says why."""

    folder: Path
    taxonomy: Taxonomy
    strategies: Mapping[str, Strategy]
    kv_stores: Mapping[str, KvStore]
    platforms: Mapping[str, Platform]
    dynamo: DynamoRecipes | None
    site: Site
    recipes: Mapping[str, Recipe]
    flag_tables: tuple[Mapping[str, Any], ...]
    problems: tuple[Problem, ...]
    documents: Mapping[str, Document]

    def find(self, recipe_id: str) -> tuple[Recipe, str | None]:
        """The recipe with this id, in any case, or the recipe and variant whose checkpoint it is.

        Raises UnknownRecipe.
        """
        found = self._by_name.get(recipe_id.lower())
        if found is None:
            raise UnknownRecipe(recipe_id, closest(recipe_id, [*self.recipes, *self.checkpoints], 5))
        return self.recipes[found[0]], found[1]

    @cached_property
    def checkpoints(self) -> dict[str, tuple[str, str]]:
        """Checkpoints of variants that are no recipe of their own: id → (recipe, variant)."""
        found: dict[str, tuple[str, str]] = {}
        for recipe_id, recipe in self.recipes.items():
            for key, variant in recipe.file.variants.items():
                if variant.model_id and variant.model_id not in self.recipes:
                    found.setdefault(variant.model_id, (recipe_id, key))
        return found

    @cached_property
    def _by_name(self) -> dict[str, tuple[str, str | None]]:
        names: dict[str, tuple[str, str | None]] = {name.lower(): place for name, place in self.checkpoints.items()}
        return names | {recipe_id.lower(): (recipe_id, None) for recipe_id in self.recipes}


def load(folder: Path, progress: Progress | None = None) -> Catalog:
    """Read a content folder.

    Raises ContentError where nothing can be built: no folder, no usable taxonomy or strategies.
    """
    if not folder.is_dir():
        raise ContentError([Problem(str(folder), 0, "there is no such folder; name the content folder with --content")])
    reader = _Reader(folder)
    taxonomy = reader.one("taxonomy.yaml", Taxonomy)
    strategies = reader.every("strategies", Strategy)
    if taxonomy is None or not strategies:
        raise ContentError([*reader.problems, *_missing(folder)])
    kv_stores = reader.every("kv_store", KvStore)
    platforms = reader.one("platforms.yaml", Platforms) or Platforms()
    dynamo = reader.one("dynamo.yaml", DynamoRecipes)
    site = reader.one("site.yaml", Site) or Site()
    recipes = reader.recipes(progress)
    order = {name: position for position, name in enumerate(taxonomy.strategies)}
    return Catalog(
        folder=folder,
        taxonomy=taxonomy,
        strategies=dict(sorted(strategies.items(), key=lambda item: (order.get(item[0], len(order)), item[0]))),
        kv_stores=dict(sorted(kv_stores.items(), key=lambda item: (item[1].order, item[0]))),
        platforms={platform.id: platform for platform in platforms.platforms},
        dynamo=dynamo,
        site=site,
        recipes=recipes,
        flag_tables=reader.flag_tables(folder / "vllm") or reader.flag_tables(OWN_TABLES),
        problems=tuple(reader.problems),
        documents=reader.documents,
    )


def _missing(folder: Path) -> Iterator[Problem]:
    """What no site can be built without, where it is not there at all; a broken file is told by reading it."""
    found = {"taxonomy.yaml": (folder / "taxonomy.yaml").exists(), "strategies": any(folder.glob("strategies/*.yaml"))}
    for name, is_there in found.items():
        if not is_there:
            yield Problem(name, 0, "it is missing from the content folder, and nothing can be built without it")


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())


class _Reader:
    """Reads the files of one folder and collects what is wrong with them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.problems: list[Problem] = []
        self.documents: dict[str, Document] = {}

    def one(self, path: str, kind: type[Kind]) -> Kind | None:
        """The content of a file, or None where it is missing or not understood."""
        if not (self.folder / path).exists() and not (self.folder / path).is_symlink():
            return None
        try:
            document = read(self.folder, path)
        except ContentError as error:
            self.problems += error.problems
            return None
        self.documents[path] = document
        try:
            value = kind.model_validate(document.data)
        except ValidationError as error:
            self.problems += validation_problems(document, error)
            return None
        self.problems += _unknown_keys(document, value)
        return value

    def flag_tables(self, folder: Path) -> tuple[Mapping[str, Any], ...]:
        """The flag tables of vLLM releases, oldest first; those of extensions before them."""
        tables = []
        for path in sorted(folder.glob("*.json")):
            try:
                table = json.loads(path.read_text(encoding="utf-8"))
            except (OSError, ValueError) as error:
                message = f"it is no flag table ({str(error).lower()}); make it anew, or remove it"
                self.problems.append(Problem(f"vllm/{path.name}", 0, message))
                continue
            if isinstance(table, dict) and table.keys() >= TABLE_KEYS and isinstance(table["version"], str):
                tables.append(table)
            else:
                message = f"it is no flag table, which has the keys {', '.join(sorted(TABLE_KEYS))}; make it anew"
                self.problems.append(Problem(f"vllm/{path.name}", 0, message))
        return tuple(sorted(tables, key=lambda table: (not table.get("extension", False), _version(table["version"]))))

    def every(self, name: str, kind: type[Kind]) -> dict[str, Kind]:
        """The content of every file of a folder, by file name without its ending."""
        found = {
            path.stem: self.one(f"{name}/{path.name}", kind) for path in sorted((self.folder / name).glob("*.yaml"))
        }
        return {key: value for key, value in found.items() if value is not None}

    def recipes(self, progress: Progress | None) -> dict[str, Recipe]:
        paths = list(self._recipe_paths())
        recipes: dict[str, Recipe] = {}
        spelled: dict[str, str] = {}
        for position, path in enumerate(paths, start=1):
            recipe_id = path.removeprefix("models/").removesuffix(".yaml")
            first = spelled.setdefault(recipe_id.lower(), recipe_id)
            recipe = self._recipe(recipe_id, path, first)
            if recipe is not None:
                recipes[recipe_id] = recipe
            if progress:
                progress(position, len(paths))
        return dict(sorted(recipes.items(), key=lambda item: item[0].lower()))

    def _recipe(self, recipe_id: str, path: str, first: str) -> Recipe | None:
        """One recipe; ``first`` is the id that was read first of those that differ from it only in case."""
        if first != recipe_id:
            message = f"its id differs from models/{first}.yaml only in case; ids are compared without case, rename one"
            self.problems.append(Problem(path, 0, message))
            return None
        file = self.one(path, RecipeFile)
        if file is None:
            return None
        if "default" not in file.variants:
            message = 'variants has no "default"; name the checkpoint that is served when none is asked for "default"'
            self.problems.append(Problem(path, self.documents[path].line(("variants",)), message))
            return None
        return Recipe(recipe_id, file, self.documents[path])

    def _recipe_paths(self) -> Iterator[str]:
        """``models/<org>/<repo>.yaml``; what looks like a recipe elsewhere is named and left alone."""
        for path in sorted((self.folder / "models").rglob("*.y*ml")):
            name = path.relative_to(self.folder).as_posix()
            if path.suffix == ".yaml" and name.count("/") == 2:
                yield name
            else:
                message = "it is not read: a recipe lies at models/<org>/<repo>.yaml"
                self.problems.append(Problem(name, 0, message, "warning"))


def _unknown_keys(document: Document, value: Model) -> Iterator[Problem]:
    for path, known in value.unknown_keys():
        message = f'key "{path[-1]}" is not known{_inside(path[:-1])}{suggestion(str(path[-1]), known)}'
        yield Problem(document.path, document.line(path), message, "warning")


def _inside(path: KeyPath) -> str:
    return " in " + ".".join(str(part) for part in path) if path else ""
