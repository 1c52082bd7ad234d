"""The site that a server answers from: read at start, and again when it is told to."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable

import click

from site_builder.errors import ContentError, SiteError
from site_builder.metrics import Metrics
from site_builder.site import SiteContext


class Live:
    """The last good site. ``load`` reads it anew; a change that cannot be used leaves it as it is.

    Raises SiteError where the site cannot be read at the start.
    """

    def __init__(self, load: Callable[[], SiteContext], metrics: Metrics) -> None:
        self.load, self.metrics = load, metrics
        self.lock = threading.Lock()
        self.failure = ""
        self.site = load()
        _leave_out_of_collection()
        self.loaded = time.time()
        metrics.recipes.set(len(self.site.collection.plans))

    def reload(self) -> None:
        """Take up what changed, and say what happened. Errors in any file keep the last good site."""
        with self.lock:
            try:
                site = self.load()
                errors = tuple(problem for problem in site.collection.problems if problem.severity == "error")
                if errors:
                    raise ContentError(errors)
            except SiteError as error:
                self.failure = str(error)
                self.metrics.reloads.labels("refused").inc()
                click.echo(f"the change cannot be used, the last good site stays:\n{error}", err=True)
                return
            self.site, self.failure, self.loaded = site, "", time.time()
            _leave_out_of_collection()
            self.metrics.reloads.labels("taken").inc()
            self.metrics.recipes.set(len(site.collection.plans))
            click.echo(f"reloaded: {len(site.collection.plans)} recipes", err=True)

    def health(self) -> dict[str, object]:
        """The server's own state. ``reload_error`` says why the last change was not taken up; empty is good."""
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.loaded))
        recipes = len(self.site.collection.plans)
        return {"status": "ok", "recipes": recipes, "loaded": when, "reload_error": self.failure}


def _leave_out_of_collection() -> None:
    """The site lives as long as it is served: looking through it for garbage would only slow answers down."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
