/**
 * Where Python's `\b` and `\B` hold in texts beyond ASCII, for an engine whose own know ASCII words only: a mark before each character and
 * behind the last says which hold at that place, and a pattern asks for the mark that it has just passed. Pure.
 */
import { codeText } from "./classes.ts";
import type { Anchor } from "./nodes.ts";

/** No character of a text is taken for one: marks and characters take turns. */
const firstMark = 0x10ff00;
const unicodeBit = 1;
const asciiBit = 2;
/** In an empty text Python finds neither. */
const emptyMark = firstMark + 4;

/** Any mark. */
export const markSet = `[${codeText(firstMark)}-${codeText(emptyMark)}]`;

/** The engine's own `\b` and `\B` decide as Python's in texts of ASCII that are not empty. */
const ordinaryText = /^[\0-\x7f]+$/;

export function needsMarks(text: string): boolean {
  return !ordinaryText.test(text);
}

const unicodeWord = /[\p{L}\p{N}_]/u;
const asciiWord = /[A-Za-z0-9_]/;

/** `characters` with their marks, as one text. */
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

/** Behind a mark that says so. */
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
