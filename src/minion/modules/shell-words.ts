/** Splits a command line into words as Python's `shlex.split` does (POSIX quoting, no comments). */
import { pythonException } from "../function-errors.ts";

const blank = /[ \t\r\n]/;

/** @throws SaltworksError FUNCTION_FAILED with Python's ValueError for an open quote or a trailing backslash */
export function splitShellWords(text: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let at = 0;
  while (at < text.length) {
    const character = text[at] ?? "";
    if (blank.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
      at += 1;
    } else if (character === "'" || character === '"') {
      const quoted = readQuoted(text, at + 1, character);
      word = (word ?? "") + quoted.text;
      at = quoted.end;
    } else if (character === "\\") {
      if (at + 1 >= text.length) throw pythonException("ValueError", "No escaped character");
      word = (word ?? "") + text[at + 1];
      at += 2;
    } else {
      word = (word ?? "") + character;
      at += 1;
    }
  }
  if (word !== undefined) words.push(word);
  return words;
}

/** In double quotes a backslash escapes only itself and the quote; in single quotes nothing. */
function readQuoted(text: string, start: number, quote: string): { text: string; end: number } {
  let body = "";
  let at = start;
  while (at < text.length) {
    const character = text[at] ?? "";
    if (character === quote) return { text: body, end: at + 1 };
    const next = text[at + 1];
    if (quote === '"' && character === "\\" && (next === '"' || next === "\\")) {
      body += next;
      at += 2;
    } else {
      body += character;
      at += 1;
    }
  }
  throw pythonException("ValueError", "No closing quotation");
}
