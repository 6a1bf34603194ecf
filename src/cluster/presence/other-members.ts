/** Which minions the other members hold as connected, from what those members tell. A member that is silent counts as gone, with its minions. */
import { presenceIdsOfMemberMax, presenceMembersMax, presenceSilentMs } from "../../limits.ts";
import type { PresenceMessage } from "./message.ts";

type Other = {
  session: string;
  seq: number;
  heardMs: number;
  ids: Set<string>;
  /** The parts of a whole list that have come; undefined if none is on its way. */
  listed: Set<string> | undefined;
  /** Whether `ids` is all that the member has. */
  isWhole: boolean;
};

export class OtherMembers {
  /** `gaps`: messages that were missed, after which a whole list is asked for. `gone`: members that fell silent. `dropped`: beyond a bound. */
  readonly counters = { messages: 0, gaps: 0, gone: 0, dropped: 0 };
  /** Called with a minion that has come to, or has left, the other members. */
  onArrived: (id: string) => void = () => undefined;
  onLeft: (id: string) => void = () => undefined;
  readonly #others = new Map<string, Other>();

  get memberCount(): number {
    return this.#others.size;
  }

  /** Whether a whole list is missing. */
  get lacksList(): boolean {
    return [...this.#others.values()].some(({ isWhole }) => !isWhole);
  }

  has(id: string): boolean {
    for (const { ids } of this.#others.values()) if (ids.has(id)) return true;
    return false;
  }

  /** Each minion once. */
  *ids(): Iterable<string> {
    const others = [...this.#others.values()];
    for (const [index, { ids }] of others.entries()) {
      const before = others.slice(0, index);
      for (const id of ids) if (!before.some((other) => other.ids.has(id))) yield id;
    }
  }

  /** How many minions each member holds. */
  counts(): ReadonlyMap<string, number> {
    return new Map([...this.#others].map(([name, { ids }]) => [name, ids.size]));
  }

  /** Takes another member's message. @param nowMs a monotonic clock */
  take(message: PresenceMessage, nowMs: number): void {
    this.counters.messages += 1;
    if (message.kind === "end") {
      this.#remove(message.by);
      return;
    }
    const other = this.#otherOf(message, nowMs);
    if (other === undefined) return;
    if (message.seq !== other.seq + 1 && message.seq !== 1) {
      if (other.seq > 0) this.counters.gaps += 1;
      other.isWhole = false;
      other.listed = undefined;
    }
    other.seq = message.seq;
    other.heardMs = nowMs;
    if (message.kind === "change") this.#change(other, message.came, message.gone);
    else if (message.kind === "list") this.#list(other, message);
  }

  /** Drops the members that were not heard of for `presenceSilentMs`. @returns their names */
  expire(nowMs: number): string[] {
    const silent = [...this.#others].flatMap(([name, { heardMs }]) =>
      nowMs - heardMs > presenceSilentMs ? [name] : [],
    );
    for (const name of silent) {
      this.counters.gone += 1;
      this.#remove(name);
    }
    return silent;
  }

  clear(): void {
    for (const name of [...this.#others.keys()]) this.#remove(name);
  }

  /** The member as it is known; anew for another session. */
  #otherOf({ by, session }: PresenceMessage, nowMs: number): Other | undefined {
    const known = this.#others.get(by);
    if (known?.session === session) return known;
    if (known === undefined && this.#others.size >= presenceMembersMax) {
      this.counters.dropped += 1;
      return undefined;
    }
    this.#remove(by);
    const other = { session, seq: 0, heardMs: nowMs, ids: new Set<string>(), listed: undefined, isWhole: false };
    this.#others.set(by, other);
    return other;
  }

  #change(other: Other, came: readonly string[], gone: readonly string[]): void {
    for (const id of came) this.#add(other.ids, id);
    for (const id of gone) if (other.ids.delete(id)) this.#noteLeft(id);
  }

  #list(other: Other, { isFirst, isLast, ids }: Extract<PresenceMessage, { kind: "list" }>): void {
    if (isFirst) other.listed = new Set();
    const { listed } = other;
    // The beginning of this list was missed.
    if (listed === undefined) return;
    for (const id of ids) {
      if (listed.size < presenceIdsOfMemberMax) listed.add(id);
      else this.counters.dropped += 1;
    }
    if (!isLast) return;
    const former = other.ids;
    const arrived = [...listed].filter((id) => !this.has(id));
    other.ids = listed;
    other.listed = undefined;
    other.isWhole = true;
    for (const id of arrived) this.onArrived(id);
    for (const id of former) if (!listed.has(id)) this.#noteLeft(id);
  }

  #add(ids: Set<string>, id: string): void {
    if (ids.size >= presenceIdsOfMemberMax) {
      this.counters.dropped += 1;
      return;
    }
    const isNew = !this.has(id);
    ids.add(id);
    if (isNew) this.onArrived(id);
  }

  #remove(name: string): void {
    const ids = this.#others.get(name)?.ids ?? [];
    this.#others.delete(name);
    for (const id of ids) this.#noteLeft(id);
  }

  #noteLeft(id: string): void {
    if (!this.has(id)) this.onLeft(id);
  }
}
