from site_builder.catalog import Catalog
from site_builder.errors import Problem


def check(catalog: Catalog) -> list[Problem]:
    return []
