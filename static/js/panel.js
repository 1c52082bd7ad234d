// The command panel: tabs, commands, placeholders, memory. Its structure is that of partials/commands.html.
import { dockerLines, exportText, quote, shellText } from "./plan/shell.js";
import * as view from "./view.js";

const STORED = "placeholder:";
/** How long the lines that a choice changed are marked. */
const MARKED_MS = 2500;
/** Work that may wait until nothing else is to be done. */
export const idle = window.requestIdleCallback ?? ((work) => setTimeout(work, 50));
export const byId = (id) => document.getElementById(id);

/** An element with attributes and children. */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** Titled blocks of code in place of those that an element has. */
function blocks(id, entries) {
  byId(id).replaceChildren(
    ...entries.flatMap(([title, text]) => [make("p", {}, title), make("pre", { tabindex: "0" }, make("code", {}, text))]),
  );
}

/** The text of a line, whose parts are texts and [class, text]. */
function textOf(line) {
  return line.map((part) => (typeof part === "string" ? part : part[1])).join("");
}

function lineOf(line, changed) {
  const parts = line.map((part) => (typeof part === "string" ? part : make("span", { class: part[0] }, part[1])));
  return make("span", { class: changed ? "line changed" : "line" }, ...parts, "\n");
}

/** Another text for an element, where it is another one. */
function write(id, text) {
  const element = byId(id);
  if (element.textContent !== text) element.textContent = text;
}

/** Put lines into a block of code: those at its begin and end that stay the same stay, so that little is laid out anew. */
function drawLines(code, lines, before) {
  const old = [...code.children];
  const texts = lines.map((line) => `${textOf(line)}\n`);
  const stays = (element, text) => element?.textContent === text;
  let head = 0;
  while (head < lines.length && stays(old[head], texts[head])) head += 1;
  let tail = 0;
  const most = Math.min(old.length, lines.length) - head;
  while (tail < most && stays(old[old.length - 1 - tail], texts[lines.length - 1 - tail])) tail += 1;
  for (const element of old) element.classList.remove("changed");
  for (const element of old.slice(head, old.length - tail)) element.remove();
  const fresh = lines.slice(head, lines.length - tail).map((line) => lineOf(line, before.size && !before.has(textOf(line))));
  if (tail) old[old.length - tail].before(...fresh);
  else code.append(...fresh);
  // No animation: it would paint every frame of its time, on a phone too.
  setTimeout(() => fresh.forEach((element) => element.classList.remove("changed")), MARKED_MS);
}

function same(some, others) {
  return some.length === others.length && some.every((one, index) => one === others[index]);
}

/** Let an element have exactly these children; those that are in their place are not touched. */
function place(parent, children) {
  children.forEach((child, index) => {
    if (parent.children[index] !== child) parent.insertBefore(child, parent.children[index] ?? null);
  });
  while (parent.children.length > children.length) parent.lastElementChild.remove();
}

function stored(name) {
  try {
    return localStorage.getItem(STORED + name) ?? "";
  } catch {
    return "";
  }
}

export class Panel {
  constructor(plan, data) {
    this.plan = plan;
    this.data = data;
    this.values = new Map();
    this.waiting = new Map();
    this.built = new Map();
    this.shown = "";
    this.before = new Set();
    this.draws = 0;
    const [one, all, link] = byId("actions").children;
    copies(one, () => this.text(this.current()));
    copies(all, () => this.list.map((entry) => this.text(entry)).join("\n\n"));
    copies(link, () => location.href);
    byId("tabs").addEventListener("keydown", (event) => this.key(event));
    byId("tabs").addEventListener("click", (event) => {
      const tab = event.target.closest("[role=tab]");
      if (tab) this.show(tab.id.slice(4));
    });
    // A table of origins is made when a person opens it; the event does not bubble.
    byId("processes").addEventListener("toggle", (event) => this.explain(event.target.closest(".process")), true);
  }

  /** Take over what the server drew, or draw a configuration anew and mark the lines that changed. */
  draw(selection, facts, commands, anew = true) {
    this.selection = selection;
    this.facts = facts;
    this.list = view.processes(commands);
    byId("actions").children[1].hidden = this.list.length < 2;
    if (!this.list.some((entry) => entry.id === this.shown)) this.shown = this.first();
    if (anew) this.repaint(commands);
    else this.takeOver(commands);
  }

  takeOver(commands) {
    this.list.forEach((entry, index) => {
      const [section, tab] = [byId(`process-${entry.id}`), byId(`tab-${entry.id}`)];
      this.built.set(entry.id, { key: this.shape(entry, index), section, tab });
    });
    this.fields(commands);
    this.before = new Set(this.list.flatMap((entry) => this.lines(entry).map(textOf)));
    if ([...this.values.values()].some(Boolean)) this.refill();
  }

  first() {
    const { prefill_rank: rank } = this.selection;
    return this.list.some((entry) => entry.id === `prefill-${rank}`) ? `prefill-${rank}` : this.list[0].id;
  }

  current() {
    return this.list.find((entry) => entry.id === this.shown);
  }

