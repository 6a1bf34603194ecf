/** `presence_events`: fires the ids of the connected minions every `loop_interval`, in the form and order of Salt's events. */
import type { Fire } from "../publish/publisher.ts";

export type PresenceEventsOptions = {
  readonly intervalMs: number;
  readonly connected: () => readonly string[];
  readonly fire: Fire;
};

export class PresenceEvents {
  readonly #options: PresenceEventsOptions;
  readonly #timer: NodeJS.Timeout;
  #former: ReadonlySet<string> = new Set();

  constructor(options: PresenceEventsOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.tell(), options.intervalMs).unref();
  }

  /** Fires `change` first if minions came or went, then `present`. */
  tell(): void {
    const { connected, fire } = this.#options;
    const present = connected();
    const now = new Set(present);
    const added = present.filter((id) => !this.#former.has(id));
    const lost = [...this.#former].filter((id) => !now.has(id));
    if (added.length > 0 || lost.length > 0) fire("salt/presence/change", { new: added, lost });
    fire("salt/presence/present", { present });
    this.#former = now;
  }

  close(): void {
    clearInterval(this.#timer);
  }
}
