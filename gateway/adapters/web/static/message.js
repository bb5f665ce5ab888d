import { diffView } from "./diff.js";
import { make } from "./dom.js";
import { editForm, reasonForm, showFromStart } from "./forms.js";
import { richText } from "./rich.js";
import { language, word } from "./words.js";

const LIVE = new Set(["progress", "card"]);

/**
 * One message in the page. An update rebuilds only what differs, so that a button stays the same element under a
 * finger while the text above it lives. `actions` has `tap(value, typed)`, a promise of
 * whether that is settled, and `edit(id)`.
 */
export class MessageView {
  #actions;
  #message;
  #state = "";
  #seen = {};
  #parts = {};

  constructor(message, actions) {
    this.#actions = actions;
    this.element = make("article", { className: "message" });
    this.element.dataset.id = message.id;
    const names = ["author", "text", "changes", "file", "buttons", "footer"];
    for (const name of names) this.element.append((this.#parts[name] = make("div", { className: name })));
    this.update(message);
  }

  /** What orders messages; those not accepted yet come last. */
  get number() {
    return this.#message.number ?? Infinity;
  }

  get text() {
    return this.#message.text;
  }

  update(message) {
    this.#message = message;
    this.element.dataset.role = message.role;
    this.element.dataset.live = message.buttons.length > 0;
    // A live message would be read out again at each change.
    this.element.setAttribute("aria-live", message.role === "progress" ? "off" : "polite");
    this.#part("author", message.role === "user", (user) => [user ? word("you") : "Paigate"]);
    this.#part("text", [message.text, message.spans, message.diff !== "", message.file], () => this.#textNodes());
    this.#part("changes", message.diff, (diff) => (diff ? [diffView(diff)] : []));
    this.#part("file", message.file, (file) => (file ? [fileLink(message.id, file)] : []));
    this.#part("buttons", [message.buttons, message.editable], ([rows]) => {
      this.element.classList.remove("is-asking");
      return rows.map((row) => this.#buttonRow(row));
    });
    this.#footer();
  }

  /** How a message of the person stands: "" once accepted, else "sending", "waiting" or "refused" for a reason. */
  setState(state, reason = "") {
    this.#state = state;
    this.element.dataset.state = state;
    this.#footer(reason);
  }

  /** Word it anew after the language changed. */
  reword() {
    this.#seen = {};
    this.update(this.#message);
  }

  #part(name, value, build) {
    const form = JSON.stringify(value ?? null);
    if (this.#seen[name] === form) return;
    this.#seen[name] = form;
    this.#parts[name].replaceChildren(...build(value));
  }

  #textNodes() {
    const { text, spans, diff, file } = this.#message;
    return file ? [] : [richText(text, spans, { withoutDiffs: diff !== "" })];
  }

  #footer(reason = "") {
    const { at, edited, role } = this.#message;
    const state = this.#state;
    this.#part("footer", [at, edited, role, state, reason], () => {
      if (state === "refused") return [make("span", {}, refusal(reason)), this.#editButton()];
      if (state) return [make("span", {}, word(state))];
      const time = make("time", { dateTime: at, title: new Date(at).toLocaleString(language()) }, shortTime(at));
      return edited && !LIVE.has(role) ? [time, make("span", {}, word("edited"))] : [time];
    });
  }

  #editButton() {
    const button = make("button", { type: "button", className: "link" }, word("edit"));
    button.addEventListener("click", () => this.#actions.edit(this.#message.id));
    return button;
  }

  #buttonRow(row) {
    const line = make("div", { className: "row" });
    for (const { label, value, style, asks_reason: asksReason, edits } of row) {
      const button = make("button", { type: "button", className: `action ${style}` }, label);
      button.addEventListener("click", () => {
        if (asksReason) this.#ask(button, value, reasonForm(label));
        else if (edits) this.#ask(button, value, editForm(this.#message.editable));
        else this.#tap(button, value, {});
      });
      line.append(button);
    }
    return line;
  }

  /** Show a form of `forms.js` in the place of the buttons, until it is sent or cancelled. */
  #ask(asker, value, { form, first, cancel, send, typed }) {
    this.#parts.buttons.querySelector("form")?.remove();
    const close = () => {
      form.remove();
      this.element.classList.remove("is-asking");
      asker.focus();
    };
    cancel.addEventListener("click", close);
    form.addEventListener("keydown", (event) => event.key === "Escape" && !event.isComposing && close());
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#tap(send, value, typed());
    });
    this.#parts.buttons.append(form);
    this.element.classList.add("is-asking");
    showFromStart(form);
    first.focus();
  }

  async #tap(button, value, typed) {
    const enabled = this.#parts.buttons.querySelectorAll(":is(button, textarea):enabled");
    for (const control of enabled) control.disabled = true;
    button.classList.add("is-busy");
    const settled = await this.#actions.tap(value, typed);
    button.classList.remove("is-busy");
    for (const control of enabled) control.disabled = false;
    if (!settled) return;
    this.#parts.buttons.querySelector("form")?.remove();
    this.element.classList.remove("is-asking");
  }
}

function fileLink(id, { name, size }) {
  const link = make("a", { className: "download", href: `/api/files/${encodeURIComponent(id)}`, download: name });
  link.setAttribute("aria-label", word("download", name));
  link.append(make("span", { className: "name" }, name), make("span", { className: "size" }, readableSize(size)));
  return link;
}

function readableSize(bytes) {
  const units = ["B", "kB", "MB"];
  const step = bytes < 1000 ? 0 : bytes < 1e6 ? 1 : 2;
  return `${(bytes / 1000 ** step).toFixed(step && bytes / 1000 ** step < 10 ? 1 : 0)} ${units[step]}`;
}

function refusal(status) {
  return status === "413" ? word("tooLong") : word("refused");
}

function shortTime(at) {
  const date = new Date(at);
  const clock = { hour: "numeric", minute: "2-digit" };
  const sameDay = date.toDateString() === new Date().toDateString();
  return date.toLocaleString(language(), sameDay ? clock : { month: "short", day: "numeric", ...clock });
}
