/**
 * Session keys of a cluster's minions. Every member derives the same from the cluster's secret, the minion and the time, so that a minion that moves to
 * another member need not authenticate again, and no session can be out of date on one of them. Source: RFC 5869 (HKDF).
 */
import { hkdfSync } from "node:crypto";
import { keyStringBytes } from "../../crypto/crypticle.ts";
import type { SessionRecord } from "./session-record.ts";

/** A key serves for the epoch that it is named after and for the next one. So it never lives longer than `publish_session`. */
const epochsOfSession = 2;

/**
 * @param secret 32 bytes, of the cluster
 * @param minionKey fingerprint of the minion's public key: the holder of a former key of the id cannot know the session
 * @param sessionMs `publish_session`
 * @returns the session that a member gives now; then the one before, and the one of a member whose clock is ahead
 */
export function derivedSessions(
  secret: Uint8Array,
  minion: { readonly id: string; readonly minionKey: string },
  sessionMs: number,
  nowMs: number,
): [SessionRecord, ...SessionRecord[]] {
  const epochMs = sessionMs / epochsOfSession;
  const epoch = Math.floor(nowMs / epochMs);
  const derived = (number: number): SessionRecord => {
    const info = `saltworks session 1\n${minion.id}\n${minion.minionKey}\n${epochMs} ${number}`;
    const bytes = Buffer.from(hkdfSync("sha256", secret, "", info, keyStringBytes));
    return { keyString: bytes.toString("base64"), createdMs: number * epochMs, minionKey: minion.minionKey };
  };
  return [derived(epoch), derived(epoch - 1), derived(epoch + 1)];
}
