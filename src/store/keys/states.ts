/**
 * The states of a minion's key, Salt's directories for them, and the check of ids that name files there.
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
/** Folder of empty files. Each is named like an id that is accepted once. */
export const autosignFolder = "minions_autosign";

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it refuses
const forbidden = /[/\\\u0000-\u001f\u007f]/;

/**
 * Whether an id may be a file name in the key directories: without separators and control characters, at most `minionIdBytesMax` bytes, and without
 * a dot at its start. Salt's listings skip dotfiles, so a key with such a name could never be accepted.
 */
export function idIsValid(id: string): boolean {
  if (id === "" || id.startsWith(".") || forbidden.test(id)) return false;
  return Buffer.byteLength(id) <= minionIdBytesMax;
}
