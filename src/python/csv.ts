/** Reads CSV as Python's `csv` module does in its named dialects. Source: Python 3.11, observed. */
import { raised } from "./errors.ts";

type Dialect = { readonly delimiter: string };

/** Python's dialects differ here only by the delimiter: the others differ in how they write. */
const dialects: Readonly<Record<string, Dialect>> = {
  excel: { delimiter: "," },
  "excel-tab": { delimiter: "\t" },
  unix: { delimiter: "," },
};
/** Python's `csv.field_size_limit()`. */
const fieldCharactersMax = 131_072;

/** Yields a list of fields for each row; an empty list for an empty line. @throws SaltworksError PYTHON_RAISED */
export function* csvRows(text: string, dialectName: string): Generator<string[]> {
  const dialect = Object.hasOwn(dialects, dialectName) ? dialects[dialectName] : undefined;
  if (dialect === undefined) throw raised("Error", "unknown dialect");
  // As Python opens the file, each kind of line break is "\n".
  const source = text.replaceAll(/\r\n?/g, "\n");
  let at = 0;
  while (at < source.length) {
    const row = rowAt(source, at, dialect);
    at = row.end;
    yield row.fields;
  }
}

function rowAt(
  source: string,
  start: number,
  { delimiter }: Dialect,
): { readonly fields: string[]; readonly end: number } {
  if (source[start] === "\n") return { fields: [], end: start + 1 };
  const fields: string[] = [];
  let at = start;
  for (;;) {
    const field = fieldAt(source, at, delimiter);
    if (field.text.length > fieldCharactersMax)
      throw raised("Error", `field larger than field limit (${fieldCharactersMax})`);
    fields.push(field.text);
    at = field.end;
    if (source[at] !== delimiter) return { fields, end: at + 1 };
    at += 1;
  }
}

/** `end`: the place of the delimiter, of the line's end or of the text's end. */
function fieldAt(source: string, start: number, delimiter: string): { readonly text: string; readonly end: number } {
  let text = "";
  let at = start;
  if (source[at] === '"') {
    at += 1;
    for (;;) {
      const quote = source.indexOf('"', at);
      // Without a closing quote, the field is the rest of the text.
      if (quote < 0) return { text: text + source.slice(at), end: source.length };
      text += source.slice(at, quote);
      at = quote + 1;
      if (source[at] !== '"') break;
      text += '"';
      at += 1;
    }
  }
  let end = at;
  while (end < source.length && source[end] !== delimiter && source[end] !== "\n") end += 1;
  return { text: text + source.slice(at, end), end };
}
