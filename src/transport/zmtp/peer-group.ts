/** Connections of one standing, strangers or proven ones: what they hold together, which are unfinished, and whether they are read now. Pure, but for the clock. */
import type { Peer } from "./peer.ts";

export const peerGroupNames = ["strangers", "proven"] as const;
export type PeerGroupName = (typeof peerGroupNames)[number];

/** Sums over the connections of a group. */
export type GroupSum = "heldBytes" | "unreadBytes" | "unanswered";

export class PeerGroup {
  heldBytes = 0;
  unreadBytes = 0;
  unanswered = 0;
  /** How often reading stopped. */
  pauses = 0;
  /** Connections that were closed because the group held too much. */
  holdersClosed = 0;
  /** In the order in which their greeting or message began. */
  readonly unfinished = new Set<Peer>();
  /** Connections that are not read because the group is paused. */
  readonly parked = new Set<Peer>();
  isPaused = false;
  #pausedSinceMs = 0;
  #pausedMs = 0;

  /** Stands still while the group is paused: a client cannot finish what is not read. */
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

  /** Takes over a connection with what it holds. Its time goes on. */
  join(peer: Peer, from: PeerGroup): void {
    for (const group of [from, this]) {
      const sign = group === this ? 1 : -1;
      group.heldBytes += sign * peer.countedHeldBytes;
      group.unreadBytes += sign * peer.countedUnreadBytes;
      group.unanswered += sign * peer.unanswered;
    }
    from.parked.delete(peer);
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
  }

  /** The connection to close if the group holds too much: the oldest unfinished one, since honest clients finish. Without any, one whose bytes wait unread. */
  get oldestHolder(): Peer | undefined {
    for (const waiting of [this.unfinished, this.parked])
      for (const peer of waiting) if (peer.countedHeldBytes > 0) return peer;
    return undefined;
  }
}
