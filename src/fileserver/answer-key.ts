/** Tells which requests for files have the same answer. Pure. */
import type { Value } from "../wire/values.ts";

/** The members of a request that its answer depends on. */
const members = ["saltenv", "path", "loc", "gzip", "prefix"] as const;
type Member = (typeof members)[number];

/** A key is kept beside its answer, so a long text would cost more than the answer saves. Names of files are shorter. */
const textLengthMax = 4_096;

/** Commands whose answer depends on nothing but these members and the files. */
export const readingCommands: ReadonlySet<string> = new Set([
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

/** @returns undefined for a request that changes something, or whose members are not short texts and whole numbers */
export function answerKey(cmd: string, read: (member: Member) => Value | undefined): string | undefined {
  if (!readingCommands.has(cmd)) return undefined;
  const values: (string | number | null)[] = [cmd];
  for (const member of members) {
    const value = read(member);
    if (typeof value === "string" ? value.length > textLengthMax : value !== undefined && !isWhole(value))
      return undefined;
    values.push((value as string | number | undefined) ?? null);
  }
  return JSON.stringify(values);
}

/** JSON has no other numbers that differ from each other and from null. */
function isWhole(value: Value): boolean {
  return typeof value === "number" && Number.isSafeInteger(value);
}
