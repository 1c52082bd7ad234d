"""Exports for tools: each says the same command, is valid where it can be checked, or refuses with a reason."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import kubernetes_validate
import pytest
import yaml
from jsonschema import Draft7Validator, Draft202012Validator

from site_builder.cli import main
from site_builder.collection import Collection
from site_builder.compiler.targets import typed
from site_builder.errors import CannotExport
from site_builder.render.as_html import Theme
from site_builder.render.exports import EXPORTS
from site_builder.site import SiteContext
from site_builder.urls import Addresses
from site_builder.views import View, answer
from tests.conftest import ROOT
from tests.helpers import SMALL, answered, running
from tests.test_cli import run

BIG = "acme/Big-MoE"
#: Deployments of the small catalog: one node of each brand, several nodes, pools, a store.
QUERIES = {
    "one node": (BIG, "hardware=h200"),
    "one node of AMD": (BIG, "hardware=mi355x"),
    "docker by another entry": ("zeta/Paint", ""),
    "tensor parallel over nodes": (BIG, "hardware=h200&nodes=3&strategy=multi_node_tp"),
    "data parallel over nodes": (BIG, "hardware=h200&nodes=4&strategy=multi_node_dep"),
    "pools": (BIG, "strategy=pd_cluster&hardware=h200&prefill_nodes=2"),
    "a store": (BIG, "hardware=h200&kv_offload=kv_store_distributed_mooncake&kv_instances=2"),
}


@functools.cache
def validator(folder: Path, name: str) -> Any:
    read = json.loads((folder / name).read_text(encoding="utf-8"))
    return Draft7Validator(read) if "draft-07" in read.get("$schema", "") else Draft202012Validator(read)


@pytest.fixture(scope="session")
def schemas() -> Path:
    """The shared schemas of the targets."""
    folder = Path(os.environ.get("RECIPES_CORPUS", ROOT.parent / "shared" / "corpus")).parent / "facts" / "schemas"
    if not folder.is_dir():
        pytest.skip("the shared schemas are not here")
    return folder


def export(view: View, suffix: str) -> str:
    return next(target for target in EXPORTS if target.suffix == suffix).render(view)


def view_of(small: Collection, name: str, more: str = "") -> View:
    recipe, query = QUERIES[name]
    view = answer(small, recipe, f"{query}&{more}" if more else query)
    assert view.adjustments == []
    return view


def converted(config: Mapping[str, Any]) -> list[list[str]]:
    """The flags that vLLM makes of a configuration file: by its rules a truth value is a flag alone, a list several
    values, a map JSON. What is no flag is the model."""
    lines = []
    for key, value in config.items():
        assert value is not None
        assert value is not False
        if value is True:
            lines.append([f"--{key}"])
        elif isinstance(value, list):
            lines.append([f"--{key}", *map(str, value)])
        else:
            lines.append([f"--{key}", json.dumps(value) if isinstance(value, dict) else str(value)])
    return lines


def meaning(lines: list[list[str]], collection: Collection) -> list[tuple[str, str]]:
    """Flags with their values, in any order, whatever their spelling."""
    found = []
    for line in lines:
        name, _, value = line[0].partition("=")
        flag = None if name.startswith("--") else collection.grammar.find(name)
        name = f"{flag.name}{name[name.find('.') :] if '.' in name else ''}" if flag else name
        values = [value, *line[1:]] if value else line[1:]
        found.append((name, json.dumps([typed(one) for one in values], sort_keys=True)))
    return sorted(found)


def assert_config_says_the_command(view: View) -> None:
    process = next(entry for entry in view.processes if entry.id == view.process or entry.command["argv"])
    config = yaml.safe_load(export(view, "config.yaml"))
    assert config.pop("model") == process.command["lines"][0][-1]
    assert meaning(converted(config), view.collection) == meaning(process.command["lines"][1:], view.collection)


@pytest.mark.parametrize("name", [name for name in QUERIES if name != "a store"])
def test_a_config_file_says_the_command(small: Collection, name: str) -> None:
    assert_config_says_the_command(view_of(small, name))


def test_the_values_of_a_config_file_are_typed(tmp_path: Path) -> None:
    flags = [
        "--gpu-memory-utilization", "0.90", "--max-num-seqs=64", "-tp", "2", "-O3", "--no-enable-prefix-caching",
        "--served-model-name", "a", "b", "--compilation-config", '{"mode": 3, "custom_ops": ["all"]}',
        "--speculative-config.method", "mtp", "--dtype", "auto", "--revision", "1e5", "--tokenizer-mode", "true",
    ]  # fmt: skip
    view = answered(tmp_path, "", model={"model_id": "acme/Test", "base_args": flags})
    config = yaml.safe_load(export(view, "config.yaml"))
    assert {key: config[key] for key in config if key not in ("model", "tensor-parallel-size")} == {
        "gpu-memory-utilization": 0.9,
        "max-num-seqs": 64,
        **{key: config[key] for key in ("tp", "O3") if key in config},
        **({"optimization-level": 3} if "optimization-level" in config else {}),
        "no-enable-prefix-caching": True,
        "served-model-name": ["a", "b"],
        "compilation-config": {"mode": 3, "custom_ops": ["all"]},
        "speculative-config.method": "mtp",
        "dtype": "auto",
        "revision": "1e5",
        "tokenizer-mode": "true",
    }


def test_what_vllm_does_not_expand_is_told(small: Collection) -> None:
    text = export(view_of(small, "tensor parallel over nodes", "process=worker-2"), "config.yaml")
    assert "node-rank: 2" in text
    assert "# vLLM reads no variables here; put in their place:\n#   HEAD_IP: address of the first node" in text


def test_an_environment_can_be_read_by_a_shell(small: Collection, tmp_path: Path) -> None:
    view = view_of(small, "tensor parallel over nodes")
    file = tmp_path / "x.env"
    file.write_text(export(view, "env"))
    script = f'IFACE_NAME=eth7; set -a; . "{file}"; env'
    said = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout
    expected = {name: value.replace("$IFACE_NAME", "eth7") for name, value in view.processes[0].command["env"].items()}
    assert expected
    assert expected.items() <= dict(line.split("=", 1) for line in said.splitlines() if "=" in line).items()


STUB = '#!/usr/bin/env bash\nprintf "%s\\0" "${0##*/}" "$@" > "$STUB_OUT"\n'


def received(script: str, folder: Path, env: Mapping[str, str]) -> list[str]:
    """The words that a stub of vLLM gets from a script."""
    stubs = folder / "bin"
    stubs.mkdir(exist_ok=True)
    for name in ("vllm", "vllm-router"):
        (stubs / name).write_text(STUB)
        (stubs / name).chmod(0o755)
    file, out = folder / "run.sh", folder / "out"
    file.write_text(script)
    subprocess.run(["bash", "-n", str(file)], check=True)
    known = {"PATH": f"{stubs}:{os.environ['PATH']}", "STUB_OUT": str(out), "HOME": str(folder), **env}
    subprocess.run(["bash", str(file)], check=True, env=known, cwd=folder, capture_output=True)
    return out.read_bytes().decode().split("\0")[:-1]


@pytest.mark.parametrize("name", QUERIES)
def test_a_script_hands_vllm_exactly_the_words(small: Collection, tmp_path: Path, name: str) -> None:
    for process in view_of(small, name).processes:
        if not process.command["argv"] or process.command["argv"][0] != "vllm":
            continue
        view = view_of(small, name, f"process={process.id}")
        env = {entry.name: f"at-{entry.name}" for entry in view.placeholders if entry.name != "~"}
        argv = process.command["argv"]
        for key, value in sorted(env.items(), key=lambda pair: -len(pair[0])):
            argv = [word.replace(f"${key}", value) for word in argv]
        home = str(tmp_path)
        argv = [home + word[1:] if word.startswith("~/") else word for word in argv]
        assert received(export(view, "sh"), tmp_path, env) == argv


def test_a_script_of_one_process_asks_for_its_own_variables_only(small: Collection) -> None:
    asked = {name: export(view_of(small, "pools", f"process={name}"), "sh") for name in ("decode-0", "router")}
    assert "ROUTER_PORT" not in asked["decode-0"]
    assert "PREFILL_NODE_1" not in asked["decode-0"]
    assert "PREFILL_NODE_2" in asked["router"]
    assert "exec vllm serve" not in asked["router"]


def compose_problems(schemas: Path, document: Any) -> list[str]:
    return [error.message[:200] for error in validator(schemas, "compose-spec.json").iter_errors(document)]


def test_a_compose_file_is_the_docker_command(small: Collection, schemas: Path) -> None:
    view = view_of(small, "one node")
    document = yaml.safe_load(export(view, "compose.yaml"))
    service = document["services"]["vllm"]
    argv = view.processes[0].docker_argv or []
    assert service["command"] == argv[argv.index(service["image"]) + 1 :]
    assert service["ports"] == ["8000:8000"]
    assert service["ipc"] == "host"
    assert service["deploy"]["resources"]["reservations"]["devices"][0]["driver"] == "nvidia"
    assert compose_problems(schemas, document) == []
    assert compose_problems(schemas, {**document, "services": {"vllm": {**service, "gpu": 1}}}) != []


def test_a_compose_file_for_amd_passes_the_devices(small: Collection, schemas: Path) -> None:
    service = yaml.safe_load(export(view_of(small, "one node of AMD"), "compose.yaml"))["services"]["vllm"]
    assert service["devices"] == ["/dev/kfd", "/dev/dri"]
    assert (service["security_opt"], service["group_add"]) == (["seccomp=unconfined"], ["video"])
    assert "deploy" not in service


def test_each_host_has_a_compose_file(small: Collection, schemas: Path) -> None:
    text = export(view_of(small, "pools", "process=decode-0"), "compose.yaml")
    document = yaml.safe_load(text)
    assert "process= prefill-0, prefill-1, router" in text
    assert "#   PREFILL_NODE_1: address of prefill node 1" in text or "DECODE_NODE_1" in text
    assert document["services"]["vllm"]["network_mode"] == "host"
    assert "ports" not in document["services"]["vllm"]
    assert compose_problems(schemas, document) == []


def test_a_compose_file_writes_the_files_that_a_process_reads(small: Collection, schemas: Path) -> None:
    view = view_of(small, "a store", "process=serve-2-0")
    served = next(process for process in view.processes if process.id == view.process)
    document = yaml.safe_load(export(view, "compose.yaml"))
    assert compose_problems(schemas, document) == []
    service = document["services"]["vllm"]
    assert service["configs"] == [{"source": "file1", "target": "${MOONCAKE_CONFIG_PATH}"}]
    content = json.loads(
        document["configs"]["file1"]["content"].replace("${", "$").replace('}"', '"').replace("}:", ":")
    )
    assert content.keys() == json.loads(served.command["files"][0]["text"]).keys()


def kubernetes_documents(view: View) -> list[Any]:
    return list(yaml.safe_load_all(export(view, "k8s.yaml")))


def pod_problems(schemas: Path, document: Any) -> list[str]:
    found = validator(schemas, "leaderworkerset-v1.json").iter_errors(document)
    return [error.message[:200] for error in found]


@pytest.mark.parametrize("name", ["one node", "one node of AMD"])
def test_one_node_is_a_deployment_with_a_service(small: Collection, name: str) -> None:
    view = view_of(small, name)
    deployment, service = kubernetes_documents(view)
    for document in (deployment, service):
        kubernetes_validate.validate(document, "1.33", strict=True)
    pod = deployment["spec"]["template"]["spec"]
    main = pod["containers"][0]
    argv = view.processes[0].docker_argv or []
    assert main["args"] == argv[argv.index(main["image"]) + 1 :]
    resource = "amd.com/gpu" if view.hardware.brand == "AMD" else "nvidia.com/gpu"
    assert main["resources"] == {"limits": {resource: "8"}}
    assert main["startupProbe"]["httpGet"] == {"path": "/health", "port": 8000}
    assert {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "16Gi"}} in pod["volumes"]
    assert service["spec"]["selector"] == deployment["spec"]["template"]["metadata"]["labels"]


def test_a_wrong_manifest_is_noticed(small: Collection) -> None:
    deployment, _ = kubernetes_documents(view_of(small, "one node"))
    deployment["spec"]["template"]["spec"]["containers"][0]["gpus"] = 8
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(deployment, "1.33", strict=True)


@pytest.mark.parametrize("name", ["tensor parallel over nodes", "data parallel over nodes"])
def test_each_pod_of_a_group_runs_the_command_of_its_rank(small: Collection, tmp_path: Path, name: str) -> None:
    view = view_of(small, name)
    group, service = kubernetes_documents(view)
    kubernetes_validate.validate(service, "1.33", strict=True)
    template = group["spec"]["leaderWorkerTemplate"]
    assert template["size"] == view.nodes
    for rank, process in enumerate(view.processes):
        pod = template["workerTemplate" if rank else "leaderTemplate"]["spec"]["containers"][0]
        assert pod["command"] == ["bash", "-c"]
        env = {"LWS_LEADER_ADDRESS": "leader.local", "LWS_WORKER_INDEX": str(rank), "IFACE_NAME": "eth0"}
        expected = [word.replace("$HEAD_IP", "leader.local") for word in process.command["argv"]]
        assert received(pod["args"][0], tmp_path, env) == expected


def test_the_service_of_a_group_leaves_the_name_of_the_group_to_its_controller(small: Collection) -> None:
    group, service = kubernetes_documents(view_of(small, "tensor parallel over nodes"))
    assert (group["metadata"]["name"], service["metadata"]["name"]) == ("big-moe", "big-moe-leader")


def gpus(view: View) -> dict[str, str]:
    """The GPUs of the pod of a deployment on one node."""
    container = kubernetes_documents(view)[0]["spec"]["template"]["spec"]["containers"][0]
    return dict(container["resources"]["limits"])


@pytest.mark.parametrize(
    ("flags", "count"), [(["-tp", "4"], "4"), (["--tensor-parallel-size=2"], "2"), (["-tp", "2", "-dp", "2"], "4")]
)
def test_a_pod_gets_the_gpus_of_its_sizes_in_any_spelling(tmp_path: Path, flags: list[str], count: str) -> None:
    view = answered(tmp_path, "hardware=h200", strategy_overrides={"single_node_tp": {"extra_args": flags}})
    assert gpus(view) == {"nvidia.com/gpu": count}


def test_an_omni_server_gets_every_gpu_of_its_node(small: Collection) -> None:
    assert gpus(answer(small, "zeta/Paint", "hardware=h200")) == {"nvidia.com/gpu": "8"}


def test_a_group_is_a_leader_worker_set(small: Collection, schemas: Path) -> None:
    for name in ("tensor parallel over nodes", "data parallel over nodes"):
        group, _ = kubernetes_documents(view_of(small, name))
        assert pod_problems(schemas, group) == []
        group["spec"]["leaderWorkerTemplate"]["size"] = "two"
        assert pod_problems(schemas, group) != []


def dynamo_problems(schemas: Path, document: Any) -> list[str]:
    found = validator(schemas, "dynamographdeployment-v1beta1.derived.json").iter_errors(document)
    return [f"{error.json_path}: {error.message[:200]}" for error in found]


def test_a_dynamo_graph_has_a_front_end_and_workers(small: Collection, schemas: Path) -> None:
    graph = yaml.safe_load(export(view_of(small, "tensor parallel over nodes"), "dynamo.yaml"))
    assert dynamo_problems(schemas, graph) == []
    front, worker = graph["spec"]["components"]
    assert (front["type"], worker["type"], worker["multinode"]) == ("frontend", "worker", {"nodeCount": 3})
    words = worker["podTemplate"]["spec"]["containers"][0]["args"]
    assert words[:2] == ["--model", "acme/Big-MoE"]
    assert "--dyn-tool-call-parser" in words
    assert {"--nnodes", "--node-rank", "--master-addr", "--enable-auto-tool-choice"} & set(words) == set()


def test_the_pools_of_a_graph_are_prefill_and_decode(small: Collection, schemas: Path) -> None:
    graph = yaml.safe_load(export(view_of(small, "pools"), "dynamo.yaml"))
    assert dynamo_problems(schemas, graph) == []
    pools = {part["type"]: part for part in graph["spec"]["components"]}
    assert pools.keys() == {"frontend", "prefill", "decode"}
    assert pools["prefill"]["multinode"] == {"nodeCount": 2}
    for role in ("prefill", "decode"):
        container = pools[role]["podTemplate"]["spec"]["containers"][0]
        assert container["args"][2:4] == ["--disaggregation-mode", role]
        assert not any("$" in word for word in container["args"])
        assert not any("$" in entry["value"] for entry in container.get("env", []))


def test_a_flag_that_holds_its_value_keeps_it_in_dynamo(tmp_path: Path) -> None:
    model = {"model_id": "acme/Test", "base_args": ["--tool-call-parser=hermes"]}
    graph = yaml.safe_load(export(answered(tmp_path, "hardware=h200", model=model), "dynamo.yaml"))
    words = graph["spec"]["components"][1]["podTemplate"]["spec"]["containers"][0]["args"]
    assert words == ["--model", "acme/Test", "--dyn-tool-call-parser", "hermes", "--tensor-parallel-size", "1"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"docker_image": "vllm/vllm-openai:nightly"}, "needs the build vllm/vllm-openai:nightly"),
        ({"docker_image": "vllm/vllm-openai:acme7"}, "needs the build vllm/vllm-openai:acme7"),
        ({"docker_image": "vllm/vllm-openai:v0.33.0"}, "needs the build vllm/vllm-openai:v0.33.0"),
        ({"base_args": ["--reasoning-parser-plugin", "p.py"]}, "Dynamo has no word for --reasoning-parser-plugin"),
    ],
)
def test_dynamo_runs_releases_up_to_its_own_only(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    view = answered(tmp_path, "hardware=h200", model={"model_id": "acme/Test", **changes})
    with pytest.raises(CannotExport, match=words):
        export(view, "dynamo.yaml")


def test_dynamo_serves_no_embeddings(small: Collection) -> None:
    with pytest.raises(CannotExport, match="not embeddings"):
        export(answer(small, "zeta/Embed-1B", ""), "dynamo.yaml")


REFUSED = [
    ("one node of AMD", "dynamo.yaml", "Dynamo runs on NVIDIA hardware, not on MI355X; use the .k8s.yaml or"),
    ("docker by another entry", "dynamo.yaml", "Dynamo does not start vLLM-Omni; use"),
    ("a store", "dynamo.yaml", "this key-value store has processes that Dynamo does not start; use"),
    ("a store", "k8s.yaml", "a Deployment holds one server, and this deployment has several processes"),
    ("pools", "k8s.yaml", "use the .dynamo.yaml form on NVIDIA hardware, or the .compose.yaml form of each host"),
]


@pytest.mark.parametrize(("name", "suffix", "words"), REFUSED)
def test_what_a_target_cannot_say_is_refused_with_a_way_out(
    small: Collection, name: str, suffix: str, words: str
) -> None:
    with pytest.raises(CannotExport) as error:
        export(view_of(small, name), suffix)
    assert words in str(error.value)
    with running(SiteContext(small, Addresses(), Theme())) as client:
        recipe, query = QUERIES[name]
        response = client.get(f"/{recipe}.{suffix}?{query}")
        assert (response.status_code, words in response.text) == (409, True)
        assert response.headers["content-type"] == "text/plain; charset=utf-8"
        page = client.get(response.request.url, headers={"accept": "text/html,*/*"})
        assert (page.status_code, page.headers["content-type"]) == (409, "text/html; charset=utf-8")
        assert words in page.text
    shown = run("show", recipe, "--content", str(SMALL), "--query", query, "--format", suffix)
    assert (shown.exit_code, words in shown.stderr, shown.stdout) == (1, True, "")


def test_a_process_that_is_not_there_is_an_adjustment(small: Collection) -> None:
    view = answer(small, BIG, "nodes=2&strategy=multi_node_tp&process=worker-9")
    assert [(entry["parameter"], entry["requested"], entry["used"]) for entry in view.adjustments] == [
        ("process", "worker-9", "")
    ]
    assert "it has head-0, worker-1" in view.adjustments[0]["reason"]
    assert "process" not in view.query
    assert export(view, "config.yaml").count("node-rank: 0") == 1


def test_a_client_of_the_public_api_gets_the_same_config_file(small: Collection) -> None:
    """vLLM's converter of recipes reads ``argv``, ``env``, ``docker_image`` and ``node_count`` of a prepared file."""
    converted_hardware: list[str] = []
    with running(SiteContext(small, Addresses(), Theme())) as client:
        for recipe in (BIG, "acme/Small-8B", "zeta/Embed-1B"):
            for hardware in client.get(f"/{recipe}.json").json()["choices"]["hardware"]:
                command = client.get(f"/{recipe}/hw/{hardware}.json").json()["recommended_command"]
                assert {"env", "docker_image", "node_count"} <= command.keys()
                if command["node_count"] > 1:
                    continue  # the client looks at commands for one node only
                converted_hardware.append(hardware)
                ours = yaml.safe_load(client.get(f"/{recipe}.config.yaml?hardware={hardware}").text)
                assert client_config(command["argv"]) == ours
                env = client.get(f"/{recipe}.env?hardware={hardware}").text.splitlines()
                assert [line.split("=")[0] for line in env if not line.startswith("#")] == list(command["env"])
    assert len(converted_hardware) > 8


