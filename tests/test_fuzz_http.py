"""Requests that schemathesis makes up from the OpenAPI document: no fault of the server, no answer that it does not tell."""

from __future__ import annotations

import re
import subprocess
import sysconfig
from pathlib import Path

import pytest

from site_builder.collection import Collection
from site_builder.render.as_html import Theme
from site_builder.site import SiteContext
from site_builder.urls import Addresses
from tests.helpers import running

#: A wrong value never fails here, so what asks for a refusal of wrong values is left out.
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "response_headers_conformance",
    "unsupported_method",
    "allow_header_conformance",
)
#: Most made-up ids lead nowhere: these lead to answers.
KNOWN = """
[parameters]
"path.org" = "acme"
"path.repo" = "Big-MoE"
"path.hardware" = "h200"
"path.strategy" = "multi_node_tp"
"""


@pytest.mark.ci
@pytest.mark.parametrize(("config", "examples"), [("", 10), (KNOWN, 25)])
def test_no_made_up_request_finds_a_fault(small: Collection, tmp_path: Path, config: str, examples: int) -> None:
    (tmp_path / "schemathesis.toml").write_text(config)
    with running(SiteContext(small, Addresses(), Theme())) as client:
        address = str(client.base_url.join("/openapi.json"))
        program = str(Path(sysconfig.get_path("scripts")) / "schemathesis")
        options = ["--checks", ",".join(CHECKS), "--phases", "coverage,fuzzing", "--max-examples", str(examples)]
        result = subprocess.run(
            [program, "run", address, *options, "--seed", "1", "--continue-on-failure", "--no-color"],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=200,
        )
        assert client.get("/healthz").json()["status"] == "ok"
    assert result.returncode == 0, result.stdout[-4000:]
    generated = re.search(r"(\d+) generated, (\d+) passed", result.stdout)
    assert generated is not None
    assert generated[1] == generated[2]
    assert int(generated[1]) > 1000
