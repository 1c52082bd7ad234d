// The search dialog of every page, and the search itself. Twin of site_builder/browse.py: compact, search.

export function compact(text) {
  return text.toLowerCase().replace(/[^a-z0-9]/g, "");
}

/** The entries of search.json that hold every word, those with the words early in their id first. */
export function search(entries, query) {
  const words = query.split(/\s+/).map(compact).filter(Boolean);
  const found = entries.filter((entry) => words.every((word) => entry.text.includes(word)));
  const distance = (entry) => {
    const name = compact(entry.id.slice(entry.id.indexOf("/") + 1));
    return words.reduce((sum, word) => sum + (name.includes(word) ? name.indexOf(word) : 100), 0);
  };
  const key = new Map(found.map((entry) => [entry, [distance(entry), entry.id.toLowerCase()]]));
  return found.sort((one, other) => {
    const [left, right] = [key.get(one), key.get(other)];
    return left[0] - right[0] || (left[1] < right[1] ? -1 : 1);
  });
}

const dialog = document.getElementById("search");
const input = dialog.querySelector("input");
const list = document.getElementById("results");
let entries = null;
let chosen = 0;

/** Load the index and show what is found for what has been typed. */
export async function start() {
  entries ??= await (await fetch(dialog.dataset.index)).json();
  draw();
}

function draw() {
  const found = search(entries ?? [], input.value).slice(0, 12);
  list.replaceChildren(
    ...found.map((entry, index) => {
      const item = document.createElement("li");
      item.setAttribute("role", "presentation");
      const link = document.createElement("a");
      link.id = `result-${index}`;
      link.setAttribute("role", "option");
      link.href = dialog.dataset.base + entry.id;
      link.tabIndex = -1;
      link.textContent = entry.title;
      const where = document.createElement("small");
      where.textContent = entry.id;
      link.append(where);
      item.append(link);
      return item;
    }),
  );
  document.getElementById("found").textContent = found.length ? "" : entries ? "Nothing found" : "Loading";
  choose(0);
}

function choose(index) {
  const items = [...list.querySelectorAll("a")];
  chosen = items.length ? (index + items.length) % items.length : 0;
  items.forEach((item, place) => item.setAttribute("aria-selected", String(place === chosen)));
  if (items.length) {
    input.setAttribute("aria-activedescendant", `result-${chosen}`);
    items[chosen].scrollIntoView({ block: "nearest" });
  } else input.removeAttribute("aria-activedescendant");
}

input.addEventListener("input", draw);
input.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown") choose(chosen + 1);
  else if (event.key === "ArrowUp") choose(chosen - 1);
  else if (event.key === "Enter") list.querySelectorAll("a")[chosen]?.click();
  else return;
  event.preventDefault();
});
dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close();
});
