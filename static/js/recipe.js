// The builder of a recipe page: a click settles the plan anew and draws what changed. The address is the state.
import { Panel, byId, copyButton, idle } from "./panel.js";
import { evaluate, factsOf } from "./plan/evaluate.js";
import { isOpen } from "./plan/plan.js";
import { askedOf, canonical, parseQuery, readLoads, splitQuery } from "./plan/query.js";
import { pick, resolve, settle } from "./plan/resolve.js";

const read = (id) => JSON.parse(byId(id).textContent);
const plan = read("plan");
const data = read("page-data");
const panel = new Panel(plan, data);
const axes = new Map(plan.axes.map((axis) => [axis.id, axis]));
let selection = {};
let query = "";

/** The selection of an address; what has to fit goes to the panel. */
function settled(text) {
  const [parameters, notes] = splitQuery(text);
  [panel.loads] = readLoads(parameters);
  const asked = parseQuery(plan, parameters);
  return resolve(plan, { asked: asked.asked, notes: [...notes, ...asked.notes] }).selection;
}

function draw(next, anew = true) {
  drawCommand(next, anew);
  if (anew) drawRows();
}

function drawCommand(next, anew = true) {
  selection = next;
  panel.draw(next, factsOf(plan, next), evaluate(plan, next), anew);
}

const rows = [...document.querySelectorAll("[data-row]")];
const options = [...document.querySelectorAll("a[data-axis]")];
let drawn = 0;

/** Rows and options as they are with the selection; what a closed option would take is worked out when there is time. */
function drawRows() {
  query = canonical(plan, selection);
  byId("reset").hidden = !query;
  for (const row of rows) {
    const axis = axes.get(row.dataset.row);
    const { within } = row.dataset;
    if (axis) row.hidden = within ? !within.split(" ").includes(selection[axis.id]) : !(axis.id in selection);
  }
  for (const note of document.querySelectorAll("[data-note]")) note.hidden = note.dataset.note !== selection.hardware;
  drawRecommended();
  drawForms();
  const closed = options.filter((option) => !drawOption(option));
  for (const text of document.querySelectorAll("[data-chosen]")) {
    const { chosen } = text.dataset;
    text.textContent = data.descriptions[chosen]?.[selection[chosen]] ?? "";
  }
  drawCheckpoint();
  drawn += 1;
  const now = drawn;
  const asked = askedOf(plan, selection);
  const some = (deadline) => {
    if (now !== drawn) return;
    while (closed.length && (!deadline || deadline.timeRemaining() > 2)) drawClosed(closed.pop(), asked);
    if (closed.length) idle(some);
  };
  idle(some);
}

const menu = byId("exports");

/** The same configuration in other forms, exports of the open process; a file host has them for the default only. */
function drawForms() {
  if (data.prepared) {
    menu.hidden = query !== "";
    return;
  }
  for (const form of document.querySelectorAll("#forms a[data-form]")) form.search = withLoads(query);
  const process = panel.shown === panel.list[0].id ? "" : `process=${panel.shown}`;
  for (const link of menu.querySelectorAll("a")) link.search = [query, process].filter(Boolean).join("&");
  document.querySelector("#compare a").search = query && `b=${encodeURIComponent(query)}`;
}

/** Links to what is served; a model in a folder of the machine has none. */
function drawCheckpoint() {
  const { model } = factsOf(plan, selection);
  for (const link of document.querySelectorAll("a[data-checkpoint]")) {
    link.href = `https://huggingface.co/${model}`;
    if (link.textContent.includes("/")) link.textContent = model;
    (link.closest(".chosen") ?? link).hidden = model.startsWith("/");
  }
}

/** The strategy that would be taken without asking. */
function drawRecommended() {
  const axis = axes.get("strategy");
  const best = axis && settle(axis, selection, {});
  for (const option of options) {
    const mark = option.querySelector(".recommended");
    if (mark) mark.hidden = option.dataset.value !== best;
  }
}

