/** Tells which requests for files have the same answer. Pure. */
import type { Value } from "../wire/values.ts";

/** The members of a request that its answer depends on. */
const members = ["saltenv", "path", "loc", "gzip", "prefix"] as const;
type Member = (typeof members)[number];

/** Commands whose answer depends on nothing but these members and the files. */
const readingCommands: ReadonlySet<string> = new Set([
  "_serve_file",
  "_file_find",
  "_file_hash",
  "_file_hash_and_stat",
  "_file_list",
  "_file_list_emptydirs",
  "_dir_list",
  "_symlink_list",
  "_file_envs",
]);

/** @returns undefined for a request that changes something, or whose members are not plain texts and numbers */
export function answerKey(cmd: string, read: (member: Member) => Value | undefined): string | undefined {
  if (!readingCommands.has(cmd)) return undefined;
  const values: (string | number | null)[] = [cmd];
  for (const member of members) {
    const value = read(member);
    if (value !== undefined && typeof value !== "string" && typeof value !== "number") return undefined;
    values.push(value ?? null);
  }
  return JSON.stringify(values);
}
