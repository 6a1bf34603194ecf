/** Decodes a command's output as Salt does. */
import { TextDecoder } from "node:util";
import { pythonException } from "../../functions/errors.ts";

/** Removes the end that Python's `str.rstrip` removes: Unicode's white space and the separators U+001C to U+001F. */
export function stripEnd(text: string): string {
  let end = text.length;
  while (end > 0 && isBlank(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

function isBlank(code: number): boolean {
  if (code <= 0x20) return (code >= 0x09 && code <= 0x0d) || code >= 0x1c;
  if (code < 0x85) return false;
  return code === 0x85 || (code !== 0xfeff && /\s/.test(String.fromCharCode(code)));
}

/**
 * Decodes output. Invalid bytes become U+FFFD.
 *
 * @param encoding - `output_encoding`
 * @throws SaltworksError FUNCTION_FAILED with Python's LookupError for an unknown encoding
 */
export function decodeOutput(bytes: Uint8Array, encoding = "utf-8"): string {
  const name = encoding.toLowerCase().replaceAll("_", "-");
  // TextDecoder reads Latin-1 and ASCII as windows-1252, as browsers do, and Python does not.
  if (/^(latin-?1|iso-?8859-1|l1)$/.test(name)) return Buffer.from(bytes).toString("latin1");
  if (/^(us-)?ascii$/.test(name)) return Array.from(bytes, asciiCharacter).join("");
  return decoderOf(encoding).decode(bytes);
}

function asciiCharacter(code: number): string {
  return code < 0x80 ? String.fromCharCode(code) : "\ufffd";
}

function decoderOf(encoding: string): TextDecoder {
  try {
    return new TextDecoder(encoding, { ignoreBOM: true });
  } catch (error) {
    if (error instanceof RangeError) throw pythonException("LookupError", `unknown encoding: ${encoding}`);
    throw error;
  }
}
