// An answer as JSON. Twin of site_builder/render/as_json.py, byte for byte.
import { full } from "./answer.js";

/** JSON text that stands in the answer as it is. */
class Written {
  constructor(text) {
    this.text = text;
  }
}

export function asJson(view) {
  const { sheet, selection, facts } = view;
  const texts = sheet.json;
  const named = view.derivedFrom ? { derived_from: view.id, variant: selection.variant } : {};
  const strategy = selection.strategy ?? null;
  const first = view.commands.find((command) => command.argv.length && command.role !== "router");
  return `${write({
    schema_version: 1,
    hf_id: view.derivedFrom ?? view.id,
    meta: extended(texts.meta, named),
    configuration: { ...view.configuration, query: view.query, summary: view.summary },
    adjustments: view.adjustments,
    warnings: view.warnings,
    recommended_command: {
      hardware: selection.hardware,
      strategy,
      variant: selection.variant,
      node_count: view.nodes,
      deploy_type: view.hasStore ? "kv_store_lb" : facts.deploy_type,
      env: first?.env ?? {},
      docker_image: facts.image ?? null,
      ...commands(view),
      strategy_spec: strategy && new Written(texts.strategies[strategy]),
      hardware_profile: new Written(texts.hardware[selection.hardware]),
      ...alternatives(view),
    },
    processes: view.processes.map(process),
    placeholders: view.placeholders.map(([name, description]) => ({ name, description })),
    choices: view.onOffer,
    requests: view.requests.map(({ title, endpoint, text }) => ({ title, endpoint, command: text })),
    fit: fit(view),
    evidence: new Written(texts.evidence[selection.hardware]),
    links: links(view),
    model: extended(texts.model, { install: install(view) }),
    features: new Written(texts.features),
    opt_in_features: new Written(texts.opt_in_features),
    variants: new Written(texts.variants),
    facts: new Written(texts.facts),
    guide: sheet.guide,
  })}\n`;
}

