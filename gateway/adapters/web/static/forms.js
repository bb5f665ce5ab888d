import { make } from "./dom.js";
import { argumentName, word } from "./words.js";

const REASON_CHARACTERS = 4_000;
const EDITED_CHARACTERS = 100_000;
const LEAST_ROWS = 2;
const MOST_ROWS = 12;

// What is typed on a card goes to the agent sign by sign: no keyboard may better it.
const AS_TYPED = { autocapitalize: "off", autocomplete: "off", spellcheck: false };

/** A form for the reason of a no, which may stay empty. */
export function reasonForm(label) {
  const reason = make("textarea", { rows: LEAST_ROWS, maxLength: REASON_CHARACTERS, placeholder: word("reason") });
  reason.setAttribute("aria-label", word("reason"));
  const send = make("button", { type: "submit", className: "action danger" }, label);
  return formOf("reason", [reason], reason, send, () => ({ reason: reason.value.trim() }));
}

/**
 * A form with the arguments of a call in it, by name. Only those are sent that the person changed: a text area makes
 * line feeds of all line ends, and what nobody touched must stay as it is.
 */
export function editForm(editable) {
  const fields = Object.entries(editable).map(([name, text]) => argumentField(name, text));
  const send = make("button", { type: "submit", className: "action good", disabled: true }, word("allowChanged"));
  const changed = () => fields.filter(({ area, before }) => area.value !== before);
  const labels = fields.map(({ label }) => label);
  const typed = () => ({ edits: Object.fromEntries(changed().map(({ name, area }) => [name, area.value])) });
  const parts = formOf("edit", labels, fields[0].area, send, typed);
  parts.form.addEventListener("input", ({ target }) => {
    send.disabled = changed().length === 0;
    fitRows(target);
  });
  return parts;
}

/** Once the form is in the page: its fields are as high as what is in them, and begin at its beginning. */
export function showFromStart(form) {
  for (const area of form.querySelectorAll("textarea")) {
    fitRows(area);
    area.setSelectionRange(0, 0);
    area.scrollTop = 0;
  }
}

// It only grows: a field that shrinks for a moment to be measured makes the page jump.
function fitRows(area) {
  const { lineHeight, paddingTop, paddingBottom } = getComputedStyle(area);
  const high = area.scrollHeight - parseFloat(paddingTop) - parseFloat(paddingBottom);
  area.rows = Math.min(Math.max(Math.round(high / parseFloat(lineHeight)), area.rows), MOST_ROWS);
}

function argumentField(name, text) {
  const area = make("textarea", { ...AS_TYPED, rows: LEAST_ROWS, maxLength: EDITED_CHARACTERS, value: text });
  area.setAttribute("autocorrect", "off");
  const label = make("label", {}, make("span", {}, argumentName(name)), area);
  return { name, area, label, before: area.value };
}

function formOf(className, fields, first, send, typed) {
  const cancel = make("button", { type: "button", className: "action plain" }, word("cancel"));
  const form = make("form", { className }, ...fields, make("div", { className: "row" }, send, cancel));
  return { form, first, cancel, send, typed };
}
