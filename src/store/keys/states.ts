/**
 * The states of a minion's key and the directories of Salt that hold them; which ids may name a file there.
 * Source: docs/protocol.md section 3.3.
 */
import { minionIdBytesMax } from "../../limits.ts";

export type KeyState = "accepted" | "pending" | "rejected" | "denied";
export const keyFolders: Readonly<Record<KeyState, string>> = {
  accepted: "minions",
  pending: "minions_pre",
  rejected: "minions_rejected",
  denied: "minions_denied",
};
export const keyStates: readonly KeyState[] = ["accepted", "pending", "rejected", "denied"];
/** Empty files named like an id that is accepted once. */
export const autosignFolder = "minions_autosign";

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it refuses
const forbidden = /[/\\\u0000-\u001f\u007f]/;

/**
 * Whether an id may be a file name in the key directories: no separators, no control characters, not `.` or `..` nor
 * any other dotfile (Salt's listings skip those, so such a key could never be accepted), at most `minionIdBytesMax` bytes.
 */
export function idIsValid(id: string): boolean {
  if (id === "" || id.startsWith(".") || forbidden.test(id)) return false;
  return Buffer.byteLength(id) <= minionIdBytesMax;
}
