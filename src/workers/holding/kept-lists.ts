/**
 * Packed lists of the targets asked lately. While the same minions match, one list in shared memory serves all who ask, on any thread; where
 * each time others match, none is kept and nothing is copied for nothing.
 */
import { keptListsBytesMax } from "../../limits.ts";
import type { Bitmap } from "../../target/fleet/bitmap.ts";
import type { PackedTexts } from "../../wire/text-list.ts";

/** `list` is there from the second time on that the same minions matched. */
type Kept = { readonly minions: Bitmap; readonly list: PackedTexts | undefined; readonly bytes: number };

export class KeptLists {
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;

  /** The packed list of these minions, which the target has matched: shared memory, which is never written again, or the caller's own. The set is not written to any more. */
  listOf(target: string, minions: Bitmap, pack: (minions: Bitmap) => PackedTexts): PackedTexts {
    const kept = this.#kept.get(target);
    const isSame = kept?.minions.equals(minions) === true;
    if (isSame && kept.list !== undefined) return kept.list;
    const packed = pack(minions);
    const list = isSame ? inSharedMemory(packed) : undefined;
    this.#keep(target, minions, list);
    return list ?? packed;
  }

  /** Numbers have become other minions'. */
  clear(): void {
    this.#kept.clear();
    this.#bytes = 0;
  }

  #keep(target: string, minions: Bitmap, list: PackedTexts | undefined): void {
    this.#drop(target);
    const bytes = target.length + minions.byteLength + (list?.bytes.length ?? 0);
    this.#kept.set(target, { minions, list, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= keptListsBytesMax) return;
      this.#drop(oldest);
    }
  }

  #drop(target: string): void {
    this.#bytes -= this.#kept.get(target)?.bytes ?? 0;
    this.#kept.delete(target);
  }
}

/** Copied once: copies for each who asks would be so much memory that V8 collects the whole heap every few publishes. */
function inSharedMemory({ count, bytes }: PackedTexts): PackedTexts {
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
  shared.set(bytes);
  return { count, bytes: shared };
}
