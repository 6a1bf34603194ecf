/**
 * Stored returns by the keys that a driver gives to `onStored`. Salt's own files are kept current from them: the queue keeps the keys, and only the
 * driver reads them.
 */

/** "gone": removed meanwhile. "damaged": not as it was stored. */
export type KeyedReturn =
  | { readonly jid: string; readonly minionId: string; readonly body: Uint8Array }
  | "gone"
  | "damaged";

/** Each method fails with SaltworksError STORE_FAILED. */
export interface KeyedReturns {
  /** Lets `at` find everything that is stored by now. */
  refresh(): Promise<void>;
  at(returnKey: Buffer): Promise<KeyedReturn>;
  /** Keys of stored returns, `atOnce` in a page, newest jobs first as far as the driver knows their order. At most `limit` keys. */
  newest(o: { readonly limit: number; readonly atOnce: number }): AsyncIterable<readonly Buffer[]>;
  close(): Promise<void>;
}
