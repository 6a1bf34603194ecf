/**
 * Charges addresses of strangers for unfinished bytes: messages that begin and never end. An address may leave one message of
 * the largest size unfinished, because connections break. More is a debt, which decreases with time. Addresses of proven
 * connections owe nothing. Pure: no I/O, no clock.
 */
import {
  owingAddressesMax,
  provenAddressesMax,
  provenAddressMs,
  unfinishedBytesOwedMax,
  unfinishedBytesPerSecondMax,
} from "../../limits.ts";

type Debt = { bytes: number; countedMs: number };
/** `connections`: number of open proven ones. */
type Proven = { connections: number; lastMs: number };

export class UnfinishedDebts {
  /** Sum of the bytes charged to addresses. */
  chargedBytes = 0;
  readonly #freeBytes: number;
  readonly #debts = new Map<string, Debt>();
  readonly #proven = new Map<string, Proven>();

  /** @param freeBytes unfinished bytes of an address without a debt */
  constructor(freeBytes: number) {
    this.#freeBytes = freeBytes;
  }

  /** @returns whether the address owes now and did not before */
  charge(address: string, bytes: number, nowMs: number): boolean {
    if (bytes === 0 || this.isProven(address, nowMs)) return false;
    this.chargedBytes += bytes;
    const owedBytes = this.#bytesOf(address, nowMs);
    const sum = Math.min(this.#freeBytes + unfinishedBytesOwedMax, owedBytes + bytes);
    this.#debts.delete(address);
    this.#debts.set(address, { bytes: sum, countedMs: nowMs });
    forgetOldest(this.#debts, owingAddressesMax);
    return owedBytes <= this.#freeBytes && sum > this.#freeBytes;
  }

  owes(address: string, nowMs: number): boolean {
    if (this.#debts.size === 0) return false;
    return this.#bytesOf(address, nowMs) > this.#freeBytes;
  }

  /** Whether a connection of the address has proved something within `provenAddressMs`. */
  isProven(address: string, nowMs: number): boolean {
    const proven = this.#proven.get(address);
    return proven !== undefined && (proven.connections > 0 || nowMs - proven.lastMs < provenAddressMs);
  }

  /** A connection of this address has proved something. */
  noteProven(address: string, nowMs: number): void {
    const connections = (this.#proven.get(address)?.connections ?? 0) + 1;
    this.#debts.delete(address);
    this.#proven.delete(address);
    this.#proven.set(address, { connections, lastMs: nowMs });
    forgetOldest(this.#proven, provenAddressesMax);
  }

  /** A connection that had proved something is gone. */
  noteGone(address: string, nowMs: number): void {
    const proven = this.#proven.get(address);
    if (proven === undefined) return;
    proven.connections = Math.max(0, proven.connections - 1);
    proven.lastMs = nowMs;
  }

  #bytesOf(address: string, nowMs: number): number {
    const debt = this.#debts.get(address);
    if (debt === undefined) return 0;
    const passedMs = Math.max(0, nowMs - debt.countedMs);
    debt.bytes = Math.max(0, debt.bytes - (passedMs / 1_000) * unfinishedBytesPerSecondMax);
    debt.countedMs = nowMs;
    if (debt.bytes === 0) this.#debts.delete(address);
    return debt.bytes;
  }
}

/** Forgets the entries that were written longest ago. */
function forgetOldest(map: Map<string, unknown>, countMax: number): void {
  if (map.size <= countMax) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}
