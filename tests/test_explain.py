"""Pasted commands: reading them, finding the closest configuration, listing what is different."""

from __future__ import annotations

import contextlib
import json
import random
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from site_builder.cli import main
from site_builder.collection import Collection
from site_builder.compiler.grammar import Grammar
from site_builder.compiler.reading import Reader
from site_builder.errors import BadCommand, UnknownRecipe
from site_builder.explain import LONGEST, Explanation, explain, serves
from site_builder.explain.pasted import Pasted, read_pasted
from site_builder.explain.shell_reading import read_shell
from site_builder.plan import values_of
from site_builder.query import canonical
from site_builder.render import explanation
from site_builder.resolve import resolve
from site_builder.urls import Addresses
from site_builder.views import ProcessView, View, answer
from tests.helpers import SMALL


@pytest.fixture(scope="module")
def reader(small: Collection) -> Reader:
    return Reader(small.grammar)


def meanings(reader: Reader, flags: str) -> dict[str, str]:
    lines = list(reader.grammar.split(shlex.split(flags)))
    return {flag: setting.meaning for flag, setting in reader.settings(lines).items()}


def pasted(reader: Reader, text: str) -> Pasted:
    (server,), _ = read_pasted(text, reader)
    return server


# What words mean.


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("-tp 8", "--tensor_parallel_size=8"),
        ("--gpu-memory-utilization 0.90", "--gpu_memory_utilization=.9"),
        ("--max-model-len 16k", "--max-model-len 16000"),
        ("--max-model-len 1K", "--max-model-len=1024"),
        ("-O3", "--optimization-level 3"),
        ("-O 2", "-O2"),
        ("--enable-prefix-caching", "--no-enable-prefix-caching --enable-prefix-caching"),
        ("--no-enable-expert-parallel", "--disable-expert-parallel"),
        ("-cc.mode 3 -cc.pass_config.fuse True", """--compilation-config '{"pass_config": {"fuse": true}, "mode": 3.0}'"""),
        ("-cc.custom_ops+ -quant -cc.custom_ops+ +rms", """-cc '{"custom_ops": ["-quant", "+rms"]}'"""),
        ("--served-model-name a b", "--served-model-name=a b"),
        ("--middleware a --middleware b", "--middleware=a --middleware=b"),
        ("--new-thing 1.0", "--new_thing=1"),
        ("--new-thing.x.y 1", """--new-thing.x '{"y": 1}'"""),
    ],
)  # fmt: skip
def test_spellings_of_one_setting_are_equal(reader: Reader, one: str, other: str) -> None:
    assert meanings(reader, one) == meanings(reader, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("--enable-prefix-caching", "--no-enable-prefix-caching"),
        ("-cc.mode 3", "-cc.mode 2"),
        ("--served-model-name 1.10", "--served-model-name 1.1"),
        ("--speculative-config '{\"a\": 1}'", "--speculative-config '{\"a\": true}'"),
        ("--max-model-len 1k", "--max-model-len 1K"),
    ],
)
def test_different_settings_are_not(reader: Reader, one: str, other: str) -> None:
    assert meanings(reader, one) != meanings(reader, other)


def test_dotted_fields_outrank_the_whole_option(reader: Reader) -> None:
    assert meanings(reader, "-cc.mode 3 -cc '{\"level\": 1}'") == {"--compilation-config": '{"mode":3}'}
    assert meanings(reader, "-cc '{\"level\": 1}' -cc.mode 3") == {"--compilation-config": '{"mode":3}'}


def test_values_that_are_no_json_stay_text(reader: Reader) -> None:
    assert meanings(reader, "--speculative-config '{x'") == {"--speculative-config": '"{x"'}
    deep = "[" * 1000
    assert meanings(reader, f"--foo {deep}") == {"--foo": f'"{deep}"'}
    assert meanings(reader, "--foo") == {"--foo": "true"}
    assert meanings(reader, "--no-foo") == {"--foo": "false"}
    assert meanings(reader, "--foo 1 b") == {"--foo": '[1,"b"]'}
    assert meanings(reader, "-cc.mode") == {"--compilation-config": '{"mode":true}'}
    assert meanings(reader, "--tokenizer") == {"--tokenizer": "true"}


