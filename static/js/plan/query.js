// From query parameters to axes, and back. Twin of site_builder/query.py.
import { parameterOf, valuesOf } from "./plan.js";
import { settle } from "./resolve.js";

/** Every parameter that names a choice, in canonical order, and how its value is written. */
export const PARAMETERS = {
  variant: "value",
  hardware: "value",
  nodes: "number",
  strategy: "value",
  prefill_nodes: "number",
  decode_nodes: "number",
  prefill_mode: "value",
  decode_mode: "value",
  prefill_rank: "rank",
  decode_rank: "rank",
  features: "list",
  fmode: "pairs",
  kv_offload: "value",
  kv_instances: "number",
  kv_instance: "rank",
  advanced: "list",
  task: "value",
  install: "value",
  cuda: "value",
};
/** Parameters that say how to answer, not what. */
const OTHERS = ["strict", "process"];
/** Numbers that say what has to fit, and their range: the tokens of a request, and requests at once. */
export const LOADS = { context: [1, 10_000_000], concurrency: [1, 100_000] };

/** A query string as [parameters, notes]; a repeated parameter counts once, the last wins and is reported. */
export function splitQuery(text) {
  const parameters = Object.create(null);
  const notes = [];
  for (const pair of text.split("&")) {
    if (!pair) continue;
    const [name, value] = partition(pair, "=").map(decoded);
    const key = trim(name).toLowerCase();
    if (Object.hasOwn(parameters, key)) {
      notes.push(note(key, parameters[key], value, "it was given more than once; the last one counts"));
    }
    parameters[key] = value;
  }
  return [parameters, notes];
}

/** What a query asks of this plan, and notes on what it cannot mean. */
export function parseQuery(plan, parameters) {
  const asked = {};
  const notes = [];
  for (const name of Object.keys(parameters).sort(byCodePoint)) {
    if (!Object.hasOwn(PARAMETERS, name) && !Object.hasOwn(LOADS, name) && !OTHERS.includes(name)) {
      const known = Object.keys(PARAMETERS).join(", ");
      notes.push(note(name, parameters[name], "", `it is no parameter; known are ${known}`));
    }
  }
  for (const [name, axes] of byParameter(plan)) {
    const kind = PARAMETERS[name];
    const given = Object.hasOwn(parameters, name);
    const text = given ? trim(parameters[name]) : "";
    if (!text && !(name === "features" && given)) continue;
    if (!axes.length) {
      if (text && text.toLowerCase() !== "none") notes.push(note(name, text, "", "this recipe has no such choice"));
    } else if (kind === "list") readList(plan, axes, text, asked, notes);
    else if (kind === "pairs") readPairs(axes, text, asked, notes);
    else if (kind === "value") readValue(axes[0], text, asked, notes);
    else readNumber(axes[0], text, asked, notes);
  }
  return { asked, notes };
}

/** What has to fit, of what a query names, as [numbers, notes]; a number out of range is clamped. */
export function readLoads(parameters) {
  const found = {};
  const notes = [];
  for (const [name, [low, high]] of Object.entries(LOADS)) {
    const text = trim(parameters[name] ?? "");
    if (!text) continue;
    if (!/^-?[0-9]{1,9}$/.test(text)) notes.push(note(name, text, "", `it is not a whole number from ${low} to ${high}`));
    else {
      found[name] = Math.max(low, Math.min(Number(text), high));
      if (found[name] !== Number(text)) notes.push(note(name, text, String(found[name]), `it goes from ${low} to ${high}`));
    }
  }
  return [found, notes];
}

/** The query string of a selection: only what differs from the default, in the order of PARAMETERS. */
export function canonical(plan, selection) {
  const differing = new Set();
  const before = {};
  for (const axis of plan.axes) {
    if (axis.id in selection) {
      if (settle(axis, before, {}) !== selection[axis.id]) differing.add(axis.id);
      before[axis.id] = selection[axis.id];
    }
  }
  const pairs = [];
  for (const [name, every] of byParameter(plan)) {
    const axes = every.filter((axis) => axis.id in selection);
    if (axes.some((axis) => differing.has(axis.id))) {
      pairs.push(`${name}=${escape(spelled(PARAMETERS[name], axes, selection, differing))}`);
    }
  }
  return pairs.join("&");
}

/** A selection by parameter name: numbers as numbers, lists as lists, modes as a map. */
export function configuration(plan, selection) {
  const values = {};
  for (const [name, axes] of byParameter(plan)) {
    const kind = PARAMETERS[name];
    const present = axes.filter((axis) => axis.id in selection);
    if (kind === "list") {
      values[name] = present.filter((axis) => selection[axis.id] === "on").map((axis) => axis.member);
    } else if (kind === "pairs" && axes.length) {
      values[name] = Object.fromEntries(present.map((axis) => [axis.member, selection[axis.id]]));
    } else if (present.length) {
      const value = selection[present[0].id];
      values[name] = kind === "number" || kind === "rank" ? Number(value) : value;
    }
  }
  return values;
}

/** The axes that have to be asked for to get a selection back: what its canonical query says. */
export function askedOf(plan, selection) {
  return parseQuery(plan, splitQuery(canonical(plan, selection))[0]).asked;
}

