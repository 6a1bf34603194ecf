/** The strangers' or the proven connections: their sums, their unfinished messages, and whether reading is paused. Pure except for the clock. */
import { LargeTurns } from "./large-turns.ts";
import type { Peer } from "./peer.ts";

export const peerGroupNames = ["strangers", "proven"] as const;
export type PeerGroupName = (typeof peerGroupNames)[number];

/** Sums over the connections of a group. */
export type GroupSum = "heldBytes" | "unreadBytes" | "unanswered";

export class PeerGroup {
  heldBytes = 0;
  unreadBytes = 0;
  unanswered = 0;
  /** How often reading was paused. */
  pauses = 0;
  /** Connections that were closed because the group held too much. */
  holdersClosed = 0;
  /** Connections with an unfinished greeting or message, oldest first. */
  readonly unfinished = new Set<Peer>();
  /** Connections that are not read because the group is paused. */
  readonly parked = new Set<Peer>();
  /** Large requests take turns. */
  readonly turns: LargeTurns<Peer>;
  isPaused = false;
  #pausedSinceMs = 0;
  #pausedMs = 0;

  /** @param largeBytesMax announced bytes of large requests under way */
  constructor(largeBytesMax: number) {
    this.turns = new LargeTurns(largeBytesMax);
  }

  /** A clock that stops while the group is paused, because a client cannot finish a message that is not read. */
  get clockMs(): number {
    return (this.isPaused ? this.#pausedSinceMs : performance.now()) - this.#pausedMs;
  }

  pause(): void {
    if (this.isPaused) return;
    this.pauses += 1;
    this.isPaused = true;
    this.#pausedSinceMs = performance.now();
  }

  resume(): void {
    if (!this.isPaused) return;
    this.isPaused = false;
    this.#pausedMs += performance.now() - this.#pausedSinceMs;
  }

  /** Takes over a connection with its held bytes; its deadline stays. */
  join(peer: Peer, from: PeerGroup): void {
    for (const group of [from, this]) {
      const sign = group === this ? 1 : -1;
      group.heldBytes += sign * peer.countedHeldBytes;
      group.unreadBytes += sign * peer.countedUnreadBytes;
      group.unanswered += sign * peer.unanswered;
    }
    from.parked.delete(peer);
    from.turns.leave(peer);
    if (!from.unfinished.delete(peer)) return;
    this.unfinished.add(peer);
    const ageMs = from.clockMs - (peer.unfinishedSinceMs ?? from.clockMs);
    peer.unfinishedSinceMs = this.clockMs - ageMs;
  }

  leave(peer: Peer): void {
    this.heldBytes -= peer.countedHeldBytes;
    this.unreadBytes -= peer.countedUnreadBytes;
    this.unanswered -= peer.unanswered;
    this.unfinished.delete(peer);
    this.parked.delete(peer);
    this.turns.leave(peer);
  }

  /** Whether a connection may go on with its message: a large one needs a turn. While it waits for that, its deadline does not run. */
  mayGoOn(peer: Peer, hasFinishedOne: boolean): boolean {
    const bytes = peer.largeBodyBytes;
    if (hasFinishedOne || bytes === 0) this.turns.leave(peer);
    if (bytes === 0 || this.turns.ask(peer, bytes, this.clockMs)) return true;
    this.unfinished.delete(peer);
    peer.unfinishedSinceMs = undefined;
    return false;
  }

  /**
   * The connection to close if the group holds too much: the one with the oldest unfinished message, since honest clients finish theirs; without any,
   * one whose bytes wait to be processed.
   */
  get oldestHolder(): Peer | undefined {
    for (const waiting of [this.unfinished, this.parked, this.turns.waiting()])
      for (const peer of waiting) if (peer.countedHeldBytes > 0) return peer;
    return undefined;
  }
}