def test_a_value_is_shown_as_a_person_writes_it(reader: Reader) -> None:
    flags = "--served-model-name a b --max-model-len 16k -cc.mode 3 --enable-expert-parallel --no-enable-prefix-caching"
    shown = [one.value for one in reader.settings(list(reader.grammar.split(flags.split()))).values()]
    assert shown == ["a b", "16000", '{"mode":3}', "", "false"]


# What a shell reads.


def commands(text: str) -> list[tuple[tuple[str, ...], dict[str, str]]]:
    return [(command.words, command.env) for command in read_shell(text)[0]]


def test_exports_prefixes_comments_and_continued_lines() -> None:
    text = "# it's a comment\nexport A=1 B='x y' # another\r\nC=2 vllm serve m \\\n  --port 1 \\  \n  --host h#1; unset A\nD=3 E=4\nvllm serve n"
    assert commands(text) == [
        (("vllm", "serve", "m", "--port", "1", "--host", "h#1"), {"A": "1", "B": "x y", "C": "2"}),
        (("vllm", "serve", "n"), {"B": "x y", "D": "3", "E": "4"}),
    ]


def test_variables_and_quotes_stay_as_text() -> None:
    assert commands("""vllm serve "$MODEL" --a '$B "c"' --d \\"e "f\\\n g" ${H}""") == [
        (("vllm", "serve", "$MODEL", "--a", '$B "c"', "--d", '"e', "f g", "${H}"), {})
    ]


def test_pipes_redirections_and_here_documents_are_left_out() -> None:
    text = "cat > f <<'END'\nvllm serve no\nEND\nvllm serve m > log.txt --port 1 2>&1 >> \"a b\" < /dev/null | tee x &\nvllm serve n &> y && echo"
    found, notes = read_shell(text)
    assert [command.words for command in found] == [
        ("cat",), ("vllm", "serve", "m", "--port", "1"), ("tee", "x"), ("vllm", "serve", "n"), ("echo",)
    ]  # fmt: skip
    assert notes == ["redirections are left out", "a pipe or & is left out"]
    assert [command.words for command in read_shell("cat <<X\nvllm serve m")[0]] == [("cat",)]