function byParameter(plan) {
  const found = new Map(Object.keys(PARAMETERS).map((name) => [name, []]));
  for (const axis of plan.axes) found.get(parameterOf(axis)).push(axis);
  return found;
}

function spelled(kind, axes, selection, differing) {
  if (kind === "list") {
    const on = axes.filter((axis) => selection[axis.id] === "on");
    return on.map((axis) => axis.member).join(",") || "none";
  }
  if (kind === "pairs") {
    const changed = axes.filter((axis) => differing.has(axis.id));
    return changed.map((axis) => `${axis.member}:${selection[axis.id]}`).join(",");
  }
  return selection[axes[0].id];
}

/** Percent-decoding with a plus as space. What is no escape stays; bytes that are no text become U+FFFD. */
function decoded(text) {
  return text.replaceAll("+", " ").replace(/(?:%[0-9A-Fa-f]{2})+/g, (escapes) => {
    const bytes = Uint8Array.from(escapes.slice(1).split("%"), (digits) => parseInt(digits, 16));
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  });
}

/** Percent-encoding with a space as plus; commas and colons stay readable. */
function escape(text) {
  return encodeURIComponent(text)
    .replace(/[!'()*]/g, (character) => "%" + character.charCodeAt(0).toString(16).toUpperCase())
    .replace(/%20/g, "+")
    .replace(/%2C/g, ",")
    .replace(/%3A/g, ":");
}

function note(parameter, requested, used, reason) {
  return { parameter, requested, used, reason };
}

function readValue(axis, text, asked, notes) {
  const found = same(text, valuesOf(axis));
  if (found === undefined) notes.push(note(parameterOf(axis), text, "", unknown(valuesOf(axis))));
  else asked[axis.id] = found;
}

function readNumber(axis, text, asked, notes) {
  const name = parameterOf(axis);
  const numbers = valuesOf(axis).map(Number);
  const low = Math.min(...numbers);
  const high = Math.max(...numbers);
  if (!/^-?[0-9]{1,9}$/.test(text)) {
    notes.push(note(name, text, "", `it is not a whole number from ${low} to ${high}`));
    return;
  }
  const number = Number(text);
  const kept =
    PARAMETERS[name] === "rank" && !numbers.includes(number) ? low : Math.max(low, Math.min(number, high));
  if (kept !== number) notes.push(note(name, text, String(kept), `it goes from ${low} to ${high}`));
  asked[axis.id] = String(kept);
}

function readList(plan, axes, text, asked, notes) {
  const members = new Map(axes.map((axis) => [axis.member, axis.id]));
  const named = [];
  for (const name of names(text)) {
    const found = same(name, [...members.keys()]);
    if (found === undefined) {
      if (name.toLowerCase() !== "none") notes.push(note(parameterOf(axes[0]), name, "", unknown([...members.keys()])));
      continue;
    }
    const rival = rivalOf(plan, members.get(found), named);
    if (rival !== undefined) {
      const earlier = [...members].find(([, id]) => id === rival)[0];
      notes.push(note(parameterOf(axes[0]), found, "off", `${earlier} was named first and excludes it`));
    } else named.push(members.get(found));
  }
  for (const id of members.values()) asked[id] = named.includes(id) ? "on" : "off";
}

function rivalOf(plan, axisId, named) {
  const group = plan.exclusive.find((candidates) => candidates.includes(axisId));
  return group && named.find((other) => group.includes(other) && other !== axisId);
}

function readPairs(axes, text, asked, notes) {
  const members = new Map(axes.map((axis) => [axis.member, axis]));
  const parameter = parameterOf(axes[0]);
  for (const pair of names(text)) {
    const [name, value] = partition(pair, ":");
    const member = same(trim(name), [...members.keys()]);
    if (member === undefined) {
      notes.push(note(parameter, pair, "", unknown([...members.keys()])));
      continue;
    }
    const axis = members.get(member);
    const found = same(trim(value), valuesOf(axis));
    if (found === undefined) {
      notes.push(note(parameter, pair, "", unknown(valuesOf(axis).map((mode) => `${member}:${mode}`))));
    } else asked[axis.id] = found;
  }
}

function names(text) {
  return text.split(",").map(trim).filter((name) => name);
}

function same(text, known) {
  return known.find((name) => name.toLowerCase() === text.toLowerCase());
}

function unknown(known) {
  return `it is not known here; known are ${known.join(", ")}`;
}

function partition(text, separator) {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

/** Without the white space around it, which in Python has the separators of ASCII too, and not U+FEFF. */
export function trim(text) {
  return text.replace(/^(?:[^\S\uFEFF]|[\x1C-\x1F\x85])+|(?:[^\S\uFEFF]|[\x1C-\x1F\x85])+$/g, "");
}

function byCodePoint(one, other) {
  const [left, right] = [[...one], [...other]];
  for (let index = 0; index < Math.min(left.length, right.length); index += 1) {
    const difference = left[index].codePointAt(0) - right[index].codePointAt(0);
    if (difference) return difference;
  }
  return left.length - right.length;
}
