// What an answer says of a configuration: the parts of site_builder/views.py that change with a choice.
import { apartWarnings, fitOf, linesOf } from "./fit.js";
import { word } from "./plan/evaluate.js";
import { quote } from "./plan/shell.js";

const TITLES = { serve: "Serve", head: "Head node", router: "Router", kv_master: "Store coordinator", kv_store: "Store" };
const NUMBERED = {
  PREFILL_NODE: "address of prefill node ",
  DECODE_NODE: "address of decode node ",
  VLLM_INSTANCE: "address of instance ",
};

/** The commands with ids and titles, as the page lists them. */
export function processes(commands) {
  const seen = new Map();
  return commands.map((command) => {
    const parts = [command.role];
    if (command.instance !== null) parts.push(command.instance + 1);
    if (command.rank !== null) parts.push(command.rank);
    const name = parts.join("-");
    seen.set(name, (seen.get(name) ?? 0) + 1);
    return { id: seen.get(name) === 1 ? name : `${name}-${seen.get(name)}`, title: title(command), command };
  });
}

function title(command) {
  if (command.name) return command.name;
  let text = TITLES[command.role] ?? command.role;
  if (command.role === "worker") text = `Node ${command.rank}`;
  if (command.role === "prefill" || command.role === "decode") {
    text = `${command.role[0].toUpperCase()}${command.role.slice(1)} node ${(command.rank ?? 0) + 1}`;
  }
  return command.instance === null ? text : `Instance ${command.instance + 1}: ${text}`;
}

/** All nodes of the deployment, without those of routers and stores. */
function nodesOf(selection, facts) {
  if (facts.deploy_type === "pd_cluster") return Number(selection.prefill_nodes) + Number(selection.decode_nodes);
  return Number(selection.nodes ?? 1);
}

/** The summary, where it runs, what fits of `loads`, its memory in GB, and what to know before running it. */
export function facts(plan, data, selection, facts, commands, loads = {}) {
  const hardware = data.hardware[selection.hardware];
  const variant = data.variants[selection.variant];
  const floor = data.floors[selection.task]?.[selection.hardware] ?? variant.gb;
  const nodes = nodesOf(selection, facts);
  const node = `${hardware.gpus}× ${hardware.name}`;
  const smallest = Math.min(Number(selection.prefill_nodes), Number(selection.decode_nodes));
  const available = hardware.gb * (facts.deploy_type === "pd_cluster" ? smallest : nodes);
  const where = nodes > 1 ? `${node} on ${nodes} nodes` : node;
  const sizes = new Map();
  for (const command of commands) {
    const words = new Map(command.lines.slice(1).map((line) => [line[0], line[line.length - 1]]));
    for (const [flag, name] of Object.entries(plan.sizes)) {
      if (words.has(flag) && !sizes.has(name)) {
        sizes.set(name, words.get(flag) === flag ? name : `${name}=${words.get(flag)}`);
      }
    }
  }
  const warnings = [];
  if (floor > available) {
    warnings.push(
      `The weights need ${floor} GB and ${where} has ${available} GB:` +
        " take more nodes, a smaller variant or larger GPUs.",
    );
  }
  const fit = fitOf({ plan, data, selection, facts, commands, floor }, loads);
  warnings.push(...apartWarnings(fit, floor));
  if (!facts.docker) warnings.push(`There is no known docker command for ${hardware.name}.`);
  const single = facts.deploy_type === "single_node" && !data.stores.includes(selection.kv_offload);
  if (facts.deploy_type === "pd_cluster") {
    sizes.clear();
    for (const role of ["prefill", "decode"]) sizes.set(role, `${role} ${selection[`${role}_mode`].toUpperCase()}`);
  }
  return {
    summary: [nodes === 1 ? node : `${nodes} nodes of ${node}`, ...sizes.values(), variant.name].join(" · "),
    verified: hardware.verified && single ? `verified on ${hardware.name}` : "",
    warnings,
    floor,
    available,
    nodes,
    where,
    fit,
    estimate: linesOf(fit, hardware.name),
    floorText: floor ? `${floor} of ${available} GB on ${where}` : "none is published",
  };
}

/** The parts of a GPU's memory in thousandths: weights, what else vLLM takes, and the cache. Twin of Fit.bar in fit.py. */
export function bar(estimate) {
  if (!estimate) return { weights: 0, rest: 0, cache: 0 };
  const part = (bytes) => Math.max(0, Math.min(1000, Math.floor((bytes * 1000) / estimate.memory_bytes)));
  const rest = estimate.activations_bytes + estimate.other_bytes + estimate.graphs_bytes;
  return { weights: part(estimate.weights_bytes), rest: part(rest), cache: part(estimate.cache_bytes) };
}

/** The example requests of a configuration: [{title, endpoint, text}]. Twin of site_builder/requests.py. */
export function requests(plan, data, selection, facts, commands) {
  const server = commands.find((command) => command.role === "serve" || command.role === "head");
  const routed = commands.some((command) => command.role === "router");
  const host = nodesOf(selection, facts) === 1 ? "localhost" : "$HEAD_IP";
  const address = routed ? "http://$ROUTER_HOST:$ROUTER_PORT" : `http://${host}:${server?.port}`;
  const named = commands.flatMap((command) => command.lines.slice(1)).find((line) => line[0] === plan.served_name);
  const model = named?.[1] ?? facts.model;
  const inside = JSON.stringify(model).slice(1, -1).replaceAll("'", "'\\''");
  const known = { address, model: inside, word: quote(model) };
  const examples = data.requests[selection.task ?? ""];
  return (examples[selection.hardware] ?? examples[""])
    .filter((entry) => selection[entry.unless] !== "on")
    .map(({ title, endpoint, text }) => ({ title, endpoint, text: word(text, {}, known) }));
}

/** The extra packages of a configuration: those of `data.dependencies` that it needs. */
export function dependencies(data, selection, commands) {
  const { brand } = data.hardware[selection.hardware];
  const routed = commands.some((command) => command.role === "router");
  return data.dependencies
    .filter((entry) => !entry.brands?.length || entry.brands.includes(brand))
    .filter((entry) => !entry.offload || entry.offload === selection.kv_offload)
    .filter((entry) => !entry.router || routed);
}

/** Whether an extra package has to be there, and what it is for. */
export function neededFor({ optional, note }) {
  return `${optional ? "Optional" : "Also needed"}${note ? `: ${note}` : ""}`;
}

/** The variables that commands leave open, and `~`, with what to fill in: [[name, description]]. */
export function placeholders(data, facts, commands) {
  const names = new Set();
  for (const command of commands) {
    const files = command.files.map((file) => file.path + file.text);
    for (const text of [...command.argv, command.text ?? "", ...Object.values(command.env), ...files]) {
      for (const match of text.matchAll(/\$\{?([A-Za-z_][A-Za-z0-9_]*)/g)) names.add(match[1]);
    }
    if ([...command.argv, command.text ?? ""].some((word) => word.startsWith("~/"))) names.add("~");
  }
  if (facts.gated) names.add("HF_TOKEN");
  return [...names].map((name) => [name, describe(data, name)]);
}

function describe(data, name) {
  const match = /^(.*)_([0-9]+)$/.exec(name);
  if (match && NUMBERED[match[1]]) return NUMBERED[match[1]] + match[2];
  return data.placeholders[name] ?? "";
}
