/* In the page: the smallest contrast of any text with what is behind it, and which text that is. */
export function worstContrast() {
  const TEXTS =
    "h1, h2, h3, p, label, legend, button, dt, dd, li, select, textarea, strong, a, span, summary, pre, code, th, td";
  const parse = (text) => (text.match(/[\d.]+/g) ?? []).map(Number);
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = parse(getComputedStyle(e).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  let worst = { ratio: 21, text: "" };
  for (const element of document.querySelectorAll(TEXTS)) {
    if (
      !element.textContent.trim() ||
      !element.checkVisibility() ||
      element.matches(":disabled") ||
      element.closest("svg")
    )
      continue;
    const a = light(parse(getComputedStyle(element).color)),
      b = light(behind(element));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < worst.ratio) worst = { ratio, text: element.textContent.trim().slice(0, 60) };
  }
  return worst;
}
