/** The repository for the tidy tests: every file by its path, with the facts of each source file. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix, relative } from "node:path";
import { repositoryRoot } from "../root.ts";
import { readSource, type SourceFacts } from "./source-file.ts";

export const roots = ["src", "test", "bench", "scripts", "docs", "packaging", "bin", ".ci"].filter((name) =>
  existsSync(join(repositoryRoot, name)),
);
const topFiles = readdirSync(repositoryRoot, { withFileTypes: true }).filter((entry) => entry.isFile());
/** Every file of the repository, by its path in it. */
export const paths = [
  ...topFiles.map(({ name }) => name),
  ...roots.flatMap((root) => {
    const entries = readdirSync(join(repositoryRoot, root), { withFileTypes: true, recursive: true });
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => relative(repositoryRoot, join(entry.parentPath, entry.name)));
  }),
];
export const textOf = (path: string) => readFileSync(join(repositoryRoot, path), "utf8");
const isSource = (path: string) => /^(?:src|test|bench|scripts)\/.*\.tsx?$/.test(path) && !path.endsWith(".d.ts");
export const sources = new Map<string, SourceFacts>(
  paths.filter(isSource).map((path) => [path, readSource(path, textOf(path))]),
);

/** Fails with all findings, not only the first. */
export function none(findings: readonly string[]): void {
  assert.equal(findings.length, 0, `\n${findings.join("\n")}`);
}

export function inSources(find: (path: string, facts: SourceFacts) => readonly string[]): string[] {
  return [...sources].flatMap(([path, facts]) => find(path, facts));
}

/** Files that this one imports, by their path in the repository. */
export function importedPaths(path: string, facts: SourceFacts): string[] {
  const own = facts.specifiers.filter((specifier) => specifier.startsWith("."));
  return own.map((specifier) => posix.join(dirname(path), specifier));
}
