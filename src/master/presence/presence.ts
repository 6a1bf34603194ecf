/**
 * Tracks the connected minions: a verified request came from them within `presence_timeout`. ZeroMQ does not tell which peer came or went, so
 * silent minions are pinged, a bounded number at a time. docs/compatibility.md, "Presence".
 */
import type { Elsewhere } from "../../cluster/presence/elsewhere.ts";
import {
  connectedCountAgeMsMax,
  presencePingsMax,
  presencePublishes,
  presenceRounds,
  presenceRoundsSilent,
} from "../../limits.ts";
import { listTargets, type PingTarget, pingTargets } from "./ping-targets.ts";

export type PresenceOptions = {
  readonly timeoutMs: number;
  readonly accepted: ReadonlySet<string>;
  /** Whether targets must name each minion: masters below this one have other minions, whose ids may begin alike. */
  readonly isListed: boolean;
  readonly ping: (targets: readonly PingTarget[]) => Promise<void>;
  readonly onFault: (error: Error) => void;
  /** Only in a cluster. */
  readonly elsewhere?: Pick<Elsewhere, "follow" | "has" | "ids" | "noteContact"> | undefined;
  /** A monotonic clock, milliseconds. */
  readonly now?: () => number;
};

export class Presence {
  readonly counters = { pings: 0 };
  /** Called with a minion that has come to another member of the cluster. */
  onArrivedElsewhere: (id: string) => void = () => undefined;
  readonly #options: PresenceOptions;
  readonly #contactMs = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;
  readonly #now: () => number;
  #round = 0;
  /** Minions silent for longer than the timeout that have not been pinged yet in the present six rounds. */
  #untried: string[] = [];
  /** Minions that were pinged since their last contact. */
  readonly #asked = new Set<string>();
  /** Accepted ids in order; undefined after a change. */
  #sorted: readonly string[] | undefined;
  #latestContactMs = Number.NEGATIVE_INFINITY;
  #counted = { here: 0, all: 0 };
  #countedMs = Number.NEGATIVE_INFINITY;

  constructor(options: PresenceOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#timer = setInterval(() => this.pingSilent(), options.timeoutMs / presenceRounds).unref();
    options.elsewhere?.follow({
      isHere: (id) => this.isHere(id),
      onArrived: (id) => this.onArrivedElsewhere(id),
      onLeft: (id) => this.#noteLeft(id),
    });
  }

  /** Ignores ids without an accepted key, so that a request that arrives after its key was removed is not remembered for ever. */
  noteContacts(ids: readonly string[]): void {
    for (const id of ids) this.noteContact(id);
  }

