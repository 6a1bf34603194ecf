/** Fills text into lines as Python's textwrap: blanks inside lines stay, words can break at hyphens. */
import { textLength } from "../../python/text.ts";

/** Each line starts with `indent` blanks, which count as part of `width`. */
export function wrapWords(text: string, width: number, indent: number): string {
  const room = width - indent;
  const lines: string[] = [];
  let line = "";
  for (const piece of piecesOf(text)) {
    for (const part of textLength(piece) > room ? cut(piece, room - textLength(line), room) : [piece]) {
      if (textLength(line) + textLength(part) > room) {
        lines.push(line);
        line = "";
      }
      const isLeadingBlank = line === "" && part.trim() === "" && lines.length > 0;
      if (!isLeadingBlank) line += part;
    }
  }
  lines.push(line);
  return lines.map((full) => " ".repeat(indent) + full.trimEnd()).join("\n");
}

/** Splits into runs of blanks and words. Words are cut after a hyphen between letters. */
function piecesOf(text: string): string[] {
  const blanks = text.replaceAll("\t", " ".repeat(8)).replaceAll(/[\n\v\f\r]/gu, " ");
  return blanks.split(/( +)|(?<=\p{L}{2}-)(?=\p{L}{2})/u).filter((piece) => piece !== undefined && piece !== "");
}

/** Cuts a word that is longer than a line: its first part fills the rest of the current line, of `first` columns. */
function cut(word: string, first: number, room: number): string[] {
  const characters = [...word];
  const start = Math.max(first, 0);
  const parts = start > 0 ? [characters.slice(0, start).join("")] : [];
  for (let from = start; from < characters.length; from += room)
    parts.push(characters.slice(from, from + room).join(""));
  return parts;
}