def test_a_substitution_is_not_run() -> None:
    found, notes = read_shell('export IP=$(hostname -I)\nA="$(id)" vllm serve m --host `id -u`')
    assert found[0].words == ("vllm", "serve", "m", "--host", "`id -u`")
    assert found[0].env == {"IP": "$(hostname -I)", "A": "$(id)"}
    assert notes == ["$(…) is not run; its text is kept as it stands"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n\nvllm serve 'm", "line 3: the quote ' is not closed; close it, or take it away"),
        ('vllm serve m \\\n --a "b', 'line 2: the quote " is not closed; close it, or take it away'),
        ("vllm serve $(a $(b))", "line 1: $( starts a command inside the command, which is not run; write its result instead"),
        ("echo", "there is no server command in this text; paste a vllm serve or docker run command"),
        ("", "there is no server command in this text; paste a vllm serve or docker run command"),
        ("vllm serve m\n" * 33, "there are more than 32 servers in this text; paste fewer"),
        ("vllm serve m " + "--a " * 501, "a command has more than 500 flags; paste the command of one server"),
        ("docker run -d image bash", "there is no server command in this text; paste a vllm serve or docker run command"),
        ("docker run -d", "there is no server command in this text; paste a vllm serve or docker run command"),
        ("docker ps", "there is no server command in this text; paste a vllm serve or docker run command"),
        ("docker run i sh -c 'echo a'", "there is no server command in this text; paste a vllm serve or docker run command"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_told_in_a_sentence(reader: Reader, text: str, message: str) -> None:
    with pytest.raises(BadCommand) as error:
        read_pasted(text, reader)
    assert str(error.value) == message


@given(st.text("vs -'\"\\\n\t#$`<>&|;(){}=2A", max_size=80) | st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(BadCommand):
        for command in read_shell(f"{text}\nvllm serve m\n{text}")[0]:
            assert command.words


@pytest.mark.parametrize("text", ["[" * 65000, "\n" * 65000, "1" * 65000, "'a'" * 20000, '"\\' * 30000, "\\\n" * 30000, "<<a " * 16000,
                                  "vllm serve m " + "a" * 60000, "vllm serve m --a." + "b." * 30000 + " 1", "vllm serve m --a " + "$x" * 30000,
                                  "vllm serve m --foo " + '{"a":' * 10000, "A=b " * 16000])  # fmt: skip
def test_hostile_text_is_read_in_bounded_time(small: Collection, text: str) -> None:
    """No assertion on time here: a rule that is not linear would hang the test."""
    with pytest.raises((BadCommand, UnknownRecipe)):
        explain(small, text)


def test_a_long_text_is_refused(small: Collection) -> None:
    with pytest.raises(BadCommand, match="the text is longer than 65536 bytes; paste the command alone"):
        explain(small, "é" * (LONGEST // 2 + 1))


# Who starts the server.


@pytest.mark.parametrize(
    "text",
    [
        "vllm serve acme/X --port 1",
        "sudo -E /opt/venv/bin/vllm serve --port 1 acme/X",
        "$ uv run vllm serve acme/X --port=1",
        "python -m vllm.entrypoints.openai.api_server --model acme/X --port 1",
        "python3 -m vllm.entrypoints.cli.main serve acme/X --port 1",
        "numactl -N 0 vllm serve --model=acme/X --port 1",
        "bash -lc 'vllm serve acme/X --port 1'",
    ],
)
def test_ways_to_start_a_server(reader: Reader, text: str) -> None:
    server = pasted(reader, text)
    assert (server.model, {name: one.meaning for name, one in server.settings.items()}) == ("acme/X", {"--port": "1"})


@pytest.mark.parametrize(
    "text",
    [
        "docker run --gpus all -itd --rm -p8000:8000 -e A=b -e B --env=C=d -e HF_TOKEN=secret --ipc=host img:1 acme/X --port 1",
        "B=2 podman container run -e A=b -e C=d -e B img:1 --model acme/X --port 1",
        "sudo docker run -e A=b -e C=d -e B --entrypoint vllm img:1 serve acme/X --port 1",
        "docker run -e A=b -e C=d -e B img:1 vllm serve acme/X --port 1",
        "docker run -e A=b -e C=d -e B=1 img:1 bash -c 'export B=; vllm serve acme/X --port 1'",
        "docker run -e A=b -e C=d -e B --entrypoint /bin/sh img:1 -c 'vllm serve acme/X --port 1'",
    ],
)
def test_containers(reader: Reader, text: str) -> None:
    server = pasted(reader, text)
    assert (server.model, server.image) == ("acme/X", "img:1")
    assert {name: one.meaning for name, one in server.settings.items()} == {"--port": "1"}
    assert {name: value for name, value in server.env.items() if name != "B"} == {"A": "b", "C": "d"}
    assert "secret" not in server.text


def test_what_is_left_out_is_noted(reader: Reader) -> None:
    text = (
        "pip install vllm\nA=b vllm serve m stray --enable-expert-parallel word --port 1 --port 2 --config f.yaml\n"
        "docker run --env-file e img m/x --port 1\ndocker run -d\nX=1\nvllm serve z"
    )
    servers, notes = read_pasted(text, reader)
    assert [server.model for server in servers] == ["m", "m/x", "z"]
    assert notes == [
        "a variable that is set without export does not reach the server; it is counted all the same",
        '"pip install vllm" starts no vLLM server; it is left out',
        '"stray" belongs to no flag; it is left out',
        '"word" belongs to no flag; it is left out',
        "the flags in f.yaml are not known here",
        "--port is given more than once; the last one counts",
        "the variables of --env-file are not known here",
        "docker run names no image; it is left out",
        '"docker run -d" starts no vLLM server; it is left out',
    ]


# What is different.


def told(found: Explanation) -> list[tuple[str, str, str, str]]:
    return [
        (one.kind, one.name, one.value, one.ours)
        for server in found.servers
        for one in (*server.facts, *server.flags, *server.environment)
    ]


def test_every_kind_of_difference(small: Collection) -> None:
    process = answer(small, "acme/Big-MoE", "").processes[0]
    lines = [shlex.join(line) for line in process.command["lines"] if line[0] != "--trust-remote-code"]
    text = " ".join(lines).replace("--max-num-seqs 128", "--max_num_seqs=100")
    exports = "export VLLM_NO_SUCH=1 OTHER=2 VLLM_OMNI_X=1 VLLM_LOGGING_LEVEL=INFO"
    found = explain(small, f"{exports}\n{text} --seed 1 --calculate-kv-scales --enable-expert-paralel")
    assert found.view.query == ""
    assert told(found) == [
        ("missing", "--trust-remote-code", "", ""),
        ("different", "--max-num-seqs", "100", "128"),
        ("extra", "--seed", "1", ""),
        ("removed", "--calculate-kv-scales", "", ""),
        ("unknown", "--enable-expert-paralel", "", ""),
        ("different", "VLLM_LOGGING_LEVEL", "INFO", "DEBUG"),
        ("unknown", "VLLM_NO_SUCH", "1", ""),
        ("extra", "OTHER", "2", ""),
        ("extra", "VLLM_OMNI_X", "1", ""),
    ]
    missing, different, _, removed, unknown = found.servers[0].flags
    assert (missing.origin, different.origin) == ("model.base_args", "strategy_overrides.single_node_tep")
    assert (removed.last, removed.since) == ("0.26.0", "0.33.0")
    assert unknown.closest == ("--enable-expert-parallel",)


def test_a_flag_that_is_switched_off_differs_from_one_that_is_on(small: Collection) -> None:
    process = answer(small, "acme/Big-MoE", "").processes[0]
    found = explain(small, f"{process.exports}\n{process.text} --no-trust-remote-code")
    assert told(found) == [("different", "--trust-remote-code", "off", "on")]


def test_another_image_is_a_difference(small: Collection) -> None:
    process = answer(small, "acme/Small-8B", "install=docker").processes[0]
    image = str(answer(small, "acme/Small-8B", "install=docker").facts["image"])
    found = explain(small, str(process.docker).replace(image, "mine:1"))
    assert told(found) == [("different", "image", "mine:1", image)]
    assert "image mine:1; the recipe has" in explanation.text(found, Addresses())


def test_filled_in_placeholders_are_no_difference(small: Collection) -> None:
    view = answer(small, "acme/Big-MoE", "nodes=2&strategy=multi_node_tp")
    text = "\n\n".join(
        f"{process.exports}\n{process.text}".replace("$HEAD_IP", "10.0.0.1").replace("$IFACE_NAME", "eth0")
        for process in view.processes
    )
    found = explain(small, text)
    assert found.exact
    assert [(server.process.command["role"], server.process.command["rank"]) for server in found.servers] == [
        ("head", 0),
        ("worker", 1),
    ]
    assert found.others == []


def test_the_rank_of_one_node_is_found(small: Collection) -> None:
    view = answer(small, "acme/Big-MoE", "nodes=4&strategy=multi_node_tp")
    process = view.processes[3]
    found = explain(small, f"{process.exports}\n{process.text}")
    assert found.exact
    assert found.servers[0].process.id == process.id
    assert [other.id for other in found.others] == ["head-0", "worker-1", "worker-2"]


def test_choices_that_the_text_does_not_need_stay_the_default(small: Collection) -> None:
    for mode in ("", "&decode_mode=tp"):
        view = answer(small, "acme/Big-MoE", f"strategy=pd_cluster&decode_nodes=3{mode}")
        process = [process for process in view.processes if process.command["role"] == "decode"][2]
        found = explain(small, f"{process.exports}\n{process.text}")
        assert found.exact
        assert found.view.query == view.query


def test_a_folder_or_a_served_name_names_the_recipe(small: Collection) -> None:
    for text in (
        "vllm serve /models/small-8b/",
        "vllm serve ~/.cache/hub/models--acme--Small-8B/snapshots/0f",
        "vllm serve /models/x --served-model-name acme/Small-8B",
        "vllm serve /models/x --served-model-name small-8b other",
    ):
        found = explain(small, text)
        assert found.view.id == "acme/Small-8B"
        assert ("different", "model") in [(one.kind, one.name) for one in found.servers[0].facts]


def test_the_checkpoint_of_a_variant_names_it(small: Collection) -> None:
    checkpoint = next(key for key, variant in small.recipe("acme/Big-MoE").file.variants.items() if variant.model_id)
    model = small.recipe("acme/Big-MoE").file.variants[checkpoint].model_id
    found = explain(small, f"vllm serve {str(model).upper()}")
    assert (found.view.id, found.view.selection["variant"]) == ("acme/Big-MoE", checkpoint)


def test_a_model_that_nothing_serves(small: Collection) -> None:
    with pytest.raises(UnknownRecipe) as error:
        explain(small, "vllm serve acme/Smal-8B")
    assert error.value.closest[0] == "acme/Small-8B"
    with pytest.raises(BadCommand, match="the command names no model; add it, or say which recipe is meant"):
        explain(small, "vllm serve --port 8000")
    with pytest.raises(UnknownRecipe):
        explain(small, "vllm serve acme/Small-8B", "no/such")
    assert explain(small, "vllm serve --port 8000", "acme/Small-8B").view.id == "acme/Small-8B"


def test_servers_of_several_models_are_noted(small: Collection) -> None:
    found = explain(small, "vllm serve acme/Small-8B\nvllm serve acme/Big-MoE")
    assert found.notes[-1] == "the servers have different models; all are compared with the recipe of acme/Small-8B"


def test_without_flag_tables_nothing_is_called_unknown(tmp_path: Path) -> None:
    from site_builder.explain.differences import Releases

    reader = Reader(Grammar())
    (setting,) = reader.settings([["--whatever", "1"]]).values()
    assert Releases(()).flag(setting).kind == "extra"
    assert Releases(()).variable("VLLM_X", "1").kind == "extra"


# Rendering.


def test_json_has_one_entry_of_differences_for_each_command(small: Collection) -> None:
    found = explain(small, "vllm serve acme/Small-8B --seed 1\nvllm serve acme/Small-8B --calculate-kv-scales")
    document = explanation.document(found, Addresses("https://example.org"))
    assert len(document["commands"]) == len(document["differences"]) == len(document["environment"]) == 2
    assert document["differences"][1]["removed"] == [
        {
            "flag": "--calculate-kv-scales",
            "value": None,
            "last_version": "0.26.0",
            "removed_since": "0.33.0",
            "did_you_mean": document["differences"][1]["removed"][0]["did_you_mean"],
        }
    ]
    assert document["commands"][0]["text"] == "vllm serve acme/Small-8B \\\n  --seed 1"
    assert document["alternatives"][0]["url"].startswith("https://example.org/acme/Small-8B")


def test_text_for_a_terminal(small: Collection) -> None:
    process = answer(small, "acme/Small-8B", "").processes[0]
    exact = explanation.text(explain(small, f"{process.exports}\n{process.text}"), Addresses())
    assert exact.splitlines()[2] == "exactly this configuration"
    assert "  the same" in exact.splitlines()
    text = f"{process.exports}\nexport VLLM_NOTHING=1\ntrue\n{process.text} --seed 1 --calculate-kv-scales --sed 2"
    lines = explanation.text(explain(small, text), Addresses()).splitlines()
    assert "4 differences" in lines
    assert "  extra      --seed 1" in lines
    assert any(
        line.startswith("  removed    --calculate-kv-scales: removed since 0.33.0 (0.26.0 had it)") for line in lines
    )
    assert "  unknown    --sed 2" in [line.split(";")[0] for line in lines]
    assert '  "true" starts no vLLM server; it is left out' in lines


def test_text_lists_what_a_deployment_also_starts(small: Collection) -> None:
    view = answer(small, "acme/Big-MoE", "nodes=16&strategy=multi_node_tp")
    text = explanation.text(explain(small, f"{view.processes[0].exports}\n{view.processes[0].text}"), Addresses())
    (line,) = [line for line in text.splitlines() if line.startswith("The configuration also starts: ")]
    assert line.endswith(", …")
    bare = explanation.text(explain(small, "vllm serve acme/Big-MoE --max-model-len 1"), Addresses())
    assert "missing" in bare


# On the command line.


def test_the_command_line_reads_a_file_or_standard_input(tmp_path: Path) -> None:
    file = tmp_path / "serve.sh"
    file.write_text("vllm serve acme/small-8b --seed 1\n", encoding="utf-8")
    run, small = CliRunner().invoke, ["--content", str(SMALL)]
    text = run(main, ["explain", str(file), *small])
    assert (text.exit_code, text.output.splitlines()[0][:14]) == (0, "acme/Small-8B:")
    assert run(main, ["explain", *small, "--format", "json"], input="vllm serve /m").exit_code == 1
    named = run(main, ["explain", "-", *small, "--format", "json", "--recipe", "acme/Small-8B"], input="vllm serve /m")
    assert json.loads(named.output)["recipe"] == "acme/Small-8B"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("vllm serve 'm", "error: line 1: the quote ' is not closed; close it, or take it away"),
        ("vllm serve acme/Smal-8B", 'error: there is no recipe "acme/Smal-8B"; did you mean "acme/Small-8B"?'),
    ],
)
def test_the_command_line_tells_errors_in_a_sentence(text: str, message: str) -> None:
    result = CliRunner().invoke(main, ["explain", "--content", str(SMALL)], input=text)
    assert (result.exit_code, result.stderr.strip()) == (1, message)


# Our own commands are explained exactly.


def selections(collection: Collection, recipe_id: str, count: int) -> list[View]:
    """Some configurations of a recipe: the default, then random ones, the same on every run."""
    plan, chance = collection.plans[recipe_id], random.Random(recipe_id)
    views = []
    for number in range(count):
        axes = chance.sample(plan["axes"], min(len(plan["axes"]), chance.randint(1, 6))) if number else []
        asked = {axis["id"]: chance.choice(values_of(axis)) for axis in axes}
        query = canonical(plan, resolve(plan, {"asked": asked, "notes": []})["selection"])
        views.append(answer(collection, recipe_id, query))
    return views


def own_texts(view: View) -> dict[str, str]:
    """The servers of a configuration as a person would paste them."""

    def plain(process: ProcessView) -> str:
        return f"{process.exports}\n{process.text}"

    servers = [process for process in view.processes if serves(process)]
    texts = {"all": "\n\n".join(plain(process) for process in servers[:32]), "last": plain(servers[-1])}
    if servers[0].docker:
        texts["docker"] = servers[0].docker
    return {name: text for name, text in texts.items() if len(text.encode()) <= LONGEST}


def unlike(collection: Collection, recipe_id: str, count: int) -> tuple[int, list[Any], list[Any]]:
    """How many texts were explained, those that were not exact, and those that another recipe has exactly."""
    total, wrong, elsewhere = 0, [], []
    for view in selections(collection, recipe_id, count):
        for form, text in own_texts(view).items():
            found = explain(collection, text)
            total += 1
            if not found.exact:
                wrong.append((recipe_id, view.query, form, found.view.id, found.view.query, told(found)))
            elif found.view.id != recipe_id:
                elsewhere.append((recipe_id, view.query, form, found.view.id, found.view.query))
    return total, wrong, elsewhere


@pytest.mark.parametrize("recipe_id", ["acme/Big-MoE", "acme/Small-8B", "zeta/Embed-1B", "zeta/Paint"])
def test_our_own_commands_have_no_differences(small: Collection, recipe_id: str) -> None:
    total, wrong, elsewhere = unlike(small, recipe_id, 40)
    assert (wrong, elsewhere) == ([], [])
    assert total >= 80


@pytest.mark.corpus
def test_commands_of_the_corpus_have_no_differences(corpus_collection: Collection) -> None:
    """A checkpoint that two recipes serve with the same words may be named by the other one."""
    total, wrong, elsewhere = 0, [], []
    for recipe_id in corpus_collection.plans:
        found = unlike(corpus_collection, recipe_id, 5)
        total, wrong, elsewhere = total + found[0], wrong + found[1], elsewhere + found[2]
    assert total > 1500
    assert wrong == []
    for recipe_id, query, _, other_id, other_query in elsewhere:
        ours, other = (answer(corpus_collection, *pair) for pair in ((recipe_id, query), (other_id, other_query)))
        assert ours.facts["model"] == other.facts["model"]


@pytest.mark.corpus
def test_edits_of_a_command_are_found_and_nothing_else(corpus_collection: Collection) -> None:
    """Two flags more are two differences at most: a configuration may be closer, never farther."""
    for recipe_id in corpus_collection.plans:
        for view in selections(corpus_collection, recipe_id, 3):
            process = next(process for process in view.processes if serves(process))
            found = explain(corpus_collection, f"{process.exports}\n{process.text} --max-model-len 12345 --seed 7")
            assert sum(server.count for server in found.servers) <= 2, (recipe_id, view.query)
