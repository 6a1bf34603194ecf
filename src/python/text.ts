/** Text as Python's `str` treats it: characters, line ends, trailing blanks, order. */

/** Line ends of Python's `str.splitlines`, as members of a character class. */
const lineEnds = "\\n\\r\\v\\f\\x1c-\\x1e\\x85\\u2028\\u2029";
const lineBoundary = new RegExp(`\\r\\n|[${lineEnds}]`, "u");
const lineWithEnd = new RegExp(`[^${lineEnds}]*(?:\\r\\n|[${lineEnds}])|[^${lineEnds}]+`, "gu");

/** Python's `\s` in text: members of a character class. ECMAScript's lacks U+001C to U+001F and U+0085, and has U+FEFF. */
export const blankClass = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const blank = new RegExp(`[${blankClass}]`, "u");

/** A final line end does not add an empty line; an empty text has no lines. */
export function splitLines(text: string): string[] {
  const lines = text.split(lineBoundary);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** As `splitLines`, with the line ends. */
export function splitLinesWithEnds(text: string): string[] {
  return text.match(lineWithEnd) ?? [];
}

/** Searches backwards from the end, so that long runs of blanks inside the text cost nothing. */
export function stripEnd(text: string): string {
  let end = text.length;
  while (end > 0 && blank.test(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

/** The characters of a text as Python counts them: code points, not UTF-16 units. */
export function characters(text: string): readonly string[] {
  return Array.from(text);
}

/** Number of characters. */
export function textLength(text: string): number {
  let count = text.length;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit >= 0xd800 && unit <= 0xdbff) count -= 1;
  }
  return count;
}

/** Order by code point; JavaScript's `<` sorts characters beyond U+FFFF before U+E000. */
export function compareText(left: string, right: string): number {
  const end = Math.min(left.length, right.length);
  for (let index = 0; index < end; index += 1) {
    const a = left.charCodeAt(index);
    const b = right.charCodeAt(index);
    if (a === b) continue;
    const isSurrogateA = a >= 0xd800 && a <= 0xdfff;
    const isSurrogateB = b >= 0xd800 && b <= 0xdfff;
    if (isSurrogateA !== isSurrogateB) return isSurrogateA ? 1 : -1;
    return a - b;
  }
  return left.length - right.length;
}

/** Replaces ESC, which starts terminal control sequences, by `?`, so that a minion cannot control the operator's terminal. */
export function hideEscapes(text: string): string {
  return text.replaceAll("\x1b", "?");
}
