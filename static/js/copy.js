// Copying text, on plain http too.

/** Put text on the clipboard; true when that worked. */
export async function copy(text) {
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
export function copies(button, text) {
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