const isSwitch = (option) => option.getAttribute("role") === "switch";
const valuesOf = (option) => (isSwitch(option) ? ["on"] : option.dataset.value.split(" "));

/** The values that an option stands for, in the order in which it takes them. Twin of choices._nearest. */
function nearest(option) {
  const axis = axes.get(option.dataset.axis);
  const now = data.facets[selection.task] ?? {};
  const distance = (value) => {
    const differing = Object.entries(data.facets[value] ?? {}).filter(([part, one]) => now[part] !== one).length;
    return differing + (isOpen(axis, value, selection) ? 0 : 100);
  };
  const values = valuesOf(option);
  return values.length > 1 ? values.sort((one, other) => distance(one) - distance(other)) : values;
}

/** What has to be asked for to get an option; null where nothing gets it. */
function reach(option, asked) {
  for (const value of nearest(option)) {
    const found = pick(plan, asked, [option.dataset.axis, value]);
    if (found !== null) return found;
  }
  return null;
}

/** One option; whether it is open now. */
function drawOption(option) {
  const axis = axes.get(option.dataset.axis);
  const values = valuesOf(option);
  const chosen = values.includes(selection[axis.id]);
  option.classList.toggle("selected", chosen);
  if (isSwitch(option)) option.setAttribute("aria-checked", String(chosen));
  else if (chosen) option.setAttribute("aria-current", "true");
  else option.removeAttribute("aria-current");
  if (!chosen && !values.some((value) => isOpen(axis, value, selection))) return false;
  option.classList.remove("moves", "closed");
  option.removeAttribute("aria-disabled");
  if (!option.hasAttribute("href")) option.href = data.path;
  if (axis.spans) option.parentElement.hidden = false;
  return true;
}

/** An option that is not open: reachable by moving other choices, or not at all. */
function drawClosed(option, asked) {
  const axis = axes.get(option.dataset.axis);
  const reachable = axis.id in selection && reach(option, asked) !== null;
  option.classList.toggle("moves", reachable);
  option.classList.toggle("closed", !reachable);
  if (reachable) {
    option.removeAttribute("aria-disabled");
    if (!option.hasAttribute("href")) option.href = data.path;
  } else {
    option.setAttribute("aria-disabled", "true");
    option.removeAttribute("href");
  }
  if (axis.spans) option.parentElement.hidden = !reachable;
}

/** What a choice moved besides itself, for people who do not see it. */
function say(before, axisId) {
  const moved = Object.keys(selection).filter((id) => id !== axisId && before[id] !== undefined && before[id] !== selection[id]);
  const words = moved.map((id) => `${axes.get(id).member ?? id} is now ${selection[id]}`);
  byId("said").textContent = [byId("summary").textContent, ...words].join("; ");
}

function address(text) {
  const all = withLoads(text);
  return data.path + (all ? `?${all}` : "");
}

/** A query with what has to fit. */
function withLoads(text) {
  return [text, ...Object.entries(panel.loads).map((pair) => pair.join("="))].filter(Boolean).join("&");
}

/** What a click on an option asks for; null where nothing gets it. */
function wanted(option) {
  const asked = askedOf(plan, selection);
  const { axis } = option.dataset;
  if (isSwitch(option)) return pick(plan, asked, [axis, selection[axis] === "on" ? "off" : "on"]);
  return valuesOf(option).includes(selection[axis]) ? asked : reach(option, asked);
}

/** Let an option lead to what a click on it gives, for those who open it elsewhere. */
function aim(event) {
  const option = event.target.closest?.("a[data-axis]");
  const asked = option?.hasAttribute("href") ? wanted(option) : null;
  if (asked) option.href = address(canonical(plan, resolve(plan, { asked, notes: [] }).selection));
}

