/**
 * Minions' keys that were removed or replaced while no master ran: what their former holders were given counts no more. Each stored session names the key
 * that it was given to.
 */
import type { KeyDirectories } from "../store/keys.ts";
import type { MinionData } from "../store/minion-data.ts";
import type { SecretBox } from "../store/sealed.ts";
import { openSession, sessionKeyName } from "../workers/session-record.ts";

export type LostKeysOptions = {
  readonly minions: Pick<MinionData, "sessionIds" | "getSession" | "dropSession">;
  readonly keys: Pick<KeyDirectories, "read">;
  readonly box: SecretBox;
};

/** Before any worker starts. @returns whose session was dropped: such a holder knows the AES key, too */
export async function dropSessionsOfLostKeys({ minions, keys, box }: LostKeysOptions): Promise<string[]> {
  const lost = minions.sessionIds().filter((id) => {
    const sealed = minions.getSession(id);
    const record = sealed === undefined ? undefined : openSession(box, id, sealed);
    if (record === undefined) return false;
    const pem = keys.read("accepted", id);
    return pem === undefined || (record.minionKey !== undefined && record.minionKey !== sessionKeyName(pem));
  });
  for (const id of lost) await minions.dropSession(id);
  return lost;
}
