// From a query to what an answer says. Twin of answer and View in site_builder/views.py, and of view_of_address in
// site_builder/site.py.
import { evaluate, factsOf } from "../../static/js/plan/evaluate.js";
import { axisOf, parameterOf } from "../../static/js/plan/plan.js";
import { PARAMETERS, canonical, configuration, parseQuery, readLoads, splitQuery, trim } from "../../static/js/plan/query.js";
import { onOffer, pick, resolve } from "../../static/js/plan/resolve.js";
import { dockerLines, exportText, shellText, written } from "../../static/js/plan/shell.js";
import * as view from "../../static/js/view.js";

/** A sheet in the configuration of an address {id, variant, hardware, strategy} and its query. */
export function answer(sheet, address, query) {
  const { plan, data } = sheet;
  const [given, repeated] = splitQuery([...(query ? [query] : []), ...fixed(plan, address)].join("&"));
  const parameters = address.variant ? { ...given, variant: address.variant } : given;
  const parsed = parseQuery(plan, parameters);
  const [loads, wrong] = readLoads(parameters);
  const settled = resolve(plan, { asked: parsed.asked, notes: [...repeated, ...parsed.notes, ...wrong] });
  const { selection } = settled;
  const facts = factsOf(plan, selection);
  const commands = evaluate(plan, selection);
  const processes = view.processes(commands).map((process) => formsOf(process, facts));
  const adjustments = settled.adjustments.map((entry) => withUsed(plan, selection, entry));
  const process = trim(parameters.process ?? "").toLowerCase();
  if (process && !processes.some((entry) => entry.id === process)) {
    const reason = `this deployment has no such process; it has ${processes.map((entry) => entry.id).join(", ")}`;
    adjustments.push({ parameter: "process", requested: process, used: "", reason });
  }
  return {
    sheet,
    plan,
    data,
    id: data.id,
    derivedFrom: address.variant ? address.id : null,
    selection,
    adjustments,
    strict: ["1", "true", "yes"].includes((parameters.strict ?? "").toLowerCase()),
    query: [canonical(plan, selection), ...Object.entries(loads).map((pair) => pair.join("="))].filter(Boolean).join("&"),
    configuration: configuration(plan, selection),
    facts,
    commands,
    processes,
    hasStore: data.stores.includes(selection.kv_offload),
    dependencies: view.dependencies(data, selection, commands),
    placeholders: view.placeholders(data, facts, commands),
    requests: view.requests(plan, data, selection, facts, commands),
    onOffer: offered(plan, selection),
    ...view.facts(plan, data, selection, facts, commands, loads),
  };
}

/** What the path of an address asks; a strategy brings the nodes that it needs. */
function fixed(plan, { hardware, strategy }) {
  const pairs = hardware === undefined ? [] : [`hardware=${hardware}`];
  if (strategy === undefined) return pairs;
  if (!axisOf(plan, "strategy")?.options.includes(strategy)) return [...pairs, `strategy=${strategy}`];
  const wanted = pick(plan, hardware ? { hardware } : {}, ["strategy", strategy]) ?? { strategy };
  const needed = Object.entries(wanted).filter(([name]) => name === "nodes" || name === "strategy");
  return [...pairs, ...needed.map(([name, value]) => `${name}=${value}`)];
}

function formsOf(process, facts) {
  const { command } = process;
  const lines = command.role === "router" ? null : dockerLines(command, facts);
  return {
    ...process,
    text: shellText(command),
    exports: exportText(command.env),
    docker: lines && written(lines, 2),
    dockerArgv: lines && lines.flat(),
  };
}

/** A note on a value that could not be read does not know what is used instead: the selection does. */
function withUsed(plan, selection, entry) {
  const axis = plan.axes.find((one) => parameterOf(one) === entry.parameter && one.member === undefined);
  return entry.used || !axis ? entry : { ...entry, used: selection[axis.id] ?? "" };
}

/** What is open now, for each parameter: values, names of lists, and the modes of each feature. */
function offered(plan, selection) {
  const found = {};
  for (const axis of plan.axes) {
    const values = onOffer(axis, selection);
    const name = parameterOf(axis);
    const kind = PARAMETERS[name];
    if (kind === "list") {
      found[name] ??= [];
      if (values.includes("on")) found[name].push(axis.member);
    } else if (kind === "pairs") {
      if (values.length) (found[name] ??= {})[axis.member] = values;
    } else if (values.length) {
      found[name] = kind === "value" ? values : values.map(Number);
    }
  }
  return found;
}

/** The features that are on when none are named, with the other choices as they are. */
export function defaultFeatures({ plan, query }) {
  const { asked } = parseQuery(plan, splitQuery(query)[0]);
  const kept = Object.entries(asked).filter(([axis]) => !axis.startsWith("feature.") && !axis.startsWith("mode."));
  const settled = resolve(plan, { asked: Object.fromEntries(kept), notes: [] });
  return configuration(plan, settled.selection).features;
}

/** An address under the base of the site. */
export function full(sheet, path, query = "") {
  return `${sheet.base}/${path}${query ? `?${query}` : ""}`;
}
