"""Manifests for Kubernetes: a Deployment for one node, a LeaderWorkerSet for several; a Service before either."""

from __future__ import annotations

import re
from typing import Any

from site_builder.compiler.images import kind_of
from site_builder.compiler.targets import gpu_resource
from site_builder.errors import CannotExport
from site_builder.render.exports.chosen import Container, container, gpus_of, header, only_server, placeholder_notes
from site_builder.render.exports.yaml_text import yaml_text
from site_builder.shell import export_text, written
from site_builder.views import ProcessView, View

#: What the leader's address is called in commands, and in a LeaderWorkerSet.
_HEAD, _LEADER, _INDEX = "HEAD_IP", "LWS_LEADER_ADDRESS", "LWS_WORKER_INDEX"
_VARIABLE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
#: A checkpoint is loaded before the server answers: an hour is waited for it.
_PERIOD_SECONDS, _FAILURES = 10, 360
_CACHE = "/root/.cache/huggingface"

Manifest = dict[str, Any]


def render(view: View) -> str:
    """The manifests. Raises CannotExport for pools, stores, companions and hardware without a known resource."""
    name = slug(view)
    if view.deploy_type == "multi_node" and not view.has_store:
        documents = _several_nodes(view, name)
    else:
        documents = _one_node(view, name)
    return yaml_text(header(view, *_notes(view, name, documents[0]["kind"])), *documents)


def slug(view: View) -> str:
    """The name of the recipe as Kubernetes takes it: letters, digits and dashes, at most 50."""
    return (re.sub(r"[^a-z0-9]+", "-", view.id.split("/", 1)[1].lower()).strip("-") or "model")[:50].rstrip("-")


def _notes(view: View, name: str, kind: str) -> list[str]:
    notes = [
        "Needs: a PersistentVolumeClaim hf-cache for checkpoints; a Secret hf-token with HF_TOKEN"
        + ("." if view.facts.get("gated") else " where the checkpoint asks for one."),
    ]
    if kind == "LeaderWorkerSet":
        notes.append("Needs: the LeaderWorkerSet controller (leaderworkerset.sigs.k8s.io).")
    left = _left_open(view)
    if left:
        notes += [f"Needs: a ConfigMap {name}-settings with", *placeholder_notes(view, left)]
    return notes


def _left_open(view: View) -> list[str]:
    """Placeholders that neither Kubernetes nor a Secret fills."""
    return [entry.name for entry in view.placeholders if entry.name not in (_HEAD, "HF_TOKEN", "~")]


def _one_node(view: View, name: str) -> list[Manifest]:
    process = only_server(view, "a Deployment", _instead(view))
    found = container(process)
    main: Manifest = {"name": "vllm", "image": found.image}
    if found.entrypoint:
        main["command"] = found.entrypoint
    main["args"] = [_expanded(word) for word in found.words]
    main |= _container(view, process, found)
    main["env"] += [{"name": key, "value": _expanded(value)} for key, value in process.command["env"].items()]
    spec = _pod(view, found, main)
    labels = {"app": name}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": 1,
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }
    return [deployment, _service(name, labels, process.command["port"])]


def _several_nodes(view: View, name: str) -> list[Manifest]:
    head, *workers = [process for process in view.processes if process.command["role"] in ("head", "worker")]
    if len(workers) + 1 != len(view.processes):
        raise CannotExport("a LeaderWorkerSet has no place for companions", "the .sh form")
    leader, worker = _script_pod(view, head, []), _script_pod(view, workers[0], _ranks(head, workers))
    labels = {"app": name, "role": "leader"}
    group = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": name},
        "spec": {
            "replicas": 1,
            "leaderWorkerTemplate": {
                "size": view.nodes,
                "restartPolicy": "RecreateGroupOnPodRestart",
                "leaderTemplate": {"metadata": {"labels": labels}, "spec": leader},
                "workerTemplate": {"metadata": {"labels": {"app": name, "role": "worker"}}, "spec": worker},
            },
        },
    }
    # The controller makes a headless service with the name of the set, and finds the leader by it: that name is taken.
    return [group, _service(f"{name}-leader", labels, head.command["port"])]


