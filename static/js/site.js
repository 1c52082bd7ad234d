// Every page: the switch between light and dark, and the search dialog on demand.
const root = document.documentElement;

function switchTheme() {
  const dark = root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try {
    localStorage.setItem("theme", root.dataset.theme);
  } catch {
    // The choice then holds for this page.
  }
}

/** Open the dialog at once, so that nothing typed is lost while the search itself loads. */
async function search() {
  const dialog = document.getElementById("search");
  if (!dialog.open) dialog.showModal();
  dialog.querySelector("input").select();
  (await import("./search.js")).start();
}

document.addEventListener("click", (event) => {
  if (event.target.closest("#theme")) switchTheme();
  if (event.target.closest("#open-search")) search();
});
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input, textarea, select");
  if ((event.key === "/" && !typing) || (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey))) {
    event.preventDefault();
    search();
  }
});
