/** The file by which a member knows that it has joined its cluster: it names the cluster and the key pair. */
import { createHash, createPublicKey } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Member } from "../../cluster/member.ts";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { SaltworksError } from "../../errors.ts";
import type { MasterKeyPair } from "../../store/keys/master-keys.ts";

/** Says which cluster's key pair this master has. */
export const markOf = (member: Member) => join(member.directory, "joined");
export const markText = ({ clusterId }: Member, { privatePem }: MasterKeyPair) =>
  `${clusterId} ${createHash("sha256")
    .update(createPublicKey(privatePem).export({ type: "spki", format: "der" }))
    .digest("hex")}\n`;

/** @throws SaltworksError STORE_FAILED if it is there and cannot be read: this member would wait for a majority as if it had never joined */
export function readMark(member: Member): string | undefined {
  const file = markOf(member);
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    if (hasCodeIn(cause, "ENOENT")) return undefined;
    throw new SaltworksError("STORE_FAILED", `${file} cannot be read`, { file }, { cause });
  }
}
