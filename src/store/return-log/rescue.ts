/**
 * Rescues the returns in a damaged log whose writer has ended: reads all frames of its last generation, also those behind a damaged frame, and the
 * whole entries of damaged frames. docs/decisions/0024-damaged-stores.md. Pure.
 */
import { returnLogBytes } from "../../limits.ts";
import {
  blockBytes,
  blocksFor,
  decodeFrame,
  decodeHead,
  type FrameName,
  frameBytesIn,
  type LoggedEntry,
  wholeEntriesIn,
} from "./frames.ts";

/** `fault`: the damage, as a text that follows the file's name; undefined if the log is whole. */
export type Rescued = { readonly entries: LoggedEntry[]; readonly fault: string | undefined };

/** `lost`: the number of damaged entries. */
type Found = { readonly name: FrameName; readonly at: number; readonly entries: LoggedEntry[]; readonly lost: number };

/** Yields the frames of any generation. After a whole frame the search goes on behind it, so that bytes inside it never count as a frame. */
function* framesIn(bytes: Buffer): Generator<Found> {
  for (let at = 0; at < bytes.byteLength; ) {
    const block = bytes.subarray(at);
    const length = frameBytesIn(block);
    const frame =
      length === undefined || length > block.byteLength ? undefined : decodeFrame(block.subarray(0, length));
    const head = frame === undefined ? decodeHead(block) : undefined;
    if (frame !== undefined) yield { ...frame, at, lost: 0 };
    if (head !== undefined) {
      const entries = wholeEntriesIn(block.subarray(0, head.bytes), head.entryCount);
      yield { name: head.name, at, entries, lost: head.entryCount - entries.length };
    }
    at += frame !== undefined && length !== undefined ? blocksFor(length) : blockBytes;
  }
}

function isEmpty(block: Buffer): boolean {
  return block.every((byte) => byte === 0);
}

/** The frames of the log's last generation: the first frame's generation; if its head is damaged, the highest one found. */
function latestOf(bytes: Buffer): { readonly frames: Found[]; readonly isHeadless: boolean } {
  const all = [...framesIn(bytes)];
  const first = all[0];
  const isHeadless = first === undefined || first.at !== 0;
  const generation = isHeadless ? Math.max(...all.map(({ name }) => name.generation)) : first.name.generation;
  const frames: Found[] = [];
  // Serials grow from the start of the file. A frame with a smaller serial than the one before is a remnant.
  for (const frame of all) {
    const before = frames.at(-1)?.name.serial ?? -1;
    if (frame.name.generation === generation && frame.name.serial > before) frames.push(frame);
  }
  return { frames, isHeadless };
}

/**
 * @param bytes the whole file
 * @param isMarked whether an empty log has a mark in its first block. Empty logs of earlier releases have zeros there, and are short if the writer
 * died while it made them
 */
export function rescueLog(bytes: Buffer, isMarked = true): Rescued {
  const isCut = bytes.byteLength < returnLogBytes;
  if (!isMarked && isEmpty(bytes.subarray(0, blockBytes))) return { entries: [], fault: undefined };
  const { frames, isHeadless } = latestOf(bytes);
  const entries = frames.flatMap((frame) => frame.entries);
  const faults: string[] = [];
  if (isCut) faults.push(`is cut: it has ${bytes.byteLength} of ${returnLogBytes} bytes, and the rest is lost`);
  const last = frames.at(-1);
  const known = frames.filter((frame) => frame.lost > 0);
  for (const { name, entries: whole, lost } of known) {
    const isLast = name.serial === last?.name.serial;
    const doubt = isLast ? ", unless the master died while it wrote them: then they were never acknowledged" : "";
    faults.push(
      `is damaged: ${lost} of ${lost + whole.length} returns of its batch ${name.serial + 1} are lost${doubt}`,
    );
  }
  const missing = (last?.name.serial ?? -1) + 1 - frames.length;
  if (missing > 0) faults.push(`is damaged: ${missing} whole batches are lost`);
  else if (isHeadless && bytes.byteLength > 0)
    faults.push("is damaged at its start: a batch is lost, unless the master died while it wrote that");
  return { entries, fault: faults.length === 0 ? undefined : faults.join("; ") };
}
