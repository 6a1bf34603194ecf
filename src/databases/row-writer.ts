/** Writes rows into a database. If it refuses one for what it holds, the halves are written apart until that one is found. */
import { hasCode } from "../errors.ts";
import type { JobDatabase, WriteOptions } from "./contract/database.ts";
import { type Row, withoutWideCharacters } from "./contract/rows.ts";

export type RowWriting<Entry extends { readonly row: Row }> = {
  readonly database: Pick<JobDatabase, "write">;
  readonly how: WriteOptions;
  readonly count: { jobs: number; returns: number; present: number };
  readonly onRefused: (entry: Entry, reason: Error) => void;
};

/** @throws SaltworksError DATABASE_FAILED */
export async function writeApart<Entry extends { readonly row: Row }>(
  entries: readonly Entry[],
  o: RowWriting<Entry>,
): Promise<void> {
  if (entries.length === 0) return;
  try {
    await writeAll(entries, o);
  } catch (error) {
    if (!hasCode(error, "DATABASE_REFUSED")) throw error;
    const [first] = entries;
    if (entries.length > 1 || first === undefined) {
      const middle = Math.ceil(entries.length / 2);
      await writeApart(entries.slice(0, middle), o);
      await writeApart(entries.slice(middle), o);
    } else await writeNarrow(first, o, error as Error);
  }
}

/** Tables of Salt's documentation hold no characters beyond U+FFFF. As escapes in the JSON they mean the same. */
async function writeNarrow<Entry extends { readonly row: Row }>(
  entry: Entry,
  o: RowWriting<Entry>,
  refusal: Error,
): Promise<void> {
  const narrow = withoutWideCharacters(entry.row);
  if (narrow === undefined) {
    o.onRefused(entry, refusal);
    return;
  }
  try {
    await writeAll([{ ...entry, row: narrow }], o);
  } catch (error) {
    if (!hasCode(error, "DATABASE_REFUSED")) throw error;
    o.onRefused(entry, refusal);
  }
}

async function writeAll<Entry extends { readonly row: Row }>(
  entries: readonly Entry[],
  { database, how, count }: RowWriting<Entry>,
): Promise<void> {
  const written = await database.write(
    entries.map(({ row }) => row),
    how,
  );
  for (const name of ["jobs", "returns", "present"] as const) count[name] += written[name];
}
