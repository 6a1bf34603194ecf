/**
 * Who is connected: minions that proved themselves within `presence_timeout`. ZeroMQ does not tell which peer came or went,
 * so those that have been silent are pinged, a bounded number at a time. docs/compatibility.md, "Presence".
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
  /** Silent for longer than the timeout, and not pinged since the last sixth round. */
  #untried: string[] = [];
  #latestContactMs = Number.NEGATIVE_INFINITY;
  #counted = 0;
  #countedMs = Number.NEGATIVE_INFINITY;

  constructor(options: PresenceOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#timer = setInterval(() => this.pingSilent(), options.timeoutMs / roundsPerTimeout).unref();
  }

  /** Ids without an accepted key are left out: a request under way when its key went must not be remembered for ever. */
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

  /** When the minion last proved itself, since this master's start: by the wall clock as it is set now. */
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
   * Whether a minion counts as "not connected" rather than merely silent. As in Salt, never one that this master has not met,
   * and none while nobody at all is connected.
   */
  isGone(id: string): boolean {
    const isAnyConnected = this.#now() - this.#latestContactMs <= this.#options.timeoutMs;
    return isAnyConnected && this.#contactMs.has(id) && !this.isConnected(id);
  }

  connected(): string[] {
    return [...this.#contactMs.keys()].filter((id) => this.isConnected(id));
  }

  /** Counted anew at most once in a while: `max_minions` asks at every `_auth`, and a storm of them must not walk the fleet each time. */
  get connectedCount(): number {
    const nowMs = this.#now();
    if (nowMs - this.#countedMs >= countedForMs) {
      this.#countedMs = nowMs;
      this.#counted = this.connected().length;
    }
    return this.#counted;
  }

  /**
   * Pings those that have been silent for half the timeout. Those silent for longer take the room that is left, each once in six
   * rounds: dead minions keep nobody waiting, and a fleet that has yet to be heard after a restart is asked within one timeout.
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
