/**
 * Who is connected: minions that proved themselves within `presence_timeout`. ZeroMQ does not tell which peer came or went,
 * so those that have been silent are pinged, a bounded number at a time. docs/compatibility.md, "Presence".
 */

/** Silent minions pinged per round: a publish carries their ids, and their returns cost work. */
const pingedPerRoundMax = 2_000;
const roundsPerTimeout = 6;

export type PresenceOptions = {
  readonly timeoutMs: number;
  readonly accepted: ReadonlySet<string>;
  readonly ping: (ids: readonly string[]) => Promise<void>;
  readonly onFault: (error: Error) => void;
  readonly now?: () => number;
};

export class Presence {
  readonly counters = { pings: 0 };
  readonly #options: PresenceOptions;
  readonly #contactMs = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;
  readonly #now: () => number;
  #round = 0;

  constructor(options: PresenceOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#timer = setInterval(() => this.pingSilent(), options.timeoutMs / roundsPerTimeout).unref();
  }

  noteContacts(ids: readonly string[]): void {
    const nowMs = this.#now();
    for (const id of ids) this.#contactMs.set(id, nowMs);
  }

  forget(id: string): void {
    this.#contactMs.delete(id);
  }

  isConnected(id: string): boolean {
    const contactMs = this.#contactMs.get(id);
    return (
      contactMs !== undefined && this.#now() - contactMs <= this.#options.timeoutMs && this.#options.accepted.has(id)
    );
  }

  connected(): string[] {
    return [...this.#contactMs.keys()].filter((id) => this.isConnected(id));
  }

  get connectedCount(): number {
    let count = 0;
    for (const id of this.#contactMs.keys()) if (this.isConnected(id)) count += 1;
    return count;
  }

  /** Pings those that have been silent for half the timeout; those silent for long are tried only every sixth round. */
  pingSilent(): void {
    const nowMs = this.#now();
    const { timeoutMs, accepted } = this.#options;
    const isRoundForAll = this.#round % roundsPerTimeout === 0;
    this.#round += 1;
    const silent: string[] = [];
    for (const id of accepted) {
      const silentMs = nowMs - (this.#contactMs.get(id) ?? 0);
      if (silentMs < timeoutMs / 2 || (silentMs > timeoutMs && !isRoundForAll)) continue;
      silent.push(id);
      if (silent.length >= pingedPerRoundMax) break;
    }
    if (silent.length === 0) return;
    this.counters.pings += silent.length;
    this.#options.ping(silent).catch(this.#options.onFault);
  }

  close(): void {
    clearInterval(this.#timer);
  }
}
