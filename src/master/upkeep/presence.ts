/**
 * Knows the connected minions, which proved themselves within `presence_timeout`. ZeroMQ does not tell which peer came or went, so
 * silent minions are pinged, a bounded number at a time. docs/compatibility.md, "Presence".
 */

/** Silent minions pinged per round: a publish carries their ids, and their returns cost work. */
const pingedPerRoundMax = 2_000;
const roundsPerTimeout = 6;
/** How long the count of connected minions holds, milliseconds. */
const countedForMs = 250;

export type PresenceOptions = {
  readonly timeoutMs: number;
  readonly accepted: ReadonlySet<string>;
  readonly ping: (ids: readonly string[]) => Promise<void>;
  readonly onFault: (error: Error) => void;
  /** A clock that is never set, milliseconds. */
  readonly now?: () => number;
};

export class Presence {
  readonly counters = { pings: 0 };
  readonly #options: PresenceOptions;
  readonly #contactMs = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;
  readonly #now: () => number;
  #round = 0;
  /** Minions silent for longer than the timeout that this turn of six rounds has not pinged yet. */
  #untried: string[] = [];
  #latestContactMs = Number.NEGATIVE_INFINITY;
  #counted = 0;
  #countedMs = Number.NEGATIVE_INFINITY;

  constructor(options: PresenceOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#timer = setInterval(() => this.pingSilent(), options.timeoutMs / roundsPerTimeout).unref();
  }

  /** Ids without an accepted key are left out, so that a request that outlived its key is not remembered for ever. */
  noteContacts(ids: readonly string[]): void {
    for (const id of ids) this.noteContact(id);
  }

  noteContact(id: string): void {
    if (!this.#options.accepted.has(id)) return;
    this.#latestContactMs = this.#now();
    this.#contactMs.set(id, this.#latestContactMs);
  }

  forget(id: string): void {
    this.#contactMs.delete(id);
  }

  /** When the minion last proved itself, by the present wall clock. Undefined if it did not since this master's start. */
  contactMs(id: string): number | undefined {
    const contactMs = this.#contactMs.get(id);
    return contactMs === undefined ? undefined : Date.now() - (this.#now() - contactMs);
  }

  isConnected(id: string): boolean {
    const contactMs = this.#contactMs.get(id);
    return (
      contactMs !== undefined && this.#now() - contactMs <= this.#options.timeoutMs && this.#options.accepted.has(id)
    );
  }

  /**
   * Whether a minion counts as "not connected" rather than silent. As in Salt, a minion that this master has not met never does, nor
   * does any while no minion is connected.
   */
  isGone(id: string): boolean {
    const isAnyConnected = this.#now() - this.#latestContactMs <= this.#options.timeoutMs;
    return isAnyConnected && this.#contactMs.has(id) && !this.isConnected(id);
  }

  connected(): string[] {
    return [...this.#contactMs.keys()].filter((id) => this.isConnected(id));
  }

  /** Cached for `countedForMs`, because `max_minions` asks at every `_auth`, and a storm of them must not walk the fleet each time. */
  get connectedCount(): number {
    const nowMs = this.#now();
    if (nowMs - this.#countedMs >= countedForMs) {
      this.#countedMs = nowMs;
      this.#counted = this.connected().length;
    }
    return this.#counted;
  }

  /**
   * Pings minions that have been silent for half the timeout. Minions silent for longer take the places that are left, each once in six
   * rounds. So dead minions do not delay others, and after a restart the whole fleet is asked within one timeout.
   */
  pingSilent(): void {
    const nowMs = this.#now();
    const { timeoutMs, accepted } = this.#options;
    const silent: string[] = [];
    const gone: string[] = [];
    for (const id of accepted) {
      const silentMs = nowMs - (this.#contactMs.get(id) ?? Number.NEGATIVE_INFINITY);
      if (silentMs > timeoutMs) gone.push(id);
      else if (silentMs >= timeoutMs / 2) silent.push(id);
    }
    const pinged = silent.slice(0, pingedPerRoundMax);
    if (this.#round % roundsPerTimeout === 0) this.#untried = gone;
    this.#round += 1;
    pinged.push(...this.#untried.splice(0, pingedPerRoundMax - pinged.length));
    if (pinged.length === 0) return;
    this.counters.pings += pinged.length;
    this.#options.ping(pinged).catch(this.#options.onFault);
  }

  close(): void {
    clearInterval(this.#timer);
  }
}
