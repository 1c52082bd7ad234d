// The plan: the compiled form of a recipe. Twin of site_builder/plan.py, which says what its parts mean.

/** The largest number of nodes or instances. */
export const LARGEST = 16;

/** Whether every axis of the condition has one of its listed values; those of `but` do not count. */
export function holds(when, selection, but = []) {
  for (const axis in when) {
    if (!lists(when[axis], selection[axis]) && !but.includes(axis)) return false;
  }
  return true;
}

/** Whether a list of a condition has a value; two whole numbers list every number between them. */
export function lists(values, value) {
  if (value === undefined || !values.length) return false;
  const low = values[0];
  const high = values[values.length - 1];
  if (typeof low === "number" && typeof high === "number") return low <= Number(value) && Number(value) <= high;
  return values.includes(value);
}

/** Whether one of the conditions holds; absent conditions always hold. */
export function anyHolds(conditions, selection) {
  return conditions === undefined || conditions.some((condition) => holds(condition, selection));
}

/** Every value that an axis can have, open or not. */
export function valuesOf(axis) {
  if (!axis.spans) return axis.options;
  const low = Math.min(...axis.spans.map((span) => span[0]));
  const high = Math.max(...axis.spans.map((span) => span[1]));
  return Array.from({ length: high - low + 1 }, (_, index) => String(low + index));
}

/** The conditions of which one must hold for a value to be open; none at all for a value that never is. */
export function openedBy(axis, value) {
  if (axis.spans) {
    const number = Number(value);
    const below = number && axis.below ? { [axis.below]: [number + 1, LARGEST] } : {};
    return axis.spans
      .filter(([low, high]) => low <= number && number <= high)
      .map(([, , when]) => ({ ...when, ...below }));
  }
  if (!axis.options.includes(value)) return [];
  return axis.open?.[value] ?? [{}];
}

/** Whether an axis can have a value with what is selected. */
export function isOpen(axis, value, selection) {
  return anyHolds(openedBy(axis, value), selection);
}

/** The axis with an id; undefined for a choice that the plan does not have. */
export function axisOf(plan, axisId) {
  return plan.axes.find((axis) => axis.id === axisId);
}

export function parameterOf(axis) {
  return axis.parameter ?? axis.id;
}
