/**
 * Edits packed bytes: replaces or omits ranges, and copies the rest in runs. Pure.
 * Source: docs/protocol.md section 9 (what changes between a load and its event).
 */

/** `bytes[start..end)` becomes `insert`. A list of edits is ascending and does not overlap. */
export type Edit = { readonly start: number; readonly end: number; readonly insert: Uint8Array };

export const nothing = new Uint8Array(0);

/** Change in length by all edits together, bytes. */
export function growthOf(edits: readonly Edit[]): number {
  let growth = 0;
  for (const { start, end, insert } of edits) growth += insert.length - (end - start);
  return growth;
}

/** Copies `bytes` from `from` on to `target` at `at`, edited. @returns where the copy ends */
export function copyEdited(
  bytes: Uint8Array,
  from: number,
  edits: readonly Edit[],
  target: Buffer,
  at: number,
): number {
  let position = from;
  let end = at;
  for (const edit of edits) {
    target.set(bytes.subarray(position, edit.start), end);
    end += edit.start - position;
    target.set(edit.insert, end);
    end += edit.insert.length;
    position = edit.end;
  }
  target.set(bytes.subarray(position), end);
  return end + bytes.length - position;
}
