/* Light or dark as it was chosen, before anything is drawn: this script alone is no module, so the browser waits. */
try {
  const theme = localStorage.getItem("rlx.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // the system's
}
