/**
 * Which connections may bring the body of a large request now. Connections that began later are not read meanwhile, so that TCP holds their bytes
 * back: a fleet that answers at once with a megabyte each neither fills the memory nor has its connections closed. Addresses take turns, so that one
 * address with many connections does not delay others. Pure: the time is an argument.
 */
import { largeTurnMs } from "../../limits.ts";
import { addressKey } from "./address.ts";

type Bringer = { readonly address: string };
/** `bytes`: what the body counts; 0 once its time is over while others wait. */
type Turn = { bytes: number; readonly sinceMs: number };

/** A body counts at most this share, so that several bodies of the largest size are under way. */
const shareMax = 1 / 4;

export class LargeTurns<Peer extends Bringer> {
  /** How often a connection had to wait. */
  waits = 0;
  readonly #bytesMax: number;
  readonly #turns = new Map<Peer, Turn>();
  /** By address (`addressKey`); the next in turn comes first. */
  readonly #lines = new Map<string, Map<Peer, number>>();
  /** Of the bodies that have a turn. */
  #bytes = 0;

  /** @param bytesMax announced bytes of the bodies under way */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Announced bytes of the bodies under way. */
  get bytes(): number {
    return this.#bytes;
  }

  isWaiting(peer: Peer): boolean {
    return this.#lines.size > 0 && this.#lines.get(addressKey(peer.address))?.has(peer) === true;
  }

  *waiting(): Generator<Peer> {
    for (const line of this.#lines.values()) yield* line.keys();
  }

  /** A connection has begun a body of `bodyBytes`, or goes on with it. @returns false if it must wait for `next` */
  ask(peer: Peer, bodyBytes: number, nowMs: number): boolean {
    if (this.#turns.has(peer)) return true;
    const bytes = Math.min(bodyBytes, this.#bytesMax * shareMax);
    if (this.#lines.size === 0 && this.#bytes + bytes <= this.#bytesMax) {
      this.#begin(peer, bytes, nowMs);
      return true;
    }
    const key = addressKey(peer.address);
    const line = this.#lines.get(key);
    if (line === undefined) this.#lines.set(key, new Map([[peer, bytes]]));
    else line.set(peer, bytes);
    this.waits += 1;
    return false;
  }

  /** The body is whole, or its connection is gone. @returns whether others may have room now */
  leave(peer: Peer): boolean {
    const turn = this.#turns.get(peer);
    if (turn !== undefined) {
      this.#turns.delete(peer);
      this.#bytes -= turn.bytes;
      return this.#lines.size > 0;
    }
    if (this.#lines.size === 0) return false;
    const key = addressKey(peer.address);
    const line = this.#lines.get(key);
    if (line?.delete(peer) === true && line.size === 0) this.#lines.delete(key);
    return false;
  }

  /** Gives a turn to the next that waits. @returns undefined if none waits, or there is no room */
  next(nowMs: number): Peer | undefined {
    for (const [address, line] of this.#lines) {
      const [first] = line;
      if (first === undefined) continue;
      const [peer, bytes] = first;
      if (this.#bytes + bytes > this.#bytesMax) return undefined;
      line.delete(peer);
      // After its turn an address goes behind the others.
      this.#lines.delete(address);
      if (line.size > 0) this.#lines.set(address, line);
      this.#begin(peer, bytes, nowMs);
      return peer;
    }
    return undefined;
  }

  /**
   * While others wait, a body counts for `largeTurnMs` at most: a slow client goes on with it, but delays no others. @returns whether others may have
   * room now
   */
  expire(nowMs: number): boolean {
    if (this.#lines.size === 0) return false;
    for (const turn of this.#turns.values()) {
      if (nowMs - turn.sinceMs < largeTurnMs) break;
      this.#bytes -= turn.bytes;
      turn.bytes = 0;
    }
    return true;
  }

  #begin(peer: Peer, bytes: number, nowMs: number): void {
    this.#turns.set(peer, { bytes, sinceMs: nowMs });
    this.#bytes += bytes;
  }
}
