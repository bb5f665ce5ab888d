import { make } from "./dom.js";
import { MessageView } from "./message.js";
import { Outgoing, post } from "./outgoing.js";
import { Stream } from "./stream.js";
import { examples, switchLanguage, word, wordPage } from "./words.js";

const DRAFT = "paigate.draft";
const LONGEST_MESSAGE = 400_000;
const NEAR_BOTTOM_PX = 60;
const TOAST_MS = 4_000;
const ALERT_MS = 8_000;

const at = (id) => document.getElementById(id);
const [scroller, log, welcome, field, sendButton] = ["scroller", "log", "welcome", "text", "send"].map(at);
const [connection, toast, jump] = ["connection", "toast", "jump"].map(at);

const views = new Map();
let following = true;
let lastTop = 0;
let toastTimer = 0;

const actions = {
  async tap(value, typed) {
    const answer = await post("/api/taps", { value, ...typed });
    if (answer.status === 413 || answer.status === 422) showToast(word("refused"), true);
    else if (answer.status !== 200) showToast(word("notReached"), true);
    else if (answer.body.text) showToast(answer.body.text, answer.body.alert);
    return answer.status === 200 && !answer.body.alert;
  },
  edit(id) {
    const view = views.get(id);
    outgoing.drop(id);
    remove(id);
    setDraft(field.value ? `${view.text}\n${field.value}` : view.text);
    field.focus();
  },
};

const outgoing = new Outgoing((id, state, reason) => views.get(id)?.setState(state === "accepted" ? "" : state, reason));

const stream = new Stream({
  onSnapshot(ids) {
    for (const [id, view] of views) if (view.number !== Infinity && !ids.has(id)) remove(id);
  },
  onMessage: show,
  onReady() {
    welcome.hidden = views.size > 0;
    outgoing.flush();
  },
  onState: showConnection,
});

function show(message) {
  const known = views.get(message.id);
  if (known) known.update(message);
  const view = known ?? new MessageView(message, actions);
  views.set(message.id, view);
  place(view);
  welcome.hidden = true;
  if (!known && !following && message.role !== "user") jump.hidden = false;
}

/** Put a message where its number says; it stays untouched when it is there already. */
function place(view) {
  let after = log.lastElementChild;
  while (after && (after === view.element || numberOf(after) > view.number)) after = after.previousElementSibling;
  const before = after ? after.nextElementSibling : log.firstElementChild;
  if (before !== view.element) log.insertBefore(view.element, before);
}

function numberOf(element) {
  return views.get(element.dataset.id).number;
}

function remove(id) {
  views.get(id).element.remove();
  views.delete(id);
}

function showPending({ id, text, at: sent, refused }) {
  show({ id, text, role: "user", at: new Date(sent).toISOString(), spans: [], buttons: [], diff: "", editable: {}, file: null });
  views.get(id).setState(refused ? "refused" : "sending", refused);
}

function showConnection(state) {
  if (state === "locked" && connection.dataset.state !== "locked") showToast(word("lockedHow"), true);
  connection.dataset.state = state;
  connection.textContent = word(state);
}

function showToast(text, alert) {
  clearTimeout(toastTimer);
  toast.textContent = text;
  toast.classList.toggle("is-alert", alert);
  toast.hidden = false;
  toastTimer = setTimeout(() => (toast.hidden = true), alert ? ALERT_MS : TOAST_MS);
}

function setDraft(text) {
  field.value = text;
  fitField();
}

function fitField() {
  if (field.value) localStorage.setItem(DRAFT, field.value);
  else localStorage.removeItem(DRAFT);
  sendButton.disabled = field.value.trim() === "";
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight}px`;
}

function submit() {
  const text = field.value.trim();
  if (!text) return;
  if (text.length > LONGEST_MESSAGE) {
    showToast(word("tooLong"), true);
    return;
  }
  following = true;
  showPending(outgoing.add(text));
  setDraft("");
  outgoing.flush();
}

function toBottom() {
  scroller.scrollTop = scroller.scrollHeight;
}

function wordAll() {
  wordPage();
  at("language").textContent = word("tongue");
  at("language").setAttribute("aria-label", word("tongueLabel"));
  connection.textContent = word(connection.dataset.state);
  at("examples").replaceChildren(...examples().map(exampleButton));
  for (const view of views.values()) view.reword();
}

function exampleButton(text) {
  const button = make("button", { type: "button", className: "example" }, text);
  button.addEventListener("click", () => {
    setDraft(text);
    field.focus();
  });
  return button;
}

at("language").addEventListener("click", () => {
  switchLanguage();
  wordAll();
});

at("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  submit();
});

field.addEventListener("input", fitField);
field.addEventListener("keydown", (event) => {
  // While an input method composes, Enter takes the candidate. 229 is how Safari tells it.
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
  event.preventDefault();
  submit();
});

jump.addEventListener("click", () => {
  following = true;
  toBottom();
});

scroller.addEventListener("scroll", () => {
  // Only moving up leaves the end: what came meanwhile moves the end itself away.
  const near = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR_BOTTOM_PX;
  following = near || (following && scroller.scrollTop >= lastTop);
  lastTop = scroller.scrollTop;
  if (following) jump.hidden = true;
});

// Unfolding a diff is for reading it, not for jumping to its end.
log.addEventListener("click", (event) => {
  if (event.target.closest(".fold")) following = false;
});

const resized = new ResizeObserver(() => following && toBottom());
resized.observe(log);
resized.observe(scroller);

wordAll();
setDraft(localStorage.getItem(DRAFT) ?? "");
for (const item of outgoing.pending()) showPending(item);
stream.connect();
