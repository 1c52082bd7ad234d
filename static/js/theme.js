// Light or dark, before the first paint: what a person chose, else what the system says.
const root = document.documentElement;
root.classList.add("js");
let chosen = null;
try {
  chosen = localStorage.getItem("theme");
} catch {
  // Storage may be closed; the system's choice is then the only one.
}
if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;

function isDark() {
  return (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
}

document.addEventListener("DOMContentLoaded", () => {
  const button = document.getElementById("theme");
  const label = () => (button.textContent = isDark() ? "Light" : "Dark");
  button.hidden = false;
  label();
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    label();
    try {
      localStorage.setItem("theme", root.dataset.theme);
    } catch {
      // The choice then holds for this page.
    }
  });
});