def client_config(argv: list[str]) -> dict[str, Any]:
    """A configuration file from an argv, as a client writes it that knows no flag."""
    assert argv[:2] == ["vllm", "serve"]
    config: dict[str, Any] = {"model": argv[2]}
    key = ""
    for word in argv[3:]:
        if word.startswith("--"):
            key = word[2:]
            config[key] = True
        else:
            value = typed(word)
            config[key] = value if config[key] is True else [*_listed(config[key]), value]
    return config


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def corpus_views(collection: Collection) -> Iterator[View]:
    """Every recipe on all hardware by all strategies that are open there."""
    for recipe_id in collection.plans:
        for hardware in answer(collection, recipe_id, "").offered_hardware:
            for strategy in answer(collection, recipe_id, f"hardware={hardware}").on_offer.get("strategy", [""]):
                needed = collection.needed_for(recipe_id, strategy, hardware) if strategy else []
                yield answer(collection, recipe_id, "&".join([f"hardware={hardware}", *needed]))


@pytest.mark.corpus
def test_every_export_of_the_corpus_is_valid_or_refused(corpus_collection: Collection, schemas: Path) -> None:
    counts: Counter[tuple[str, str]] = Counter()
    for view in corpus_views(corpus_collection):
        for target in EXPORTS:
            try:
                text = target.render(view)
            except CannotExport:
                counts[target.suffix, "refused"] += 1
                continue
            counts[target.suffix, "valid"] += 1
            where = f"{view.id}?{view.query}"
            if target.suffix == "config.yaml":
                assert_config_says_the_command(view)
            elif target.suffix == "compose.yaml":
                assert compose_problems(schemas, yaml.load(text, yaml.CSafeLoader)) == [], where
            elif target.suffix == "dynamo.yaml":
                assert dynamo_problems(schemas, yaml.load(text, yaml.CSafeLoader)) == [], where
            elif target.suffix == "k8s.yaml":
                for document in yaml.load_all(text, yaml.CSafeLoader):
                    if document["kind"] == "LeaderWorkerSet":
                        assert pod_problems(schemas, document) == [], where
                    elif counts[target.suffix, "valid"] % 20 == 1:  # each builds its validator anew
                        kubernetes_validate.validate(document, "1.33", strict=True)
    print(dict(counts))
    for target in EXPORTS:
        assert counts[target.suffix, "valid"] > 300, target.suffix


