/**
 * Python's `\b` and `\B` in texts beyond ASCII, on RE2, whose words are ASCII only. Inserts a mark character before each character of the text
 * and at its end, which encodes the boundaries at that place; the pattern tests the mark that it has just passed. Pure.
 */
import { codeText } from "./classes.ts";
import type { Anchor } from "./nodes.ts";

/** A character of the text is never mistaken for a mark, because marks and characters alternate. */
const firstMark = 0x10ff00;
const unicodeBit = 1;
const asciiBit = 2;
/** In an empty text neither `\b` nor `\B` matches. */
const emptyMark = firstMark + 4;

/** Matches any mark. */
export const markSet = `[${codeText(firstMark)}-${codeText(emptyMark)}]`;

/** In ASCII texts that are not empty the engine's own `\b` and `\B` equal Python's. */
const ordinaryText = /^[\0-\x7f]+$/;

export function needsMarks(text: string): boolean {
  return !ordinaryText.test(text);
}

const unicodeWord = /[\p{L}\p{N}_]/u;
const asciiWord = /[A-Za-z0-9_]/;

/** Returns `characters` with their marks. */
export function markedText(characters: readonly string[]): string {
  if (characters.length === 0) return String.fromCodePoint(emptyMark);
  const written: string[] = [];
  let before = 0;
  for (const character of characters) {
    const bits = (unicodeWord.test(character) ? unicodeBit : 0) | (asciiWord.test(character) ? asciiBit : 0);
    written.push(String.fromCodePoint(firstMark + (before ^ bits)), character);
    before = bits;
  }
  written.push(String.fromCodePoint(firstMark + before));
  return written.join("");
}

/** Each is a look-behind for a mark with that boundary. */
export const markedBoundaries = {
  boundary: behind((bits) => (bits & unicodeBit) !== 0),
  insideWord: behind((bits) => (bits & unicodeBit) === 0),
  asciiBoundary: behind((bits) => (bits & asciiBit) !== 0),
  asciiInsideWord: behind((bits) => (bits & asciiBit) === 0),
} satisfies Partial<Record<Anchor, string>>;

function behind(holds: (bits: number) => boolean): string {
  const marks = [0, 1, 2, 3].filter(holds).map((bits) => codeText(firstMark + bits));
  return `(?<=[${marks.join("")}])`;
}