function write(value) {
  if (value instanceof Written) return value.text;
  if (Array.isArray(value)) return `[${value.map(write).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  return `{${Object.entries(value).map(([key, one]) => `${JSON.stringify(key)}:${write(one)}`).join(",")}}`;
}

function fit({ floor, available, nodes, fit: found }) {
  return {
    floor_gb: floor || null,
    available_gb: available,
    nodes,
    context: found.context,
    concurrency: found.concurrency,
    fits: found.fits,
    unknown: found.unknown || null,
    estimate: found.estimate,
    floor_apart_percent: found.apart,
  };
}

/** A written object (of one entry or more) with more entries at its end. */
function extended(text, entries) {
  const more = write(entries).slice(1);
  return new Written(more === "}" ? text : `${text.slice(0, -1)},${more}`);
}

function links(view) {
  const suffixes = { json: "json", markdown: "md", ...view.sheet.exports };
  const forms = Object.entries(suffixes).map(([key, suffix]) => [key, full(view.sheet, `${view.id}.${suffix}`, view.query)]);
  return { page: full(view.sheet, view.id, view.query), ...Object.fromEntries(forms) };
}

function install(view) {
  const { facts, sheet } = view;
  const { pip, docker, hidden } = sheet.install;
  return {
    min_vllm_version: facts.min_vllm_version ?? null,
    pip: facts.pip ? { command: facts.pip, note: pip || null } : null,
    docker: facts.image && !hidden ? { image: facts.image, note: docker || null } : null,
    dependencies: view.dependencies.map((entry) => {
      const text = sheet.json.dependencies[view.data.dependencies.indexOf(entry)];
      return text ? new Written(text) : { command: entry.command, note: entry.note };
    }),
  };
}

/** Where the same recipe is served by another strategy, or on other hardware. */
function alternatives(view) {
  const { hardware, strategy = [] } = view.onOffer;
  const on = `&${view.query}`.includes("&hardware=") ? `/hw/${view.selection.hardware}` : "";
  const addresses = (names, folder) =>
    Object.fromEntries(names.map((name) => [name, full(view.sheet, `${view.id}${folder}/${name}.json`)]));
  return {
    alternatives: addresses(strategy.filter((name) => name !== view.selection.strategy), `${on}/strategies`),
    by_hardware: addresses(hardware, "/hw"),
  };
}

function process(entry) {
  const { command } = entry;
  return {
    id: entry.id,
    role: command.role,
    rank: command.rank,
    title: entry.title,
    command: entry.text,
    argv: command.argv.length ? command.argv : null,
    env: command.env,
    docker_command: entry.docker,
    docker_argv: entry.dockerArgv,
    files: command.files.map(({ path, text }) => ({ path, text })),
    because: command.because,
  };
}

/** The commands under the names that the public API has for each deployment. */
function commands(view) {
  const type = view.facts.deploy_type;
  if (view.hasStore && type !== "pd_cluster") return store(view);
  if (type === "pd_cluster") return pools(view);
  if (type === "multi_node") {
    const [head, ...workers] = view.processes.filter(({ command }) => ["head", "worker"].includes(command.role));
    return { ...forms(head, "head_"), ...many(workers, "worker_"), companions: companions(view) };
  }
  return { ...forms(view.processes.find(({ command }) => command.role === "serve")), companions: companions(view) };
}

function forms(entry, prefix = "") {
  return {
    [`${prefix}command`]: entry.text,
    [`${prefix}argv`]: entry.command.argv,
    [`${prefix}docker_command`]: entry.docker,
    [`${prefix}docker_argv`]: entry.dockerArgv,
  };
}

/** The first under singular names, all under plural ones. */
function many(entries, prefix) {
  return {
    ...(entries.length ? forms(entries[0], prefix) : {}),
    [`${prefix}commands`]: entries.map((entry) => entry.text),
    [`${prefix}argvs`]: entries.map((entry) => entry.command.argv),
    [`${prefix}docker_commands`]: entries.map((entry) => entry.docker),
    [`${prefix}docker_argvs`]: entries.map((entry) => entry.dockerArgv),
  };
}

function companions(view) {
  const found = view.processes.filter(({ command }) => command.role === "companion");
  return found.map((entry) => ({ label: entry.title, command: entry.text }));
}

function pools(view) {
  const { plan, selection } = view;
  const tensor = Object.keys(plan.sizes).find((flag) => plan.sizes[flag] === "TP") ?? "";
  const found = {};
  for (const role of ["prefill", "decode"]) {
    const nodes = view.processes.filter(({ command }) => command.role === role);
    const shown = nodes[Number(selection[`${role}_rank`])];
    const words = new Map(shown.command.lines.slice(1).map((line) => [line[0], line[line.length - 1]]));
    const size = words.get(tensor) ?? "";
    found[role] = {
      ...forms(shown),
      env: shown.command.env,
      nodes: nodes.length,
      parallelism: selection[`${role}_mode`],
      tp: /^[0-9]+$/.test(size) ? Number(size) : null,
    };
  }
  return { ...found, router: textOf(view, "router"), ...storeParts(view) };
}

/** A key-value store around a strategy: the first instance under `vllm_…`. */
function store(view) {
  const first = view.processes.filter(({ command }) => command.instance === 0);
  return {
    serving_strategy: view.selection.strategy ?? null,
    instances: Number(view.selection.kv_instances ?? 1),
    ...forms(first[0], "vllm_"),
    ...(first.length > 1 ? many(first.slice(1), "vllm_worker_") : {}),
    router: textOf(view, "router"),
    ...storeParts(view),
  };
}

function storeParts(view) {
  if (!view.hasStore) return {};
  const server = view.commands.find(({ role }) => role === "serve" || role === "prefill");
  const { master, config } = view.sheet.stores[view.selection.kv_offload];
  return {
    master: master === null ? null : { command: textOf(view, "kv_master"), description: master },
    store: config === null ? null : { command: textOf(view, "kv_store"), config: new Written(config) },
    mooncake_config: server.files.length ? new Written(compact(server.files[0].text)) : null,
  };
}

/** JSON text without the space between its parts. */
function compact(text) {
  return text.replace(/("(?:[^"\\]|\\.)*")|\s+/g, "$1");
}

function textOf(view, role) {
  return view.processes.find(({ command }) => command.role === role)?.text ?? null;
}
