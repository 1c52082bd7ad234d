// An answer as markdown. Twin of site_builder/render/as_markdown.py, byte for byte.
import { defaultFeatures, full } from "./answer.js";

const NAMED = [
  "task",
  "nodes",
  "fmode",
  "prefill_mode",
  "prefill_nodes",
  "decode_mode",
  "decode_nodes",
  "kv_offload",
  "kv_instances",
  "advanced",
  "cuda",
];
const NOT_LISTED = ["install", "prefill_rank", "decode_rank", "kv_instance"];

export function asMarkdown(view) {
  return `${[...lines(view)].join("\n").replace(/\n+$/, "")}\n`;
}

function* lines(view) {
  const { sheet } = view;
  yield `# ${view.derivedFrom ?? view.id} — vLLM serving recipe\n`;
  if (sheet.markdown.description) yield `> ${sheet.markdown.description}\n`;
  yield `${configuration(view)}\n`;
  for (const entry of view.adjustments) yield `- ${adjustmentText(entry)}`;
  if (view.adjustments.length) yield "";
  yield `- Page with the command builder: ${full(sheet, view.id, view.query)}`;
  yield `- This configuration as JSON: ${full(sheet, `${view.id}.json`, view.query)}\n`;
  yield "The commands below are for exactly this configuration; they outrank any command in the guide.\n";
  yield* others(view);
  yield* install(view);
  yield* serve(view);
  yield "## Try it\n";
  for (const entry of view.requests) {
    yield `${entry.title}:\n`;
    yield block(entry.text);
  }
  yield* fit(view);
  if (sheet.markdown.guide) {
    yield "## Guide\n";
    yield "> Background. Its commands are examples and may be for another configuration; take those under Serve.\n";
    yield sheet.markdown.guide;
  }
}

function adjustmentText({ parameter, requested, used, reason }) {
  return `Asked for \`${parameter}=${requested}\`, ${used ? `using \`${used}\`` : "ignored"}: ${reason}.`;
}

function configuration(view) {
  const { data, selection, sheet } = view;
  const named = view.configuration;
  const hardware = data.hardware[selection.hardware];
  const parts = [`hardware \`${selection.hardware}\` (${hardware.gpus}× ${hardware.name})`];
  if (selection.strategy) parts.push(`strategy \`${selection.strategy}\` (${sheet.strategies[selection.strategy].name})`);
  parts.push(`variant \`${selection.variant}\` (${data.variants[selection.variant].name})`);
  if ("strategy" in named) parts.push(`features ${coded(named.features) || "none"}`);
  for (const parameter of NAMED) {
    const value = named[parameter];
    const asked = `&${view.query}`.includes(`&${parameter}=`) || parameter === "task" || parameter === "fmode";
    if (isSaid(value) && (asked || (parameter === "nodes" && value > 1))) parts.push(`${parameter} ${spelled(value)}`);
  }
  return `Configuration: ${parts.join(" · ")}`;
}

function isSaid(value) {
  return Boolean(value) && (typeof value !== "object" || Object.keys(value).length > 0);
}

function spelled(value) {
  if (Array.isArray(value)) return coded(value);
  return typeof value === "object" ? coded(Object.entries(value).map((pair) => pair.join(":"))) : `\`${value}\``;
}

function coded(names) {
  return names.map((name) => `\`${name}\``).join(", ");
}

function* others(view) {
  yield "## Other configurations\n";
  yield "Ask this address again with other values in its query string; the page takes the same ones. A value that does" +
    " not exist or does not fit is replaced by a default, and a line above says so.\n";
  for (const [parameter, values] of Object.entries(view.onOffer)) {
    if (!NOT_LISTED.includes(parameter)) yield `- \`${parameter}\`: ${valuesOf(view, parameter, values)}`;
  }
  yield "";
}

function valuesOf(view, parameter, values) {
  if (!Array.isArray(values)) {
    const pairs = Object.entries(values).flatMap(([key, modes]) => modes.map((mode) => `${key}:${mode}`));
    return `comma-separated list of ${coded(pairs)}`;
  }
  const names = values.map(String);
  if (names.length > 2 && names.every((name) => /^[0-9]+$/.test(name))) {
    return `\`${names[0]}\` to \`${names[names.length - 1]}\``;
  }
  if (parameter === "features") {
    return `comma-separated list of ${coded(names)} (default: ${coded(defaultFeatures(view)) || "none"})`;
  }
  if (parameter === "advanced") return `comma-separated list of ${coded(names)} (default: none)`;
  if (parameter === "strategy" && names.some((name) => view.sheet.strategies[name].several)) {
    return `${coded(names)} (multi-node strategies also need \`nodes=<n>\`)`;
  }
  return coded(names);
}

function* install(view) {
  const { facts } = view;
  const { pip, docker, hidden } = view.sheet.install;
  yield "## Install\n";
  if (facts.min_vllm_version) yield `Requires vLLM >= ${facts.min_vllm_version}.\n`;
  for (const note of [pip, docker]) {
    if (note) yield `${note.trim().split(/\s+/).join(" ")}\n`;
  }
  if (facts.pip) yield block(facts.pip);
  if (facts.image && !hidden) yield `Docker image: \`${facts.image}\`\n`;
  for (const { command, note, optional } of view.dependencies) {
    yield `${optional ? "Optional" : "Also needed"}${note ? ` (${note})` : ""}:\n`;
    yield block(command.trim());
  }
}

function* serve(view) {
  yield "## Serve\n";
  for (const [index, entry] of view.processes.entries()) {
    if (view.processes.length > 1) yield `### ${index + 1}. ${entry.title}\n`;
    for (const file of entry.command.files) {
      yield `Write this to \`${file.path}\` first:\n`;
      yield block(file.text, "json");
    }
    yield block(entry.exports ? `${entry.exports}\n\n${entry.text}` : entry.text);
    if (entry.docker) {
      yield "Docker equivalent:\n";
      yield block(entry.docker);
    }
  }
  if (view.placeholders.length) {
    yield "Fill in before you run this:\n";
    for (const [name, description] of view.placeholders) {
      yield `- \`${name === "~" ? name : `$${name}`}\`${description ? `: ${description}` : ""}`;
    }
    yield "";
  }
}

function* fit(view) {
  yield "## Fit\n";
  if (view.floor) {
    const enough = "enough to load the weights; the context you can hold depends on what is left";
    const verdict = view.floor > view.available ? "not enough" : enough;
    yield `The published floor of this variant is ${view.floor} GB across the replica;` +
      ` ${view.where} has ${view.available} GB: ${verdict}.\n`;
  } else yield "No memory floor is published for this variant.\n";
  yield `${view.estimate.join("\n")}\n`;
  yield "## Evidence\n";
  yield `${view.data.hardware[view.selection.hardware].evidence}\n`;
}

/** A fenced block whose fence is longer than any in the text. */
function block(text, language = "bash") {
  let fence = "```";
  while (text.includes(fence)) fence += "`";
  return `${fence}${language}\n${text}\n${fence}\n`;
}
