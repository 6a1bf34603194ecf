/**
 * Finds files by pattern, as Salt's includes do: `*`, `?` and `[...]` within one directory level, dotfiles only if the pattern begins with a dot.
 * (Node.js 20 has no `fs.globSync`.)
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { namesIn } from "./missing.ts";

const isPattern = /[*?[]/;

/** One level of a pattern as a regular expression over a whole name. */
function levelPattern(level: string): RegExp {
  let source = "";
  for (let index = 0; index < level.length; index += 1) {
    const letter = level.charAt(index);
    const close = letter === "[" ? level.indexOf("]", index + (level[index + 1] === "!" ? 3 : 2)) : -1;
    if (letter === "*") source += ".*";
    else if (letter === "?") source += ".";
    else if (close > 0) {
      const inner = level
        .slice(index + 1, close)
        .replaceAll("\\", "\\\\")
        .replaceAll("[", "\\[")
        .replace(/^\^/, "\\^");
      source += `[${inner.replace(/^!/, "^")}]`;
      index = close;
    } else source += letter.replace(/[\\^$.|+()[\]{}]/, "\\$&");
  }
  return new RegExp(`^${source}$`, "su");
}

/** Existing paths that match an absolute pattern, sorted by code unit. */
export function matchingPaths(pattern: string): string[] {
  let found = ["/"];
  for (const level of pattern.split("/").filter((part) => part !== "")) {
    if (!isPattern.test(level)) {
      found = found.map((base) => join(base, level)).filter((path) => existsSync(path));
      continue;
    }
    const expression = levelPattern(level);
    const isWanted = (name: string) => expression.test(name) && (level.startsWith(".") || !name.startsWith("."));
    found = found.flatMap((base) =>
      namesIn(base)
        .filter(isWanted)
        .map((name) => join(base, name)),
    );
  }
  return found.sort((a, b) => (a < b ? -1 : 1));
}
