/** Parses Python's replacement texts (`re.sub`): `\1`, `\g<name>` and escapes. Pure. */
import { SaltworksError } from "../../errors.ts";

const escapes: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
};

const reference = /\\(?:g<([^>]*)>|g|(0[0-7]{0,2}|[0-3][0-7]{2})|([1-9]\d?)|([\s\S]?))/g;

/**
 * Returns texts and numbers of groups (0: the whole match).
 *
 * @throws SaltworksError TARGET_INVALID if Python refuses the text
 */
export function parseReplacement(
  template: string,
  groupCount: number,
  names: ReadonlyMap<string, number>,
): (string | number)[] {
  const parts: (string | number)[] = [];
  let at = 0;
  for (const found of template.matchAll(reference)) {
    const [whole, name, octal, digits, letter] = found;
    parts.push(template.slice(at, found.index));
    at = found.index + whole.length;
    if (name !== undefined) parts.push(groupNumber(name, groupCount, names));
    else if (octal !== undefined) parts.push(String.fromCharCode(Number.parseInt(octal, 8)));
    else if (digits !== undefined) parts.push(groupNumber(digits, groupCount, names));
    else if (letter === undefined) throw fault("missing <");
    else parts.push(escaped(letter));
  }
  parts.push(template.slice(at));
  return parts.filter((part) => part !== "");
}

function groupNumber(name: string, groupCount: number, names: ReadonlyMap<string, number>): number {
  if (/^\d+$/.test(name)) {
    const number = Number(name);
    if (number > groupCount) throw fault(`invalid group reference ${number}`);
    return number;
  }
  const number = names.get(name);
  if (number === undefined) throw fault(name === "" ? "missing group name" : `unknown group name '${name}'`);
  return number;
}

/** Meaning of a backslash before any other letter. */
function escaped(letter: string): string {
  const plain = escapes[letter];
  if (plain !== undefined) return plain;
  if (letter === "" || /[A-Za-z]/.test(letter))
    throw fault(letter === "" ? "bad escape (end of pattern)" : `bad escape \\${letter}`);
  return `\\${letter}`;
}

function fault(reason: string): SaltworksError {
  return new SaltworksError("TARGET_INVALID", `replacement invalid: ${reason}`, { isRefused: false });
}
