/** The target word of a command line as a job carries it. Source: docs/compatibility.md, target types. */

/** A list is split at commas, blanks around them dropped, or at blanks where there is no comma; every other kind is the word itself. */
export function targetExpression(kind: string, word: string): string | string[] {
  if (kind !== "list") return word;
  if (word.includes(",")) return word.replaceAll(" ", "").split(",");
  return word.split(/\s+/u).filter((name) => name !== "");
}
