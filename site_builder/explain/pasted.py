"""The servers that a pasted text starts: with ``vllm serve``, with vLLM's module, or with ``docker run``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from site_builder.compiler.reading import Reader, Server, Setting, needs_file, read_server, server_words
from site_builder.errors import BadCommand
from site_builder.explain.shell_reading import ShellCommand, read_shell
from site_builder.shell import quote

#: More servers than any deployment of the site has, and more flags than any server.
MOST_SERVERS, MOST_FLAGS = 32, 500
#: Variables whose values are secrets: they are neither compared nor told.
SECRETS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUGGINGFACE_HUB_TOKEN")
_CONTAINERS, _SHELLS = ("docker", "podman", "nerdctl"), ("bash", "sh", "/bin/bash", "/bin/sh")
#: What ``docker run`` is told without a value; everything else takes one.
_SWITCHES = (
    *("--detach", "--interactive", "--tty", "--rm", "--privileged", "--init", "--read-only", "--no-healthcheck"),
    *("--oom-kill-disable", "--publish-all", "--sig-proxy", "--disable-content-trust", "--quiet", "--help"),
)
_SHORT_SWITCHES = frozenset("ditPq")
_SHORT_VALUES = frozenset("acehlmpuvw")


@dataclass(frozen=True)
class Pasted:
    """One server of the text. ``docker`` are docker's own words and ``image`` what it runs, where docker starts it."""

    text: str
    model: str
    settings: Mapping[str, Setting]
    env: Mapping[str, str]
    image: str = ""
    docker: tuple[str, ...] = ()


def read_pasted(text: str, reader: Reader) -> tuple[list[Pasted], list[str]]:
    """The servers in the order of the text, and notes on what was left out. Raises BadCommand."""
    commands, notes = read_shell(text, _starts)
    servers: list[Pasted] = []
    ignored = 0
    for command in commands:
        found = _server(command, reader, notes)
        if found is not None:
            servers.append(found)
        elif ignored < 5:
            ignored += 1
            words = " ".join(command.words[:3])
            notes.append(f'"{words[:60]}" starts no vLLM server; it is left out')
        if len(servers) > MOST_SERVERS:
            raise BadCommand(f"there are more than {MOST_SERVERS} servers in this text; paste fewer")
    if not servers:
        raise BadCommand("there is no server command in this text; paste a vllm serve or docker run command")
    return servers, list(dict.fromkeys(notes))


def _starts(words: Sequence[str]) -> bool:
    return any(found is not None for found in (server_words(words), _container(words), _inside(words)))


def _server(command: ShellCommand, reader: Reader, notes: list[str]) -> Pasted | None:
    words = list(command.words)
    container = _container(words)
    if container is None:
        inner = _inside(words)
        if inner is not None:
            return _of_shell(inner, command, (reader, notes))
        served = server_words(words)
        return None if served is None else _pasted(read_server(served, reader), command.env, (reader, notes))
    return _of_container(container, command, (reader, notes))


State = tuple[Reader, list[str]]


def _of_shell(text: str, command: ShellCommand, state: State) -> Pasted | None:
    """What ``bash -c`` starts: the first server of its text."""
    commands, notes = read_shell(text)
    state[1].extend(notes)
    for inner in commands:
        served = server_words(inner.words)
        if served is not None:
            return _pasted(read_server(served, state[0]), {**command.env, **inner.env}, state)
    return None


def _of_container(words: Sequence[str], command: ShellCommand, state: State) -> Pasted | None:
    """What an image runs: its own entry is ``vllm serve``, unless the words name a program."""
    reader, notes = state
    options, rest = _docker_options(words)
    if not rest:
        notes.append("docker run names no image; it is left out")
        return None
    image, *args = rest
    env = dict(_docker_env(options, command.env))
    if any(name == "--env-file" for name, _ in options):
        notes.append("the variables of --env-file are not known here")
    entry = next((value for name, value in options if name == "--entrypoint"), "")
    inside = ShellCommand(tuple([entry, *args] if entry else args), env)
    text = _inside(list(inside.words))
    served = server_words(inside.words)
    if text is not None:
        found = _of_shell(text, inside, state)
    elif served is not None:
        found = _pasted(read_server(served, reader), env, state)
    elif entry or not args or not _looks_served(args):
        found = None
    else:
        found = _pasted(read_server(args, reader), env, state)
    if found is None:
        return None
    return Pasted(found.text, found.model, found.settings, found.env, image, tuple(words[: len(words) - len(rest)]))


def _looks_served(args: Sequence[str]) -> bool:
    """Whether the words after an image are those of a server: a model or flags, and no other program."""
    return args[0].startswith("-") or "/" in args[0].lstrip("/") or any(word.startswith("--") for word in args[1:])


def _pasted(server: Server, env: Mapping[str, str], state: State) -> Pasted:
    reader, notes = state
    if len(server.lines) > MOST_FLAGS:
        raise BadCommand(f"a command has more than {MOST_FLAGS} flags; paste the command of one server")
    settings = reader.settings(server.lines)
    notes += [f'"{word[:60]}" belongs to no flag; it is left out' for word in server.strays[:5]]
    notes += [f"the flags in {name[:60]} are not known here" for name in needs_file(settings)]
    keys = Counter(key for line in server.lines if (key := reader.grammar.key(line[0])))
    notes += [f"{key} is given more than once; the last one counts" for key, count in keys.items() if count > 1]
    lines = [["vllm", "serve", server.model or "…"], *server.lines]
    return Pasted(
        text=" \\\n  ".join(" ".join(quote(word) for word in line) for line in lines),
        model=server.model,
        settings=settings,
        env={name: value for name, value in env.items() if name not in SECRETS},
    )


def _inside(words: Sequence[str]) -> str | None:
    """The text of ``bash -c '…'``."""
    for number in range(len(words) - 2):
        option = words[number + 1]
        if words[number] in _SHELLS and option.startswith("-") and option.endswith("c") and not option.startswith("--"):
            return words[number + 2]
    return None


def _container(words: Sequence[str]) -> list[str] | None:
    """The words after ``docker run``."""
    for number, word in enumerate(words[:-1]):
        if word.rsplit("/", 1)[-1] in _CONTAINERS:
            rest = list(words[number + 1 :])
            rest = rest[1:] if rest[0] == "container" else rest
            return rest[1:] if rest[:1] in (["run"], ["create"]) else None
        if number > 3:
            break
    return None


def _docker_options(words: Sequence[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """Docker's own options as (name, value), and the words from the image on."""
    options: list[tuple[str, str]] = []
    left = list(reversed(words))
    while left and left[-1].startswith("-") and len(left[-1]) > 1:
        word = left.pop()
        name, equals, value = word.partition("=")
        if word.startswith("--"):
            if not equals and name not in _SWITCHES and left:
                value = left.pop()
            options.append((name, value))
            continue
        letters = word[1:]
        while letters and letters[0] in _SHORT_SWITCHES:
            letters = letters[1:]
        if letters:
            value = letters[1:].removeprefix("=") or (left.pop() if left and letters[0] in _SHORT_VALUES else "")
            options.append((f"-{letters[0]}", value))
    return options, list(reversed(left))


def _docker_env(options: Sequence[tuple[str, str]], around: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The variables that a container gets; one that is only named has the value that it has outside."""
    for name, value in options:
        if name in ("-e", "--env"):
            variable, equals, text = value.partition("=")
            yield variable, text if equals else around.get(variable, f"${variable}")