function choose(option) {
  const axis = axes.get(option.dataset.axis);
  const asked = wanted(option);
  if (asked === null) return;
  const before = selection;
  const next = resolve(plan, { asked, notes: [] }).selection;
  // First the person sees the command and the choice; all that takes longer comes in the frames after.
  drawCommand(next);
  for (const one of options) if (one.dataset.axis === axis.id) drawOption(one);
  byId("adjustments")?.remove();
  byId("remembered").hidden = true;
  requestAnimationFrame(() =>
    setTimeout(() => {
      const where = address(canonical(plan, next));
      if (selection === next) drawRows();
      if (where !== location.pathname + location.search) history.pushState(null, "", where);
      if (axis.id === "hardware") remember(next.hardware);
      say(before, axis.id);
    }),
  );
}

function remember(hardware) {
  try {
    localStorage.setItem("hardware", hardware);
  } catch {
    // Nothing is remembered then.
  }
}

/** The hardware that a person picked on an earlier page, unless the address asks for something. */
function recall() {
  let hardware = null;
  try {
    hardware = localStorage.getItem("hardware");
  } catch {
    return;
  }
  if (location.search || !hardware || hardware === selection.hardware || !data.hardware[hardware]) return;
  const asked = pick(plan, {}, ["hardware", hardware]);
  if (asked === null) return;
  draw(resolve(plan, { asked, notes: [] }).selection);
  history.replaceState(null, "", address(query));
  const drop = document.createElement("button");
  drop.type = "button";
  drop.className = "small";
  drop.textContent = "Show the default";
  drop.addEventListener("click", () => {
    localStorage.removeItem("hardware");
    history.replaceState(null, "", data.path);
    draw(settled(""));
    byId("remembered").hidden = true;
  });
  byId("remembered").replaceChildren(`Shown for ${data.hardware[hardware].name}, which you picked before. `, drop);
  byId("remembered").hidden = false;
}

document.addEventListener("click", (event) => {
  const option = event.target.closest("a[data-axis]");
  if (!option || event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
  event.preventDefault();
  choose(option);
});
document.addEventListener("keydown", (event) => {
  const option = event.target.closest?.("a[role=switch]");
  if (option && event.key === " ") {
    event.preventDefault();
    choose(option);
  }
});
for (const event of ["click", "keydown"]) byId("tabs").addEventListener(event, drawForms);
document.addEventListener("click", (event) => {
  if (!menu.contains(event.target)) menu.open = false;
});
menu.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  menu.open = false;
  menu.firstElementChild.focus();
});
document.addEventListener("pointerover", aim);
document.addEventListener("focusin", aim);
byId("reset").addEventListener("click", (event) => {
  event.preventDefault();
  draw(settled(""));
  history.pushState(null, "", data.path);
  byId("adjustments")?.remove();
});
byId("loads").addEventListener("input", () => {
  const given = Object.fromEntries(new FormData(byId("loads")));
  [panel.loads] = readLoads({ context: given.context, concurrency: given.concurrency });
  drawCommand(selection);
  drawForms();
  history.replaceState(null, "", address(query));
});
byId("loads").addEventListener("submit", (event) => event.preventDefault());
addEventListener("popstate", () => draw(settled(location.search.slice(1))));

for (const block of document.querySelectorAll(".guide pre")) {
  const frame = document.createElement("div");
  frame.className = "block";
  block.replaceWith(frame);
  frame.append(block, copyButton("Copy", () => block.textContent));
}

if (data.prepared) {
  // The page of a file host links prepared files, where there are any.
  for (const option of options) if (!option.hasAttribute("aria-disabled")) option.href = data.path;
}
const asked = settled(location.search.slice(1));
// The server has drawn this address; a file host has only drawn the default one.
const shown = document.querySelector(".builder a[data-axis=hardware].selected")?.dataset.value;
query = canonical(plan, asked);
draw(asked, shown !== asked.hardware || byId("reset").hidden !== !query);
recall();
document.documentElement.dataset.ready = "";
