// From a plan and a selection to commands. Twin of site_builder/evaluate.py.
import { holds } from "./plan.js";

/** The scalars of a selection, for example `model`, `image` and `min_vllm_version`. */
export function factsOf(plan, selection) {
  const facts = {};
  for (const layer of plan.facts) {
    if (holds(layer.when, selection)) Object.assign(facts, layer.facts);
  }
  return facts;
}

/** The commands of a selection, in the order in which they are started. */
export function evaluate(plan, selection) {
  const facts = factsOf(plan, selection);
  const commands = [];
  for (const process of plan.processes) {
    if (!holds(process.when, selection)) continue;
    for (const place of places(process, selection)) {
      const values = { ...selection, gpus: String(facts.gpus ?? 1), ...place };
      commands.push(commandOf(plan, process, values, facts));
    }
  }
  return commands;
}

/** The ranks and instances of a process: every combination of its counted axes, the first axis slowest. */
function places(process, selection) {
  let found = [{}];
  for (const [axis, counter] of process.each ?? []) {
    const count = Number(selection[counter] ?? "1");
    found = found.flatMap((place) =>
      Array.from({ length: count }, (_, index) => ({ ...place, [axis]: String(index) })),
    );
  }
  return found;
}

function commandOf(plan, process, values, facts) {
  const rank = values.rank === undefined ? null : Number(values.rank);
  const role = rank && process.follower ? process.follower : process.role;
  values.role = role;
  const command = {
    role,
    rank,
    instance: values.instance === undefined ? null : Number(values.instance),
    name: process.name ?? "",
    origin: originOf(process.origin ?? "", values),
    text: process.text ?? null,
    indent: 0,
    lines: [],
    argv: [],
    env: {},
    port: "",
    because: [],
    files: (process.files ?? []).filter((file) => holds(file.when, values)),
  };
  if (process.program !== undefined) fill(plan, process.program, values, facts, command);
  return command;
}

/** Write the words, the variables and where each comes from into a command. */
function fill(plan, name, values, facts, command) {
  const program = plan.programs[name];
  const flags = new Map();
  const env = new Map();
  for (const layer of program.layers) {
    if (!holds(layer.when, values)) continue;
    const origin = originOf(layer.origin, values);
    for (const argument of layer.args ?? []) place(flags, argument, values, facts, origin);
    for (const [variable, token] of Object.entries(layer.env ?? {})) {
      if (token === null) env.delete(variable);
      else env.set(variable, [word(token, values, facts), origin]);
    }
  }
  const start = program.start.map((token) => word(token, values, facts));
  command.indent = program.indent;
  command.lines = [start, ...[...flags.values()].map(([words]) => words)];
  command.argv = command.lines.flat();
  command.env = Object.fromEntries([...env].map(([variable, [value]]) => [variable, value]));
  const port = flags.get(plan.port.key);
  command.port = port ? port[0][port[0].length - 1].split("=").pop() : plan.port.default;
  command.because = [
    ...[...flags.values()].map(([words, origin]) => ({ flag: words[0], value: words.slice(1).join(" "), origin })),
    ...[...env].map(([variable, [value, origin]]) => ({ flag: variable, value, origin })),
  ];
}

/** Add one argument at the end; an earlier one with its key goes. One without a key stands beside the others. */
function place(flags, argument, values, facts, origin) {
  const keyed = Array.isArray(argument) ? { key: argument[0], tokens: argument } : argument;
  const count = keyed.each === undefined ? 1 : Number(values[keyed.each]);
  for (let index = 0; index < count; index += 1) {
    const key = keyed.key ?? `#${flags.size}`;
    flags.delete(key);
    const known = { ...values, each: String(index) };
    flags.set(key, [keyed.tokens.map((token) => word(token, known, facts)), origin]);
  }
}

/** One word of a command with its numbers and facts filled in. */
export function word(token, values, facts) {
  if (typeof token === "string") return token;
  return token
    .map((part) => {
      if (typeof part === "string") return part;
      return part.of ? String(number(part, values)) : String(facts[part.fact] ?? "");
    })
    .join("");
}

/** The number that a scaled token stands for in a selection. */
export function number(scaled, values) {
  const product = scaled.of.reduce((result, name) => result * Number(values[name]), 1);
  return product * (scaled.times ?? 1) + (scaled.plus ?? 0);
}

/** The place that a layer names; an axis in braces stands for its value. */
function originOf(origin, values) {
  return origin.replace(/\{(\w+)\}/g, (_, axis) => values[axis] ?? "");
}