  noteContact(id: string): void {
    if (!this.#options.accepted.has(id)) return;
    this.#latestContactMs = this.#now();
    if (!this.#contactMs.has(id)) this.#sorted = undefined;
    this.#asked.delete(id);
    this.#contactMs.set(id, this.#latestContactMs);
    this.#options.elsewhere?.noteContact(id);
  }

  /** It counts as met, so that it may be "not connected" here, too. */
  #noteLeft(id: string): void {
    if (this.#contactMs.has(id) || !this.#options.accepted.has(id)) return;
    this.#contactMs.set(id, this.#now() - this.#options.timeoutMs - 1);
    this.#sorted = undefined;
  }

  forget(id: string): void {
    this.#contactMs.delete(id);
    this.#asked.delete(id);
    this.#sorted = undefined;
  }

  /** When the last verified request of the minion came, by the present wall clock; undefined if none came since this master's start. In a cluster: here. */
  contactMs(id: string): number | undefined {
    const contactMs = this.#contactMs.get(id);
    return contactMs === undefined ? undefined : Date.now() - (this.#now() - contactMs);
  }

  /** Whether the minion is connected here or, in a cluster, to another member. */
  isConnected(id: string): boolean {
    return this.isHere(id) || (this.#options.elsewhere?.has(id) === true && this.#options.accepted.has(id));
  }

  isHere(id: string): boolean {
    const contactMs = this.#contactMs.get(id);
    return (
      contactMs !== undefined && this.#now() - contactMs <= this.#options.timeoutMs && this.#options.accepted.has(id)
    );
  }

  /**
   * Whether a minion counts as "not connected" rather than silent. As in Salt, a minion that this master has not met never counts as "not connected",
   * and while no minion is connected none does.
   */
  isGone(id: string): boolean {
    const isAnyHere = this.#now() - this.#latestContactMs <= this.#options.timeoutMs;
    return (isAnyHere || this.#isAnyElsewhere()) && this.#contactMs.has(id) && !this.isConnected(id);
  }

  /** The connected minions, each once; in a cluster those of all members. */
  connected(): string[] {
    const here = [...this.#contactMs.keys()].filter((id) => this.isHere(id));
    return this.#options.elsewhere === undefined ? here : [...here, ...this.#onlyElsewhere()];
  }

  /** How many minions are connected, in a cluster to any member. Cached as `hereCount` is. */
  get connectedCount(): number {
    return this.#count().all;
  }

  /** How many minions are connected here. Cached for `connectedCountAgeMsMax`: `max_minions` asks at every `_auth`, and an auth storm must not walk the fleet each time. */
  get hereCount(): number {
    return this.#count().here;
  }

  #count(): { readonly here: number; readonly all: number } {
    const nowMs = this.#now();
    if (nowMs - this.#countedMs >= connectedCountAgeMsMax) {
      this.#countedMs = nowMs;
      let here = 0;
      for (const id of this.#contactMs.keys()) if (this.isHere(id)) here += 1;
      let all = here;
      for (const _ of this.#onlyElsewhere()) all += 1;
      this.#counted = { here, all };
    }
    return this.#counted;
  }

  *#onlyElsewhere(): Iterable<string> {
    const { elsewhere, accepted } = this.#options;
    for (const id of elsewhere?.ids() ?? []) if (accepted.has(id) && !this.isHere(id)) yield id;
  }

  #isAnyElsewhere(): boolean {
    for (const _ of this.#onlyElsewhere()) return true;
    return false;
  }

  /**
   * Pings minions that have been silent for half the timeout. Minions silent for longer than the timeout take the places left in the round, each once
   * in six rounds. So dead minions do not delay others, and after a restart the whole fleet is asked within one timeout. A round has places for a
   * third of the fleet, because three rounds remain until the timeout of a minion that has been silent for half of it.
   */
  pingSilent(): void {
    const nowMs = this.#now();
    const { timeoutMs } = this.#options;
    const silent: string[] = [];
    const gone: string[] = [];
    for (const id of this.#inOrder()) {
      const silentMs = nowMs - (this.#contactMs.get(id) ?? Number.NEGATIVE_INFINITY);
      if (silentMs > timeoutMs) {
        // Another member that holds the minion as connected pings it.
        if (this.#options.elsewhere?.has(id) !== true) gone.push(id);
      } else if (silentMs >= timeoutMs / 2) silent.push(id);
    }
    const places = this.#places();
    // Minions that did not answer a ping come last, so that many that fail together do not keep living ones from being asked.
    const pinged = [
      ...silent.filter((id) => !this.#asked.has(id)),
      ...silent.filter((id) => this.#asked.has(id)),
    ].slice(0, places);
    if (this.#round % presenceRounds === 0) this.#untried = gone;
    this.#round += 1;
    pinged.push(...this.#untried.splice(0, places - pinged.length));
    if (pinged.length === 0) return;
    for (const id of pinged) this.#asked.add(id);
    this.counters.pings += pinged.length;
    this.#options.ping(this.#targetsOf(pinged)).catch(this.#options.onFault);
  }

  /** Lists of a third of a large fleet would cost more than they tell. */
  #places(): number {
    const { accepted, isListed } = this.#options;
    return isListed ? presencePingsMax : Math.max(presencePingsMax, Math.ceil(accepted.size / presenceRoundsSilent));
  }

  #targetsOf(ids: readonly string[]): readonly PingTarget[] {
    if (this.#options.isListed) return listTargets(ids, presencePingsMax);
    // With room for neighbours that are not silent, so that they do not make one publish more.
    const each = presencePingsMax + Math.ceil(this.#places() / presencePublishes);
    return pingTargets(new Set(ids), this.#inOrder(), each);
  }

  /** Neighbours come in one round, so that few bytes name them. */
  #inOrder(): readonly string[] {
    const { accepted } = this.#options;
    if (this.#sorted?.length !== accepted.size) this.#sorted = [...accepted].sort();
    return this.#sorted;
  }

  close(): void {
    clearInterval(this.#timer);
  }
}
