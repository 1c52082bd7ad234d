// Settling a query into a selection. Twin of site_builder/resolve.py.
import { anyHolds, axisOf, holds, isOpen, lists, openedBy, parameterOf, valuesOf } from "./plan.js";

/** Axes that only say which process is shown first. */
const RANKS = ["prefill_rank", "decode_rank", "kv_instance"];

/** The selection that a query settles on, and every adjustment that it took. */
export function resolve(plan, query) {
  const selection = {};
  const adjustments = [...query.notes];
  for (const axis of plan.axes) {
    const wanted = query.asked[axis.id];
    if (!anyHolds(axis.when, selection)) {
      if (wanted !== undefined && wasAWish(axis, wanted)) {
        adjustments.push(adjustment(axis, wanted, "", `it has no effect${blockers(plan, axis.when, selection)}`));
      }
      continue;
    }
    const value = settle(axis, selection, query.asked);
    if (value === null) continue;
    if (wanted !== undefined && value !== wanted) {
      adjustments.push(adjustment(axis, wanted, value, whyClosed(plan, axis, wanted, selection)));
    }
    selection[axis.id] = value;
  }
  return { selection, adjustments };
}

/** The value of one axis after the earlier ones are settled; null where no option is open. */
export function settle(axis, selection, asked) {
  const wanted = asked[axis.id];
  if (wanted !== undefined && isOpen(axis, wanted, selection)) return wanted;
  if (wanted !== undefined && axis.raises) {
    for (const value of valuesOf(axis)) {
      if (Number(value) > Number(wanted) && isOpen(axis, value, selection)) return value;
    }
  }
  const guide = axis.guided;
  const view = guide !== undefined && guide in asked ? { ...selection, [guide]: asked[guide] } : selection;
  for (const preference of axis.prefer ?? []) {
    const [value, when] = typeof preference === "string" ? [preference, {}] : preference;
    if (holds(when, view) && isOpen(axis, value, selection)) return value;
  }
  return valuesOf(axis).find((value) => isOpen(axis, value, selection)) ?? null;
}

/** The options that are open with what is selected, or would be after a change of the axes in `beyond`. */
export function onOffer(axis, selection) {
  const beyond = axis.beyond ?? [];
  if (!anyHolds(axis.when, selection)) return [];
  return valuesOf(axis).filter((value) => openedBy(axis, value).some((condition) => holds(condition, selection, beyond)));
}

/** What to ask so that a choice [axis, value] comes true with the fewest other changes; null if nothing does. */
export function pick(plan, asked, choice) {
  const [axisId, value] = choice;
  const axis = axisOf(plan, axisId);
  if (!axis) return null;
  for (const attempt of attempts(plan, { ...asked, [axisId]: value }, axis)) {
    if (resolve(plan, { asked: attempt, notes: [] }).selection[axisId] === value) return attempt;
  }
  return null;
}

/** The reason in an adjustment: which earlier choice closes this option, or that no choice opens it. */
export function whyClosed(plan, axis, value, selection) {
  return "it is not offered" + blockers(plan, openedBy(axis, value), selection);
}

function wasAWish(axis, wanted) {
  return wanted !== (RANKS.includes(axis.id) ? "0" : "off");
}

function adjustment(axis, requested, used, reason) {
  const spelled =
    axis.member === undefined ? requested : requested === "on" ? axis.member : `${axis.member}:${requested}`;
  return { parameter: parameterOf(axis), requested: spelled, used, reason };
}

function blockers(plan, conditions, selection) {
  if (!conditions?.length) return "";
  const blocking = conditions.map((condition) => failing(condition, selection));
  const nearest = blocking.reduce((best, next) => (size(next) < size(best) ? next : best));
  const words = Object.entries(nearest).map(([id, values]) => named(plan, id, selection) + needed(id, values));
  return " with " + words.join(" and ");
}

function needed(axisId, values) {
  if (!values.length || typeof values[0] !== "number") return "";
  return ` (it needs ${axisId}=${values[0]}${values[values.length - 1] !== values[0] ? " or more" : ""})`;
}

function named(plan, axisId, selection) {
  const axis = axisOf(plan, axisId);
  const value = selection[axisId] ?? "none";
  if (axis?.member === undefined) return `${axis ? parameterOf(axis) : axisId}=${value}`;
  return value === "on" ? `${parameterOf(axis)}=${axis.member}` : `${axis.member} ${value}`;
}

function failing(condition, selection) {
  return Object.fromEntries(Object.entries(condition).filter(([axis, values]) => !lists(values, selection[axis])));
}

function* attempts(plan, asked, axis) {
  const value = asked[axis.id];
  yield asked;
  const { selection } = resolve(plan, { asked, notes: [] });
  const blocking = [];
  for (const existence of axis.when ?? [{}]) {
    for (const condition of openedBy(axis, value)) blocking.push(failing({ ...existence, ...condition }, selection));
  }
  blocking.sort((one, other) => size(one) - size(other));
  for (const block of blocking) {
    yield Object.fromEntries(Object.entries(asked).filter(([name]) => !(name in block)));
  }
  for (const block of blocking) yield { ...asked, ...firstListed(block) };
  // A value that was asked earlier may close the moved axis in turn: only what the choice needs stays asked.
  for (const block of blocking) yield { ...firstListed(block), [axis.id]: value };
}

function firstListed(condition) {
  return Object.fromEntries(Object.entries(condition).map(([axis, values]) => [axis, String(values[0])]));
}

function size(condition) {
  return Object.keys(condition).length;
}
