/**
 * Python's character classes `\d`, `\s`, `\w` as code-point ranges. Patterns of text follow Unicode.
 * Source: Python's `str.isdecimal`, `str.isspace`, `str.isalnum`.
 */

/** First and last code point, or the name of a Unicode category (`\p{name}`) with its sign. */
export type CodeRange = readonly [number, number] | { readonly category: string; readonly isNegated: boolean };

const spaces: readonly CodeRange[] = [
  [0x09, 0x0d],
  [0x1c, 0x20],
  [0x85, 0x85],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
];
const category = (name: string): CodeRange => ({ category: name, isNegated: false });

export const unicodeSets: Readonly<Record<string, readonly CodeRange[]>> = {
  d: [category("Nd")],
  s: spaces,
  w: [category("L"), category("N"), [0x5f, 0x5f]],
};
export const asciiSets: Readonly<Record<string, readonly CodeRange[]>> = {
  d: [[0x30, 0x39]],
  s: [
    [0x09, 0x0d],
    [0x20, 0x20],
  ],
  w: [
    [0x30, 0x39],
    [0x41, 0x5a],
    [0x5f, 0x5f],
    [0x61, 0x7a],
  ],
};

/** Complement of `\w`: all other categories; connector punctuation (Pc) is listed by code point to exclude `_`. */
const outsideWords: readonly CodeRange[] = [
  ...["M", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "S", "Z", "C"].map(category),
  [0x203f, 0x2040],
  [0x2054, 0x2054],
  [0xfe33, 0xfe34],
  [0xfe4d, 0xfe4f],
  [0xff3f, 0xff3f],
];

/** `\D`, `\S`, `\W`: as ranges, because a set of the engine cannot hold the complement of several ranges. */
export function complement(members: readonly CodeRange[]): readonly CodeRange[] {
  if (members === unicodeSets.w) return outsideWords;
  const result: CodeRange[] = [];
  let next = 0;
  for (const member of members) {
    if ("category" in member) return [{ category: member.category, isNegated: true }];
    if (member[0] > next) result.push([next, member[0] - 1]);
    next = member[1] + 1;
  }
  result.push([next, 0x10ffff]);
  return result;
}

/** A range as RE2 writes it inside a set. */
export function rangeText(range: CodeRange): string {
  if ("category" in range) return `\\${range.isNegated ? "P" : "p"}{${range.category}}`;
  const [first, last] = range;
  return first === last ? codeText(first) : `${codeText(first)}-${codeText(last)}`;
}

export function codeText(code: number): string {
  return `\\x{${code.toString(16)}}`;
}
