"""Whether a recipe has run on a hardware: what was recorded, as a sentence, and whether it still counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from site_builder.schema.recipe import Evidence, RecipeFile

#: What each status says before how it was found out (``{}`` is the hardware), and after it.
_SAYS = {
    "verified": ("The recipe was verified on {}", ""),
    "smoke": ("The server has started and answered on {}", "; nothing more was tried"),
    "inherited": ("The status on {} is taken over from a similar configuration", "; nobody has recorded a run"),
    "unsupported": ("The recipe does not run on {}", ""),
}


def status_of(file: RecipeFile, hardware: str) -> str:
    """verified, smoke, inherited, supported or unsupported; what nobody mentions is assumed to work."""
    return evidence_of(file, hardware).status or "supported"


def evidence_of(file: RecipeFile, hardware: str) -> Evidence:
    known = file.meta.hardware.get(hardware)
    return known if isinstance(known, Evidence) else Evidence(status=known or "")


def statuses(file: RecipeFile) -> dict[str, str]:
    """The status of each hardware that the recipe names."""
    return {name: status_of(file, name) for name in file.meta.hardware}


def evidence_text(file: RecipeFile, hardware: str, name: str) -> str:
    """What is recorded of a hardware (``name`` is what people call it), and why it may not count any more."""
    return " ".join(_sentences(file, evidence_of(file, hardware), name))


def _sentences(file: RecipeFile, known: Evidence, name: str) -> Iterator[str]:
    says = _SAYS.get(known.status)
    if says is None:
        yield f"Nobody has recorded a run on {name}; it is assumed to work."
    else:
        how = [f"with vLLM {known.vllm}" if known.vllm else "", f"in {known.image}" if known.image else ""]
        how += [f"on {known.date}" if known.date else "", f"({known.source})" if known.source else ""]
        before, after = says
        yield " ".join([before.format(name), *filter(None, how)]) + f"{after}."
    if known.note:
        yield known.note.strip().rstrip(".") + "."
    yield from stale(file, known)


def stale(file: RecipeFile, known: Evidence) -> Iterator[str]:
    """Why what was recorded may not hold any more: it is older than the recipe's minimum version or last change."""
    changed, minimum = file.meta.date_updated or file.meta.date_added, file.model.min_vllm_version
    if known.vllm and minimum and _version(known.vllm) < _version(minimum):
        yield f"That is older than the version that the recipe needs now ({minimum})."
    if known.date and changed and known.date < changed:
        yield f"That is older than the last change of the recipe ({changed})."


def document(file: RecipeFile, hardware: str, name: str) -> dict[str, Any]:
    """The evidence as fields, with its sentence; ``stale`` where it is older than the recipe."""
    known = evidence_of(file, hardware)
    fields = {key: getattr(known, key) or None for key in ("vllm", "image", "date", "source", "note")}
    return {
        "hardware": hardware,
        "status": status_of(file, hardware),
        **fields,
        "stale": any(True for _ in stale(file, known)),
        "text": evidence_text(file, hardware, name),
    }


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())
