"""The file that ``new`` writes: a recipe that passes ``check`` and explains itself."""

from __future__ import annotations

import datetime

_TEMPLATE = """\
# A recipe for {org}/{repo}. Every key is described in docs/recipe-format.md; delete what you do not need.
meta:
  title: "{repo}"
  provider: "{org}"
  description: "One sentence: what the model is and what it is good at"
  date_added: {today}
  date_updated: {today}
  tasks:
    - text  # text, multimodal, omni or embedding
  hardware:
    h200: supported  # verified once somebody has run it there

model:
  model_id: "{org}/{repo}"
  min_vllm_version: "0.26.0"
  architecture: dense  # or moe
  parameter_count: "8B"
  context_length: 131072
  # base_args:  # what every command of this model needs; one flag or value an item
  #   - "--trust-remote-code"

# features:  # what a person can switch on and off
#   tool_calling:
#     description: "What it does, in one line"
#     args:
#       - "--enable-auto-tool-choice"
#       - "--tool-call-parser"
#       - "hermes"

variants:
  default:
    precision: bf16
    vram_minimum_gb: 20  # GB across the whole replica: parameters × bytes × 1.2
  # fp8:  # another checkpoint of the same model
  #   model_id: "{org}/{repo}-FP8"
  #   precision: fp8
  #   vram_minimum_gb: 10

compatible_strategies:
  - single_node_tp

guide: |
  ## Overview

  What the model is for, and what to know before serving it.
"""


def recipe_template(org: str, repo: str) -> str:
    """The text of a new recipe file."""
    return _TEMPLATE.format(org=org, repo=repo, today=datetime.date.today().isoformat())
