import { language } from "./words.js";

const PREFIX = "paigate.pending.";
const PATIENCE_MS = 20_000;
const FIRST_DELAY_MS = 1_000;
const LONGEST_DELAY_MS = 10_000;

/**
 * What the person said and the server has not accepted yet: kept over reloads, and posted in order, each with the same
 * id until it is accepted. `onChange(id, state, error)` tells "sending", "waiting", "accepted" or "refused".
 */
export class Outgoing {
  #onChange;
  #busy = false;
  #timer = 0;
  #delay = FIRST_DELAY_MS;

  constructor(onChange) {
    this.#onChange = onChange;
  }

  /** What waits, in the order it was said. */
  pending() {
    return Object.keys(localStorage)
      .filter((key) => key.startsWith(PREFIX))
      .map((key) => JSON.parse(localStorage.getItem(key)))
      .sort((one, other) => one.at - other.at);
  }

  add(text) {
    const item = { id: newId(), text, at: Date.now(), refused: "" };
    this.#keep(item);
    return item;
  }

  drop(id) {
    localStorage.removeItem(PREFIX + id);
  }

  /** Post what waits, now. */
  async flush() {
    if (this.#busy) return;
    this.#busy = true;
    clearTimeout(this.#timer);
    try {
      for (let item = this.#next(); item; item = this.#next()) {
        if (!(await this.#post(item))) return this.#later(item);
        this.#delay = FIRST_DELAY_MS;
      }
    } finally {
      this.#busy = false;
    }
  }

  #next() {
    return this.pending().find((item) => !item.refused);
  }

  #keep(item) {
    localStorage.setItem(PREFIX + item.id, JSON.stringify(item));
  }

  #later(item) {
    this.#onChange(item.id, "waiting");
    this.#timer = setTimeout(() => this.flush(), this.#delay);
    this.#delay = Math.min(this.#delay * 2, LONGEST_DELAY_MS);
  }

  /** Whether the server said yes or no for good. */
  async #post(item) {
    this.#onChange(item.id, "sending");
    const answer = await post("/api/messages", { id: item.id, text: item.text });
    if (answer.status === 200) {
      this.drop(item.id);
      this.#onChange(item.id, "accepted");
    } else if (answer.status === 413 || answer.status === 422) {
      const refused = { ...item, refused: String(answer.status) };
      this.#keep(refused);
      this.#onChange(item.id, "refused", refused.refused);
    } else return false;
    return true;
  }
}

/** The status, 0 when there was no answer, and the body of a POST. */
export async function post(path, body) {
  try {
    const response = await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ...body, language: language() }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    return { status: response.status, body: response.ok ? await response.json() : null };
  } catch {
    return { status: 0, body: null };
  }
}

/** A version 4 UUID; `crypto.randomUUID` is missing where the page is served without TLS. */
function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
