// The one question of the page: shall that really be done? The browser keeps the focus in it and gives it back.

const dialog = document.querySelector('dialog[data-part="confirm"]');
const title = dialog.querySelector("#confirm-title");
const text = dialog.querySelector("#confirm-text");
const yes = dialog.querySelector('[data-action="confirm"]');

// Whether a person says yes. `lines` are nodes; `button` says what will be done.
export function confirm({ title: words, lines, button }) {
  title.textContent = words;
  text.replaceChildren(...lines);
  yes.textContent = button;
  dialog.returnValue = "";
  dialog.showModal();
  dialog.querySelector('[data-action="cancel"]').focus(); // the harmless one
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}