  repaint(commands) {
    const facts = view.facts(this.plan, this.data, this.selection, this.facts, commands, this.loads);
    write("summary", facts.summary);
    write("verified", facts.verified);
    byId("verified").hidden = !facts.verified;
    const warnings = [...byId("warnings").children];
    if (!same(warnings.map((warning) => warning.textContent), facts.warnings)) {
      byId("warnings").replaceChildren(...facts.warnings.map((text) => make("p", { class: "warning" }, text)));
    }
    const meter = byId("meter");
    meter.max = Math.max(facts.available, facts.floor);
    meter.value = facts.floor;
    write("fit-text", facts.floorText);
    this.estimate(facts);
    write("evidence", this.data.hardware[this.selection.hardware].evidence);
    this.frames(false);
    this.commands();
    this.draws += 1;
    const draw = this.draws;
    idle(() => {
      if (draw !== this.draws) return;
      this.frames(true);
      this.list.forEach((entry) => this.complete(entry));
      this.fields(commands);
      byId("pip").hidden = !this.facts.pip;
      byId("pip").firstElementChild.textContent = this.facts.pip ?? "";
      byId("image").textContent = this.facts.image ?? "";
      byId("image-line").hidden = !this.facts.image;
      const requests = view.requests(this.plan, this.data, this.selection, this.facts, commands);
      blocks("requests", requests.map((entry) => [entry.title, entry.text]));
      const needed = view.dependencies(this.data, this.selection, commands);
      blocks("dependencies", needed.map((entry) => [view.neededFor(entry), entry.command]));
    });
  }

  /** What one GPU holds, as a bar and in sentences. */
  estimate({ fit, estimate }) {
    byId("estimate").replaceChildren(...estimate.map((text) => make("p", {}, text)));
    byId("bar").toggleAttribute("hidden", !fit.estimate);
    byId("bar-key").hidden = !fit.estimate;
    let from = 0;
    for (const [name, width] of Object.entries(view.bar(fit.estimate))) {
      const part = byId(`bar-${name}`);
      part.setAttribute("x", from);
      part.setAttribute("width", width);
      from += width;
    }
    for (const name of ["context", "concurrency"]) {
      const field = byId("loads").elements[name];
      if (document.activeElement !== field) field.value = fit[name];
    }
  }

  /** A tab and a section for each process; those that stay as they are stay in place, new ones not shown may wait. */
  frames(all) {
    const several = this.list.length > 1;
    byId("tabs").hidden = !several;
    const built = new Map();
    this.list.forEach((entry, index) => {
      const key = this.shape(entry, index);
      const kept = this.built.get(entry.id);
      const known = kept?.key === key ? kept : { key, tab: this.tab(entry, index) };
      if (all || entry.id === this.shown) known.section ??= this.process(entry, index);
      built.set(entry.id, known);
    });
    this.built = built;
    const parts = [...built.values()];
    place(byId("processes"), parts.map(({ section }) => section).filter(Boolean));
    place(byId("tabs"), several ? parts.map(({ tab }) => tab) : []);
    this.mark();
  }

  /** What the structure of a section depends on. */
  shape(entry, index) {
    return JSON.stringify([index, this.list.length > 1, entry.title, entry.command.files]);
  }

  tab(entry, index) {
    const tab = make("button", { type: "button", role: "tab", id: `tab-${entry.id}`, "aria-controls": `process-${entry.id}` });
    tab.textContent = `${index + 1}. ${entry.title}`;
    return tab;
  }

  process(entry, index) {
    const section = make("section", { class: "process", id: `process-${entry.id}` });
    if (this.list.length > 1) section.append(make("h3", {}, `${index + 1}. ${entry.title}`));
    for (const file of entry.command.files) {
      section.append(
        make("p", { class: "muted" }, "Write this to ", make("code", {}, file.path), " first:"),
        make("pre", { tabindex: "0", "aria-label": file.path }, make("code", {}, file.text)),
      );
    }
    const label = `Command: ${entry.title}`;
    section.append(make("pre", { tabindex: "0", class: "command", "aria-label": label }, make("code")));
    return section;
  }

  /** The origins of the flags of a process: a closed block, or its table where it is open. */
  explain(section) {
    const entry = this.list.find((one) => `process-${one.id}` === section.id);
    let why = section.querySelector(".why");
    if (!entry?.command.because.length) why?.remove();
    else if (!why) section.append(make("details", { class: "why" }, make("summary", {}, "Why each flag is there")));
    else if (why.open) why.replaceChildren(why.firstElementChild, this.origins(entry));
  }