def _script_pod(view: View, process: ProcessView, ranks: list[tuple[int, str]]) -> Manifest:
    """A pod that runs the command in a shell, which fills in the leader's address and the rank."""
    found = container(process)
    lines, sums = [list(line) for line in process.command["lines"]], []
    for place, each in ranks:
        flag = lines[place][0]
        variable = re.sub(r"[^A-Z0-9]+", "_", flag.upper()).strip("_")
        sums.append(f"{variable}=$(({each}))")
        lines[place][-1] = f"${variable}"
    setup = [f"{_HEAD}=${_LEADER}", *sums, export_text(process.command["env"])]
    script = "\n".join([*(line for line in setup if line), f"exec {written(lines, 2)}"])
    main: Manifest = {"name": "vllm", "image": found.image, "command": ["bash", "-c"], "args": [script]}
    return _pod(view, found, main | _container(view, process, found))


def _ranks(head: ProcessView, workers: list[ProcessView]) -> list[tuple[int, str]]:
    """Which lines of the first worker's command depend on its rank, and how: rank times a number, plus one."""
    first = workers[0].command["lines"]
    rank, other = (2, workers[1]) if len(workers) > 1 else (0, head)
    values = {line[0]: line[-1] for line in other.command["lines"][1:]}
    found = []
    for place, line in enumerate(first[1:], start=1):
        value = values.get(line[0], line[-1])
        if len(line) == 2 and value != line[-1] and value.isdigit() and line[-1].isdigit():
            step = (int(value) - int(line[-1])) // (rank - 1)
            base = int(line[-1]) - step
            found.append((place, _INDEX + (f" * {step}" if step != 1 else "") + (f" + {base}" if base else "")))
    return found


def _container(view: View, process: ProcessView, found: Container) -> Manifest:
    """What the container has besides its command."""
    resource = gpu_resource(kind_of(view.hardware))
    if resource is None:
        raise CannotExport(f"it is not known how Kubernetes hands out {view.hardware.display_name}", "the .sh form")
    source = f"{slug(view)}-settings"
    settings = [
        {"name": name, "valueFrom": {"configMapKeyRef": {"name": source, "key": name}}} for name in _left_open(view)
    ]
    token = {"secretKeyRef": {"name": "hf-token", "key": "HF_TOKEN", "optional": not view.facts.get("gated")}}
    more: Manifest = {"env": [{"name": "HF_TOKEN", "valueFrom": token}, *settings]}
    if process.command["role"] in ("serve", "head"):
        more |= _answering(int(process.command["port"]))
    if resource:
        more["resources"] = {"limits": {resource: str(gpus_of(view, process.command, view.nodes))}}
    if "seccomp=unconfined" in found.values("--security-opt"):
        more["securityContext"] = {"seccompProfile": {"type": "Unconfined"}}
    mounts = [{"name": "shm", "mountPath": "/dev/shm"}, {"name": "cache", "mountPath": _CACHE}]
    more["volumeMounts"] = mounts + [
        {"name": f"local{number}", "mountPath": path, "readOnly": True} for number, path in enumerate(_local(found))
    ]
    return more


def _answering(port: int) -> Manifest:
    health = {"httpGet": {"path": "/health", "port": port}}
    return {
        "ports": [{"name": "http", "containerPort": port}],
        "startupProbe": {**health, "periodSeconds": _PERIOD_SECONDS, "failureThreshold": _FAILURES},
        "readinessProbe": {**health, "periodSeconds": 5},
        "livenessProbe": {**health, "periodSeconds": _PERIOD_SECONDS, "failureThreshold": 3},
    }


def _local(found: Container) -> list[str]:
    """Folders of the node that hold a local checkpoint."""
    return [value.split(":")[0] for value in found.values("-v") if value.endswith(":ro") and value.startswith("/")]


def _pod(view: View, found: Container, main: Manifest) -> Manifest:
    volumes: list[Manifest] = [
        {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "16Gi"}},
        {"name": "cache", "persistentVolumeClaim": {"claimName": "hf-cache"}},
    ]
    volumes += [{"name": f"local{number}", "hostPath": {"path": path}} for number, path in enumerate(_local(found))]
    return {"containers": [main], "volumes": volumes}


def _service(name: str, labels: dict[str, str], port: str) -> Manifest:
    ports = [{"name": "http", "port": int(port), "targetPort": "http"}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"selector": labels, "ports": ports},
    }


def _expanded(word: str) -> str:
    """A word in which Kubernetes finds the placeholders: ``$NAME`` is ``$(NAME)`` there, and ``$$(`` is ``$(``."""
    return _VARIABLE.sub(r"$(\1)", word.replace("$(", "$$("))


def _instead(view: View) -> str:
    if view.deploy_type == "pd_cluster":
        return "the .dynamo.yaml form on NVIDIA hardware, or the .compose.yaml form of each host (process=)"
    return "the .sh form of each process (process=)"
