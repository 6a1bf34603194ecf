/** Splits a command line into words as Python's `shlex.split` does (POSIX quoting, no comments). */

const blank = /[ \t\r\n]/;

/** The text of Python's `ValueError` for a command line that cannot be split. */
export type ShellWordsFault = { readonly fault: string };

export function shellWords(text: string): readonly string[] | ShellWordsFault {
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
      if (quoted === undefined) return { fault: "No closing quotation" };
      word = (word ?? "") + quoted.text;
      at = quoted.end;
    } else if (character === "\\") {
      if (at + 1 >= text.length) return { fault: "No escaped character" };
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
function readQuoted(text: string, start: number, quote: string): { text: string; end: number } | undefined {
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
  return undefined;
}