  origins(entry) {
    const rows = entry.command.because.map((reason) =>
      make("tr", {}, make("td", {}, make("code", {}, reason.flag)), make("td", {}, reason.origin)),
    );
    const head = make("tr", {}, make("th", { scope: "col" }, "Flag or variable"), make("th", { scope: "col" }, "Comes from"));
    const table = make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows));
    const label = `Origins of the flags: ${entry.title}`;
    return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, table);
  }

  /** The command that is shown, anew; the others wait until there is time or they are asked for. */
  commands() {
    this.waiting = new Map(this.list.map((entry) => [entry.id, this.before]));
    this.before = new Set();
    this.complete(this.current());
  }

  /** Put the lines of a command that waits, and the origins of its flags, into its section. */
  complete(entry) {
    const before = this.waiting.get(entry.id);
    const section = this.built.get(entry.id)?.section;
    if (!before || !section) return;
    this.waiting.delete(entry.id);
    const lines = this.lines(entry);
    for (const line of lines) this.before.add(textOf(line));
    drawLines(section.querySelector("pre.command code"), lines, before);
    this.explain(section);
  }

  /** Fill every command in again, without marks: a placeholder is no other configuration. */
  refill() {
    this.before = new Set();
    this.commands();
    this.list.forEach((entry) => this.complete(entry));
  }

  /** A command as lines (see textOf), with placeholders filled in. Twin of as_html.command_lines. */
  lines(entry) {
    const { command } = entry;
    if (command.text !== null) return shellText(command).split("\n").map((line) => [this.filled(line)]);
    const docker = this.selection.install === "docker" && command.role !== "router" ? dockerLines(command, this.facts) : null;
    const exports = docker ? [] : exportText(command.env).split("\n").filter(Boolean);
    const found = exports.map((line) => [["word", "export"], this.filled(line.slice(6))]);
    if (exports.length) found.push([""]);
    const lines = docker ?? command.lines;
    const indent = " ".repeat(docker ? 2 : command.indent);
    lines.forEach((words, index) => {
      const [first, ...rest] = words.map(quote);
      const flag = ["flag", this.filled(first)];
      const end = index + 1 < lines.length ? " \\" : "";
      found.push([index ? indent : "", flag, this.filled(rest.length ? ` ${rest.join(" ")}` : "") + end]);
    });
    return found;
  }

  filled(text) {
    return text.replace(/\$([A-Za-z_][A-Za-z0-9_]*)/g, (whole, name) => this.value(name) || whole);
  }

  /** What a person filled in for a placeholder, now or on an earlier page. */
  value(name) {
    if (!this.values.has(name)) this.values.set(name, stored(name));
    return this.values.get(name);
  }

  text(entry) {
    const files = entry.command.files.map(
      (file) => `cat > "${this.filled(file.path)}" <<END_OF_FILE\n${this.filled(file.text)}\nEND_OF_FILE\n`,
    );
    const lines = this.lines(entry).map(textOf);
    return files.join("") + lines.join("\n");
  }

  fields(commands) {
    const open = view.placeholders(this.data, this.facts, commands);
    const names = open.map(([name]) => name).join();
    if (this.asked === names) return;
    this.asked = names;
    byId("fill").hidden = !open.length;
    byId("placeholders").replaceChildren(
      ...open.map(([name, description]) => {
        const shown = make("code", {}, name === "~" ? name : `$${name}`);
        const detail = make("dd", {}, description || "set it before you run the command");
        if (name === "~") return make("div", {}, make("dt", {}, shown), detail);
        const input = make("input", { id: `fill-${name}`, autocomplete: "off", spellcheck: "false" });
        input.value = this.value(name);
        input.addEventListener("input", () => this.fill(name, input.value));
        detail.append(input);
        return make("div", {}, make("dt", {}, make("label", { for: `fill-${name}` }, shown)), detail);
      }),
    );
  }

  fill(name, value) {
    // What is typed becomes part of a command: nothing that a shell would read as more than a word.
    this.values.set(name, /^[A-Za-z0-9_./:@%+,=-]*$/.test(value) ? value : quote(value));
    try {
      if (name !== "HF_TOKEN") localStorage.setItem(STORED + name, this.values.get(name));
    } catch {
      // Then it is filled in on this page only.
    }
    this.refill();
  }

  show(id) {
    this.shown = id;
    this.frames(false);
    this.complete(this.current());
  }

  /** Mark the tab and the section that are shown. */
  mark() {
    for (const tab of byId("tabs").children) {
      const chosen = tab.id === `tab-${this.shown}`;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
    }
    for (const section of byId("processes").children) {
      section.classList.toggle("current", section.id === `process-${this.shown}`);
    }
  }

  key(event) {
    const tabs = [...byId("tabs").children];
    const at = tabs.indexOf(document.activeElement);
    const moves = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 };
    if (at < 0 || !(event.key in moves)) return;
    event.preventDefault();
    const next = tabs[(moves[event.key] + tabs.length) % tabs.length];
    this.show(next.id.slice(4));
    next.focus();
  }
}

/** Put text on the clipboard, on plain http too; true when that worked. */
async function copy(text) {
  if (navigator.clipboard && isSecureContext) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // The page may not have the focus; the older way below does not ask for it.
    }
  }
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "visually-hidden";
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}

/** Make a button copy what `text()` gives when it is pressed, and say so. */
function copies(button, text) {
  const label = button.textContent;
  button.addEventListener("click", async () => {
    button.textContent = (await copy(text())) ? "Copied" : "Select and copy by hand";
    setTimeout(() => (button.textContent = label), 1500);
  });
}

/** A new button that copies. */
export function copyButton(label, text) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "small";
  button.textContent = label;
  copies(button, text);
  return button;
}
