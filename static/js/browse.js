// Filters on the browse page without a new page: for a file host that cannot read a query, and faster elsewhere.
import { search } from "./search.js";

const byId = (id) => document.getElementById(id);
const list = byId("entries");
const facets = [...document.querySelectorAll("[data-facet]")].map((part) => part.dataset.facet);
const asked = () => new URLSearchParams(location.search);
const path = location.pathname;
let entries = [];
const cards = new Map();

/** Every card by the id of its recipe; a page that a server filtered lacks some, and then links do the work. */
function collect(base) {
  for (const card of list.children) cards.set(card.querySelector("a").getAttribute("href").slice(base.length), card);
}

function passes(entry, query, but) {
  return facets.every((name) => {
    const wanted = (query.get(name) ?? "").toLowerCase();
    return !wanted || name === but || entry.facets[name].some((value) => value.toLowerCase() === wanted);
  });
}

function draw() {
  const query = asked();
  const searched = search(entries, query.get("q") ?? "");
  const found = searched.filter((entry) => passes(entry, query, ""));
  const sort = query.get("sort") ?? "newest";
  if (!query.get("q") || query.get("sort")) {
    const date = (entry) => cards.get(entry.id).querySelector("time")?.dateTime ?? "";
    found.sort((one, other) => one.title.toLowerCase().localeCompare(other.title.toLowerCase()));
    if (sort === "newest") found.sort((one, other) => (date(one) < date(other) ? 1 : date(one) > date(other) ? -1 : 0));
  }
  list.replaceChildren(...found.map((entry) => cards.get(entry.id)));
  byId("count").textContent = `${found.length} of ${entries.length} recipes`;
  byId("nothing").hidden = found.length > 0;
  byId("q").value = query.get("q") ?? "";
  for (const part of document.querySelectorAll("[data-facet]")) {
    const name = part.dataset.facet;
    for (const link of part.querySelectorAll("a")) {
      const value = link.dataset.value;
      const count = searched.filter((entry) => passes(entry, query, name) && entry.facets[name].includes(value)).length;
      link.querySelector(".count").textContent = count;
      const selected = (query.get(name) ?? "").toLowerCase() === value.toLowerCase();
      link.classList.toggle("selected", selected);
      if (selected) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
      const next = new URLSearchParams(query);
      if (selected) next.delete(name);
      else next.set(name, value);
      link.href = next.size ? `${path}?${next}` : path;
    }
  }
}

function follow(href) {
  history.pushState(null, "", href);
  draw();
}

const dialog = document.getElementById("search");
entries = await (await fetch(list.dataset.search)).json();
collect(dialog.dataset.base);
if (cards.size === entries.length) {
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a.filter");
    if (!link || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    follow(link.href);
  });
  byId("find").addEventListener("submit", (event) => {
    event.preventDefault();
    const next = asked();
    if (byId("q").value) next.set("q", byId("q").value);
    else next.delete("q");
    follow(next.size ? `${path}?${next}` : path);
  });
  addEventListener("popstate", draw);
  if (location.search) draw();
}
