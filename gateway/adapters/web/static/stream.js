const SILENT_MS = 40_000; // The server pings every 15 s.
const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 8_000;

/**
 * The event stream, connected again for ever. It remembers how far it came, so that nothing is missed; a message may
 * come twice, which the page must bear. `onState` tells "connecting", "connected", "reconnecting" or "locked".
 */
export class Stream {
  #position = "";
  #source = null;
  #timer = 0;
  #delay = FIRST_DELAY_MS;
  #listener;

  constructor(listener) {
    this.#listener = listener;
    window.addEventListener("online", () => this.#hurry());
    document.addEventListener("visibilitychange", () => document.hidden || this.#hurry());
  }

  connect() {
    clearTimeout(this.#timer);
    const source = new EventSource(`/api/events?after=${encodeURIComponent(this.#position)}`);
    this.#source = source;
    const on = (name, act) => {
      source.addEventListener(name, (event) => {
        this.#expectMore();
        act(event);
      });
    };
    on("ping", () => {});
    on("snapshot", (event) => this.#listener.onSnapshot(new Set(JSON.parse(event.data).ids)));
    on("message", (event) => this.#listener.onMessage(JSON.parse(event.data)));
    on("ready", (event) => {
      this.#position = event.lastEventId;
      this.#delay = FIRST_DELAY_MS;
      this.#listener.onState("connected");
      this.#listener.onReady();
    });
    source.addEventListener("error", () => this.#lost());
    this.#expectMore();
  }

  #expectMore() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#lost(), SILENT_MS);
  }

  async #lost() {
    clearTimeout(this.#timer);
    this.#source.close();
    this.#source = null;
    this.#listener.onState("reconnecting");
    this.#timer = setTimeout(() => this.connect(), this.#delay);
    this.#delay = Math.min(this.#delay * 2, LONGEST_DELAY_MS);
    if (await isLocked()) {
      clearTimeout(this.#timer);
      this.#source?.close();
      this.#source = null;
      this.#listener.onState("locked");
    }
  }

  #hurry() {
    if (this.#source === null) this.connect();
  }
}

/** An event source does not tell why it failed. */
async function isLocked() {
  try {
    return (await fetch("/api/events", { method: "HEAD" })).status === 403;
  } catch {
    return false;
  }
}
