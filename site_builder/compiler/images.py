"""Images, ``docker run`` and installation (``docs/recipe-format.md``, section 7)."""

from __future__ import annotations

from site_builder.schema.recipe import Image, InstallWay, RecipeFile
from site_builder.schema.vocabulary import Hardware

_WHEELS = "https://wheels.vllm.ai"
#: The flags of ``docker run`` that a kind of hardware needs, one list a line. A kind that is not here has no known way.
_DEVICE_FLAGS = {
    "nvidia": [["--gpus", "all"]],
    "amd": [
        ["--device=/dev/kfd", "--device=/dev/dri"],
        ["--security-opt", "seccomp=unconfined", "--group-add", "video"],
    ],
    "tpu": [["--privileged", "--network", "host"], ["-v", "/dev/shm:/dev/shm"]],
    "cpu": [["--shm-size=16g"]],
    "xpu": [["--device", "/dev/dri"], ["-v", "/dev/dri/by-path:/dev/dri/by-path", "--shm-size=16g"]],
}
_IMAGES = {
    "nvidia": "vllm/vllm-openai:latest",
    "amd": "vllm/vllm-openai-rocm:latest",
    "tpu": "vllm/vllm-tpu:latest",
    "cpu": "vllm/vllm-openai-cpu:latest-x86_64",
    "xpu": "vllm/vllm-openai-xpu:latest",
}
#: The kinds whose default image has a nightly build under the tag of that name.
_NIGHTLY_KINDS = ("nvidia", "amd", "tpu")
#: The name of a kind in a ``docker_image`` map.
_IMAGE_KEYS = {"nvidia": ("nvidia",), "amd": ("amd",), "tpu": ("tpu",), "cpu": ("intel",), "xpu": ("intel",)}


def kind_of(hardware: Hardware) -> str:
    """What decides image, devices and wheels: tpu, cpu, xpu and npu by generation, else the brand."""
    generation = hardware.main_generation
    return generation if generation in ("tpu", "cpu", "xpu", "npu") else hardware.brand.lower()


def image_of(recipe: RecipeFile, variant_key: str, where: tuple[str, Hardware]) -> str | dict[str, str] | None:
    """The image of a variant on a hardware (id and profile), a map of images by CUDA build, or None."""
    hardware_id, hardware = where
    variant = recipe.variants[variant_key]
    kind = kind_of(hardware)
    exact = variant.hardware_overrides.get(hardware_id)
    if exact and isinstance(exact.docker_image, str) and is_image(exact.docker_image):
        return exact.docker_image
    for source in (exact.docker_image if exact else None, variant.docker_image, recipe.model.docker_image):
        found = _image_in(source, kind)
        if found:
            return found
    default = _IMAGES.get(kind)
    if default and recipe.needs_nightly(variant_key) and kind in _NIGHTLY_KINDS:
        return default.replace(":latest", ":nightly")
    return default


def is_image(name: str) -> bool:
    """Whether this can be the name of an image; a command such as ``docker pull …`` cannot."""
    return bool(name) and not any(character.isspace() for character in name)


def _image_in(source: Image | None, kind: str) -> str | dict[str, str] | None:
    if isinstance(source, str):
        return source if kind == "nvidia" and is_image(source) else None
    if not source:
        return None
    if all(key.startswith("cu") for key in source):
        return {key: str(value) for key, value in source.items()} if kind == "nvidia" else None
    for key in _IMAGE_KEYS.get(kind, (kind,)):
        found = source.get(key)
        if isinstance(found, dict):
            return dict(found)
        if found and is_image(found):
            return found
    return None


def device_flags(hardware: Hardware) -> list[list[str]] | None:
    return _DEVICE_FLAGS.get(kind_of(hardware))


def pip_commands(recipe: RecipeFile, hardware: Hardware, nightly: bool) -> str | None:
    """How to install vLLM without an image; None where there is no such way."""
    way = recipe.model.install.pip
    if way is False:
        return None
    if isinstance(way, InstallWay) and way.command:
        return way.command.strip("\n")
    kind = kind_of(hardware)
    if kind in ("tpu", "xpu", "npu"):
        return None
    if kind == "amd":
        return f"uv venv --python 3.12\nsource .venv/bin/activate\nuv pip install vllm --extra-index-url {_WHEELS}/rocm"
    if kind == "cpu":
        install = (
            f"uv pip install vllm --extra-index-url {_WHEELS}/cpu --index-strategy first-index --torch-backend cpu"
        )
    elif nightly:
        install = (
            f"uv pip install -U vllm --pre --extra-index-url {_WHEELS}/nightly/cu130"
            " --extra-index-url https://download.pytorch.org/whl/cu130 --index-strategy unsafe-best-match"
        )
    else:
        install = "uv pip install -U vllm --torch-backend auto"
    return f"uv venv\nsource .venv/bin/activate\n{install}"
