/**
 * Replaces the OpenPGP messages in a text, or in all texts of lists and maps, by their content. Source: Salt 3007's renderer `gpg`, observed.
 */
import { isUtf8 } from "node:buffer";
import { hasCode, type SaltworksError } from "../../errors.ts";
import type { Value } from "../../wire/values.ts";
import type { GpgMessages } from "./messages.ts";

const messagePattern = /-----BEGIN PGP MESSAGE-----[\s\S]*?-----END PGP MESSAGE-----/g;

export type Decryption = {
  readonly gpg: GpgMessages;
  /** Messages that are never decrypted. */
  readonly exempt: () => ReadonlySet<string>;
  /** Writes to the master's log only. */
  readonly note: (fault: string) => void;
};

/**
 * Changes maps and lists in place. Content that is not UTF-8 becomes bytes.
 *
 * @returns the value, or what replaces a text
 * @throws SaltworksError PILLAR_FAILED if a message cannot be decrypted and `gpg_decrypt_must_succeed` is set
 */
export function decryptIn(value: Value, decryption: Decryption, seen = new Set<Value>()): Value {
  if (typeof value === "string") {
    const bytes = decryptText(value, "utf8", decryption);
    return bytes === undefined ? value : textOf(bytes);
  }
  // External sources such as `file_tree` give bytes. As in Salt, they become text where they are UTF-8, also without a message.
  if (value instanceof Uint8Array)
    return textOf(decryptText(Buffer.from(value).toString("latin1"), "latin1", decryption) ?? Buffer.from(value));
  if (!(Array.isArray(value) || value instanceof Map) || seen.has(value)) return value;
  // YAML's aliases share values.
  seen.add(value);
  if (value instanceof Map) for (const [key, inner] of value) value.set(key, decryptIn(inner, decryption, seen));
  else for (const [index, inner] of value.entries()) value[index] = decryptIn(inner, decryption, seen);
  return value;
}

function textOf(bytes: Buffer): Value {
  return isUtf8(bytes) ? bytes.toString("utf8") : new Uint8Array(bytes);
}

/** `encoding`: how the text's characters stand for bytes. @returns undefined for a text without messages */
function decryptText(text: string, encoding: "utf8" | "latin1", decryption: Decryption): Buffer | undefined {
  const parts: Buffer[] = [];
  let end = 0;
  for (const { 0: message, index } of text.matchAll(messagePattern)) {
    parts.push(Buffer.from(text.slice(end, index), encoding), contentOf(message, decryption));
    end = index + message.length;
  }
  if (end === 0) return undefined;
  return withoutLineBreaks(Buffer.concat([...parts, Buffer.from(text.slice(end), encoding)]));
}

/** As in Salt, line breaks at the end are dropped: a YAML block adds one, and so do many who encrypt. */
function withoutLineBreaks(bytes: Buffer): Buffer {
  let { length } = bytes;
  while (length > 0 && bytes[length - 1] === 0x0a) length -= 1;
  return bytes.subarray(0, length);
}

function contentOf(message: string, { gpg, exempt, note }: Decryption): Buffer {
  // As in Salt, `\n` may stand for line breaks, so that a message fits on a line.
  const written = message.replaceAll("\\n", "\n");
  if (exempt().has(written)) return Buffer.from(message);
  try {
    return gpg.decrypt(written);
  } catch (error) {
    if (gpg.settings.mustSucceed || !hasCode(error, "PILLAR_FAILED")) throw error;
    note(`${(error as SaltworksError).message}; it stays as it is (gpg_decrypt_must_succeed)`);
    return Buffer.from(written);
  }
}

/**
 * Leaves the messages alone that a minion sent in `values`, unlike Salt. Otherwise a minion could have the master decrypt any message that it
 * knows, such as another minion's.
 */
export function decryptionExcept(values: Value, note: Decryption["note"]): Omit<Decryption, "gpg"> {
  let found: ReadonlySet<string> | undefined;
  return {
    exempt: () => {
      found ??= messagesIn(values);
      return found;
    },
    note,
  };
}

/** The messages in a value, in the form of `Decryption.exempt`. */
function messagesIn(value: Value, found = new Set<string>()): ReadonlySet<string> {
  if (typeof value === "string")
    for (const [message] of value.matchAll(messagePattern)) found.add(message.replaceAll("\\n", "\n"));
  else if (Array.isArray(value)) for (const inner of value) messagesIn(inner, found);
  else if (value instanceof Map) for (const inner of value.values()) messagesIn(inner, found);
  return found;
}
