/**
 * Strangers: connections without a proven request. Knows how many an address has, which is the oldest, and what each address owes for
 * messages that it began and did not finish. docs/decisions/0022-request-front.md.
 */
import { owingConnectionsMax } from "../../limits.ts";
import { addressKey } from "./address.ts";
import type { CloseReason, Peer } from "./peer.ts";
import type { RouterServerOptions } from "./router-options.ts";
import { UnfinishedDebts } from "./unfinished-debts.ts";

/** Reasons of a close in the middle of a message for which the client is charged; undefined: the client left. */
const ownDoings: ReadonlySet<CloseReason | undefined> = new Set([
  undefined,
  "malformed",
  "parts",
  "messageBytes",
  "commands",
  "messageTimeout",
  "heldBytes",
]);

export class Strangers {
  readonly #options: Pick<RouterServerOptions, "addressConnectionsMax" | "isProxy" | "messageBytesMax" | "onOwing">;
  /** Oldest first. */
  readonly #peers = new Set<Peer>();
  readonly #countOf = new Map<string, number>();
  readonly #debts: UnfinishedDebts;

  constructor(options: RouterServerOptions) {
    this.#options = options;
    this.#debts = new UnfinishedDebts(options.messageBytesMax);
  }

  get count(): number {
    return this.#peers.size;
  }

  get oldest(): Peer | undefined {
    const [oldest] = this.#peers;
    return oldest;
  }

  /** Bytes of messages that strangers began and did not finish, charged to their addresses. */
  get chargedBytes(): number {
    return this.#debts.chargedBytes;
  }

  /** Why the address may not have one more connection; undefined if it may. */
  refusalOf(address: string): "address" | "owesUnfinished" | undefined {
    const key = addressKey(address);
    const ofAddress = this.#countOf.get(key) ?? 0;
    const { addressConnectionsMax, isProxy } = this.#options;
    const isProxied = isProxy(address);
    if (addressConnectionsMax > 0 && ofAddress >= addressConnectionsMax && !isProxied) return "address";
    const isOwing = ofAddress >= owingConnectionsMax && this.#debts.owes(key, performance.now());
    return isOwing ? "owesUnfinished" : undefined;
  }

  join(peer: Peer): void {
    const key = addressKey(peer.address);
    this.#peers.add(peer);
    this.#countOf.set(key, (this.#countOf.get(key) ?? 0) + 1);
  }

  leave(peer: Peer): void {
    this.#peers.delete(peer);
    const key = addressKey(peer.address);
    const left = (this.#countOf.get(key) ?? 0) - 1;
    if (left > 0) this.#countOf.set(key, left);
    else this.#countOf.delete(key);
  }

  owes(peer: Peer): boolean {
    return this.#debts.owes(addressKey(peer.address), performance.now());
  }

  /** Charges the address for the message that the connection left unfinished, if the client is the cause. */
  charge(peer: Peer): void {
    const { isProxy, onOwing } = this.#options;
    if (!ownDoings.has(peer.closedFor) || isProxy(peer.address)) return;
    if (this.#debts.charge(addressKey(peer.address), peer.leftBytes, performance.now())) onOwing(peer.address);
  }

  /** Whether a connection of the address has proved itself within `provenAddressMs`. */
  hasProven(address: string): boolean {
    return this.#debts.isProven(addressKey(address), performance.now());
  }

  /** A connection of the address has proved itself. */
  noteProven(peer: Peer): void {
    if (!this.#options.isProxy(peer.address)) this.#debts.noteProven(addressKey(peer.address), performance.now());
  }

  /** A connection that had proved itself is gone. */
  noteProvenGone(peer: Peer): void {
    this.#debts.noteGone(addressKey(peer.address), performance.now());
  }
}
