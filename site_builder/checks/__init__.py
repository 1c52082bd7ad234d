"""What is worth telling an author about content that could be read. Loading finds what could not.

A problem of severity error here makes ``check`` fail, but leaves no recipe out: building does the best it can with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from site_builder.catalog import Catalog
from site_builder.checks.arguments import argument_problems, image_problems, moving_image_problems
from site_builder.checks.facts import fact_problems
from site_builder.checks.flags import flag_problems
from site_builder.checks.guides import guide_problems
from site_builder.checks.plans import plan_problems
from site_builder.checks.references import reference_problems
from site_builder.collection import Collection
from site_builder.errors import Problem

#: Every rule on what is written, in the order in which their problems are worked out; the report is sorted by place.
RULES: tuple[Callable[[Catalog], Iterator[Problem]], ...] = (
    reference_problems,
    argument_problems,
    image_problems,
    moving_image_problems,
    flag_problems,
    guide_problems,
    fact_problems,
)


def check(collection: Collection) -> list[Problem]:
    """The problems of every rule, each once, without the warnings that a comment in the file accepts.

    What loading and compiling found is not among them: the collection has it.
    """
    catalog = collection.catalog
    found = {problem for rule in RULES for problem in rule(catalog)} | set(plan_problems(collection))
    return sorted(problem for problem in found if not _is_accepted(catalog, problem))


def _is_accepted(catalog: Catalog, problem: Problem) -> bool:
    document = catalog.documents.get(problem.path)
    return problem.severity == "warning" and document is not None and problem.line in document.accepted
