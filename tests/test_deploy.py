"""The files of ``deploy/`` are what the hosts that read them accept, and name options and addresses that exist."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import click
import kubernetes_validate
import pytest
import yaml

from site_builder.assets import ROOT
from site_builder.cli import main
from site_builder.running import GRACE

DEPLOY = ROOT / "deploy"


def test_the_manifests_are_valid_and_closed() -> None:
    documents = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8")))
    for document in documents:
        kubernetes_validate.validate(document, "1.33", strict=True)
    found = {document["kind"]: document for document in documents}
    assert {"Deployment", "Service", "HorizontalPodAutoscaler"} <= found.keys()
    pod = found["Deployment"]["spec"]["template"]["spec"]
    (server,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert server["securityContext"]["readOnlyRootFilesystem"] is True
    assert {server[f"{name}Probe"]["httpGet"]["path"] for name in ("startup", "readiness", "liveness")} == {"/healthz"}
    stop = int(server["lifecycle"]["preStop"]["exec"]["command"][-1])
    assert pod["terminationGracePeriodSeconds"] > GRACE + stop


def test_the_commands_of_the_image_have_options_that_exist() -> None:
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    served = json.loads(re.findall(r"^CMD (\[.*\])$", text, re.MULTILINE)[-1])
    built = next(line for line in text.splitlines() if "build.py build" in line).split("build.py ")[1].split()
    assert text.index("USER 10001") < text.index("CMD [")
    for name, *words in (served[2:], built):
        command = main.commands[name]
        assert command.make_context(name, words, resilient_parsing=False) is not None
    with pytest.raises(click.NoSuchOption):
        main.commands["build"].make_context("build", ["--squeeze"])


def test_nginx_reads_its_configuration() -> None:
    nginx = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if nginx is None:
        pytest.skip("nginx is not installed")
    done = subprocess.run(
        [nginx, "-t", "-c", str(DEPLOY / "nginx.conf"), "-p", str(ROOT)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
