// Light or dark: as the system has it, or as a person chose here. A plain script in the head, so that a choice is in
// force before anything is drawn; dark.css is one stylesheet whose `media` says when it applies.
//
// Tells document of every change with an event `theme`, for whatever has drawn colours itself.

(() => {
  const KEPT_AS = "slotgate-theme";
  const SYSTEM = "(prefers-color-scheme: dark)";
  const MEDIA = { system: SYSTEM, light: "not all", dark: "all" };
  const NEXT = { system: "light", light: "dark", dark: "system" };
  const system = matchMedia(SYSTEM);
  let chosen = kept();

  function kept() {
    try {
      const name = localStorage.getItem(KEPT_AS);
      return name in MEDIA ? name : "system";
    } catch {
      return "system"; // storage may be forbidden
    }
  }

  function apply() {
    document.getElementById("dark").media = MEDIA[chosen];
    document.documentElement.dataset.theme = chosen;
    document.dispatchEvent(new Event("theme"));
  }

  // The next of system, light, dark; answers its name.
  function next() {
    chosen = NEXT[chosen];
    try {
      localStorage.setItem(KEPT_AS, chosen);
    } catch {
      // It holds for as long as the page is open.
    }
    apply();
    return chosen;
  }

  system.addEventListener("change", () => document.dispatchEvent(new Event("theme")));
  window.slotgateTheme = { next, get chosen() { return chosen; } };
  apply();
})();
