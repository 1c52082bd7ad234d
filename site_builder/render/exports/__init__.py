"""A configuration in the forms that other tools read. One module a target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from site_builder.errors import CannotExport
from site_builder.render.exports import compose, config_file, dynamo, kubernetes, shell_script
from site_builder.views import View

YAML, SHELL, PLAIN = "application/yaml", "text/x-shellscript; charset=utf-8", "text/plain; charset=utf-8"


@dataclass(frozen=True)
class Export:
    """One target: the suffix of its address, its key among the links, its name, and how it is written.

    ``render`` raises CannotExport where the target has no way to say the configuration.
    """

    suffix: str
    key: str
    title: str
    media_type: str
    render: Callable[[View], str]


#: Every target, in the order in which a page lists them.
EXPORTS = (
    Export("sh", "script", "Shell script", SHELL, shell_script.render),
    Export("config.yaml", "config", "vLLM config file", YAML, config_file.config),
    Export("env", "env", "Environment file", PLAIN, config_file.environment),
    Export("compose.yaml", "compose", "Compose file", YAML, compose.render),
    Export("k8s.yaml", "kubernetes", "Kubernetes manifests", YAML, kubernetes.render),
    Export("dynamo.yaml", "dynamo", "Dynamo graph", YAML, dynamo.render),
)


def is_exported(target: Export, view: View) -> bool:
    """Whether the target has a way to say the configuration."""
    try:
        target.render(view)
    except CannotExport:
        return False
    return True
