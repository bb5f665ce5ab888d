import { diffView } from "./diff.js";
import { make } from "./dom.js";

const TAGS = { bold: "strong", italic: "em", strike: "s", code: "code", quote: "blockquote" };
const BLOCKS = new Set(["pre", "quote"]);
const SCHEMES = new Set(["http:", "https:", "mailto:"]);

/**
 * Text with spans over it, as nodes. Spans count code points, nest, and come sorted by start, outer first.
 * `withoutDiffs` leaves out diffs, for a card that shows the whole one below its text.
 */
export function richText(text, spans, { withoutDiffs = false } = {}) {
  const fragment = document.createDocumentFragment();
  const points = Array.from(text);
  const rest = spans.slice();
  fill(fragment, points, rest, 0, points.length, withoutDiffs);
  return fragment;
}

function fill(parent, points, rest, from, to, withoutDiffs) {
  let at = from;
  let afterBlock = false;
  const addText = (end, beforeBlock) => {
    let piece = points.slice(at, end).join("");
    // A block stands on its own lines already.
    if (afterBlock) piece = piece.replace(/^\n{1,2}/, "");
    if (beforeBlock) piece = piece.replace(/\n{1,2}$/, "");
    if (piece) parent.append(piece);
  };
  while (rest.length && rest[0].start < to) {
    const span = rest.shift();
    const start = Math.max(span.start, at);
    const end = Math.min(span.end, to);
    const block = BLOCKS.has(span.style);
    addText(start, block);
    if (span.style === "pre") parent.append(...codeBlock(points.slice(start, end).join(""), span.value, withoutDiffs));
    else {
      const element = inline(span);
      fill(element, points, rest, start, end, withoutDiffs);
      parent.append(element);
    }
    at = Math.max(at, end);
    afterBlock = block;
  }
  addText(to, false);
}

function codeBlock(text, language, withoutDiffs) {
  if (language !== "diff") return [make("pre", { className: "code", tabIndex: 0 }, make("code", {}, text))];
  return withoutDiffs ? [] : [diffView(text)];
}

function inline(span) {
  if (span.style !== "link") return make(TAGS[span.style] ?? "span");
  if (!isSafe(span.value)) return make("span");
  return make("a", { href: span.value, target: "_blank", rel: "noopener noreferrer" });
}

function isSafe(address) {
  return URL.canParse(address) && SCHEMES.has(new URL(address).protocol);
}
