import { make } from "./dom.js";
import { word } from "./words.js";

const SHOWN_LINES = 16;
const HUNK = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;

/** A unified diff, coloured by line; a long one is folded. */
export function diffView(diff) {
  const lines = diff.replace(/\n$/, "").split("\n");
  const kinds = lineKinds(lines);
  const code = make("code");
  lines.forEach((line, index) => {
    code.append(make("span", { className: `line ${kinds[index]}` }, line));
  });
  const box = make("pre", { className: "diff-lines", tabIndex: 0 }, code);
  box.setAttribute("aria-label", word("diff"));
  const view = make("div", { className: "diff" }, box);
  if (lines.length > SHOWN_LINES) view.append(foldButton(view, lines.length));
  return view;
}

function foldButton(view, count) {
  const button = make("button", { type: "button", className: "fold" });
  const fold = (folded) => {
    view.classList.toggle("is-folded", folded);
    button.setAttribute("aria-expanded", String(!folded));
    button.textContent = folded ? word("showAll", count) : word("showLess");
  };
  button.addEventListener("click", () => fold(!view.classList.contains("is-folded")));
  fold(true);
  return button;
}

/** What each line is. Inside a hunk the counts decide, so that a removed "-- x" is not taken for a file's header. */
function lineKinds(lines) {
  let removed = 0;
  let added = 0;
  return lines.map((line) => {
    const hunk = HUNK.exec(line);
    if (hunk && removed <= 0 && added <= 0) {
      removed = Number(hunk[1] ?? 1);
      added = Number(hunk[2] ?? 1);
      return "hunk";
    }
    if (removed <= 0 && added <= 0) return line.startsWith("\\") ? "hunk" : "head";
    if (line.startsWith("+")) return added--, "added";
    if (line.startsWith("-")) return removed--, "removed";
    if (line.startsWith("\\")) return "hunk";
    removed--;
    added--;
    return "same";
  });
}
