/**
 * Drops the sessions of minions whose keys were removed or replaced while no master ran. A stored session names the key that it was given to.
 * An unreadable key file, or a missing directory, ends no session.
 */
import type { Logger } from "pino";
import { logItemsMax } from "../../limits.ts";
import type { KeyDirectories } from "../../store/keys/keys.ts";
import type { MinionData } from "../../store/minions/data.ts";
import type { SecretBox } from "../../store/secrets/sealed.ts";
import { openSession, sessionKeyName } from "../../workers/state/session-record.ts";

export type LostKeysOptions = {
  readonly minions: Pick<MinionData, "sessionIds" | "getSession" | "dropSession">;
  readonly keys: Pick<KeyDirectories, "read" | "list">;
  readonly box: SecretBox;
  readonly logger: Pick<Logger, "warn">;
  /**
   * Called before the sessions are dropped, so that the next start finds them again if this one fails. The holders of the lost keys know the AES key.
   */
  readonly onLost: (ids: readonly string[]) => Promise<void>;
};

/** Call it before any worker starts. @returns the ids whose session was dropped */
export async function dropSessionsOfLostKeys({
  minions,
  keys,
  box,
  logger,
  onLost,
}: LostKeysOptions): Promise<string[]> {
  const ids = minions.sessionIds();
  if (ids.length > 0 && keys.list("accepted").length === 0) {
    // A broken link or a late mount of `pki_dir` must not make the whole fleet authenticate again.
    logger.warn(
      { sessions: ids.length },
      "pki_dir holds no accepted key, and sessions of minions are kept: is it the right directory?",
    );
    return [];
  }
  const unreadable: Error[] = [];
  const lost = ids.filter((id) => {
    const sealed = minions.getSession(id);
    const record = sealed === undefined ? undefined : openSession(box, id, sealed);
    if (record === undefined) return false;
    try {
      const pem = keys.read("accepted", id);
      return pem === undefined || (record.minionKey !== undefined && record.minionKey !== sessionKeyName(pem));
    } catch (error) {
      unreadable.push(error as Error);
      return false;
    }
  });
  if (unreadable.length > 0) {
    const faults = unreadable.slice(0, logItemsMax).map(({ message }) => message);
    logger.warn({ count: unreadable.length, faults }, "keys of minions cannot be read: their sessions are kept");
  }
  if (lost.length > 0) await onLost(lost);
  for (const id of lost) await minions.dropSession(id);
  return lost;
}