@pytest.mark.corpus
def test_every_script_of_the_corpus_is_sound_shell(corpus_collection: Collection, tmp_path: Path) -> None:
    files = []
    for number, view in enumerate(corpus_views(corpus_collection)):
        file = tmp_path / f"{number}.sh"
        file.write_text(export(view, "sh"), encoding="utf-8")
        files.append(str(file))
    bash = shutil.which("bash")
    assert bash
    script = 'for file in "$@"; do bash -n "$file" || exit 1; done'
    subprocess.run([bash, "-c", script, "check", *files], check=True)
    assert len(files) > 1000


def test_show_knows_every_export() -> None:
    for target in EXPORTS:
        result = run("show", "acme/Small-8B", "--content", str(SMALL), "--format", target.suffix)
        assert result.exit_code == 0
        assert result.stdout.startswith(("# acme/Small-8B", "#!/usr/bin/env bash\n# acme/Small-8B"))
    assert main.name == "main"


def test_every_export_answers(small: Collection) -> None:
    with running(SiteContext(small, Addresses(), Theme())) as client:
        links = client.get("/acme/Small-8B.json?hardware=h200").json()["links"]
        for target in EXPORTS:
            response: httpx.Response = client.get(links[target.key])
            assert (response.status_code, response.headers["content-type"]) == (200, target.media_type)
            assert response.text == target.render(answer(small, "acme/Small-8B", "hardware=h200"))
