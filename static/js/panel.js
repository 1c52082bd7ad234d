// The command panel: tabs, commands, placeholders, memory. Its structure is that of partials/commands.html.
import { copies } from "./copy.js";
import { dockerLines, exportText, quote, shellText } from "./plan/shell.js";
import * as view from "./view.js";

const STORED = "placeholder:";
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

/** The text of a line of nodes and strings. */
function textOf(line) {
  return line.map((part) => (typeof part === "string" ? part : part.textContent)).join("");
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
    this.parts = new Map();
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
  }

  /** Take over what the server drew, or draw a configuration anew and mark the lines that changed. */
  draw(selection, facts, commands, anew = true) {
    this.selection = selection;
    this.facts = facts;
    this.list = view.processes(commands);
    for (const [name] of view.placeholders(this.data, facts, commands)) {
      if (!this.values.has(name)) this.values.set(name, stored(name));
    }
    byId("actions").children[1].hidden = this.list.length < 2;
    if (!this.list.some((entry) => entry.id === this.shown)) this.shown = this.first();
    if (anew) this.repaint(commands);
    else if ([...this.values.values()].some(Boolean)) this.commands();
    else this.remember(this.list.flatMap((entry) => this.lines(entry).map(textOf)));
    this.fields(commands);
  }

  first() {
    const { prefill_rank: rank } = this.selection;
    return this.list.some((entry) => entry.id === `prefill-${rank}`) ? `prefill-${rank}` : this.list[0].id;
  }

  current() {
    return this.list.find((entry) => entry.id === this.shown);
  }

  repaint(commands) {
    const facts = view.facts(this.plan, this.data, this.selection, this.facts, commands);
    byId("summary").textContent = facts.summary;
    byId("verified").textContent = facts.verified;
    byId("verified").hidden = !facts.verified;
    byId("warnings").replaceChildren(...facts.warnings.map((text) => make("p", { class: "warning" }, text)));
    const meter = byId("meter");
    meter.max = Math.max(facts.available, facts.floor);
    meter.value = facts.floor;
    byId("fit-text").textContent = facts.fit;
    byId("tabs").hidden = this.list.length < 2;
    byId("tabs").replaceChildren(
      ...(this.list.length < 2 ? [] : this.list.map((entry, index) => this.tab(entry, index))),
    );
    byId("processes").replaceChildren(...this.list.map((entry, index) => this.process(entry, index)));
    this.commands();
    this.draws += 1;
    const draw = this.draws;
    idle(() => {
      if (draw !== this.draws) return;
      this.list.forEach((entry) => this.complete(entry));
      blocks("requests", view.requests(this.plan, this.data, this.selection, this.facts, commands));
      blocks("dependencies", view.dependencies(this.data, this.selection, commands));
    });
    const pip = byId("pip");
    pip.hidden = !this.facts.pip;
    pip.firstElementChild.textContent = this.facts.pip ?? "";
    byId("image").textContent = this.facts.image ?? "";
    byId("image-line").hidden = !this.facts.image;
  }

  tab(entry, index) {
    const chosen = entry.id === this.shown;
    const tab = make("button", {
      type: "button",
      role: "tab",
      id: `tab-${entry.id}`,
      "aria-controls": `process-${entry.id}`,
      "aria-selected": String(chosen),
    });
    if (!chosen) tab.tabIndex = -1;
    tab.textContent = `${index + 1}. ${entry.title}`;
    return tab;
  }

  process(entry, index) {
    const section = make("section", { class: "process", id: `process-${entry.id}` });
    if (entry.id === this.shown) section.classList.add("current");
    if (this.list.length > 1) section.append(make("h3", {}, `${index + 1}. ${entry.title}`));
    for (const file of entry.command.files) {
      const text = JSON.stringify(file.config, null, 2);
      section.append(
        make("p", { class: "muted" }, "Write this to ", make("code", {}, file.path), " first:"),
        make("pre", { tabindex: "0", "aria-label": file.path }, make("code", {}, text)),
      );
    }
    const label = `Command: ${entry.title}`;
    section.append(make("pre", { tabindex: "0", class: "command", "aria-label": label }, make("code")));
    return section;
  }

  why(entry) {
    const rows = entry.command.because.map((reason) =>
      make("tr", {}, make("td", {}, make("code", {}, reason.flag)), make("td", {}, reason.origin)),
    );
    const head = make("tr", {}, make("th", { scope: "col" }, "Flag or variable"), make("th", { scope: "col" }, "Comes from"));
    const table = make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows));
    const label = `Origins of the flags: ${entry.title}`;
    const scroll = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, table);
    return make("details", { class: "why" }, make("summary", {}, "Why each flag is there"), scroll);
  }

  /** Fill every command in again: after a choice, and after a placeholder changed. */
  commands() {
    const written = [];
    for (const entry of this.list) {
      const lines = this.lines(entry);
      written.push(...lines.map(textOf));
      this.parts.set(entry.id, { lines, before: this.before });
      if (entry.id === this.shown) this.complete(entry);
    }
    this.remember(written);
  }

  /** Put the lines of a command, and the origins of its flags, into its section; those not shown wait for an idle moment. */
  complete(entry) {
    const part = this.parts.get(entry.id);
    const section = byId(`process-${entry.id}`);
    if (!part || !section) return;
    this.parts.delete(entry.id);
    const elements = part.lines.flatMap((line) => {
      const element = make("span", { class: "line" }, ...line);
      if (part.before.size && !part.before.has(textOf(line))) element.classList.add("changed");
      return [element, "\n"];
    });
    section.querySelector("pre.command code").replaceChildren(...elements);
    if (entry.command.because.length && !section.querySelector(".why")) section.append(this.why(entry));
  }

  /** The lines that are shown, so that the next choice can mark what it changed. */
  remember(lines) {
    this.before = new Set(lines);
  }

  /** A command as lines of nodes, with placeholders filled in. Twin of as_html.command_lines. */
  lines(entry) {
    const { command } = entry;
    if (command.text !== null) return shellText(command).split("\n").map((line) => [this.filled(line)]);
    const docker = this.selection.install === "docker" && command.role !== "router" ? dockerLines(command, this.facts) : null;
    const exports = docker ? [] : exportText(command.env).split("\n").filter(Boolean);
    const found = exports.map((line) => [make("span", { class: "word" }, "export"), this.filled(line.slice(6))]);
    if (exports.length) found.push([""]);
    const lines = docker ?? command.lines;
    const indent = " ".repeat(docker ? 2 : command.indent);
    lines.forEach((words, index) => {
      const [first, ...rest] = words.map(quote);
      const flag = make("span", { class: "flag" }, this.filled(first));
      const end = index + 1 < lines.length ? " \\" : "";
      found.push([index ? indent : "", flag, this.filled(rest.length ? ` ${rest.join(" ")}` : "") + end]);
    });
    return found;
  }

  filled(text) {
    return text.replace(/\$([A-Za-z_][A-Za-z0-9_]*)/g, (whole, name) => this.values.get(name) || whole);
  }

  text(entry) {
    const files = entry.command.files.map(
      (file) => `cat > "${this.filled(file.path)}" <<END_OF_FILE\n${this.filled(JSON.stringify(file.config, null, 2))}\nEND_OF_FILE\n`,
    );
    const lines = this.lines(entry).map(textOf);
    return files.join("") + lines.join("\n");
  }

  fields(commands) {
    const open = view.placeholders(this.data, this.facts, commands);
    byId("fill").hidden = !open.length;
    byId("placeholders").replaceChildren(
      ...open.map(([name, description]) => {
        const shown = make("code", {}, name === "~" ? name : `$${name}`);
        const detail = make("dd", {}, description || "set it before you run the command");
        if (name === "~") return make("div", {}, make("dt", {}, shown), detail);
        const input = make("input", { id: `fill-${name}`, autocomplete: "off", spellcheck: "false" });
        input.value = this.values.get(name) ?? "";
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
    this.before = new Set();
    this.commands();
    this.list.forEach((entry) => this.complete(entry));
  }

  show(id) {
    this.shown = id;
    this.complete(this.current());
    for (const tab of byId("tabs").children) {
      const chosen = tab.id === `tab-${id}`;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
    }
    for (const section of byId("processes").children) section.classList.toggle("current", section.id === `process-${id}`);
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
