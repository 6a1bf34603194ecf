/**
 * Caches the packed id list of each recent target. While a target matches the same minions, one list in shared memory serves every caller and
 * thread. A target that matches other minions each time has no cached list.
 */
import { keptListsBytesMax } from "../../limits.ts";
import type { Bitmap } from "../../target/fleet/bitmap.ts";
import type { PackedTexts } from "../../wire/text-list.ts";

/** `list`: set once the same minions matched twice in a row. */
type Kept = { readonly minions: Bitmap; readonly list: PackedTexts | undefined; readonly bytes: number };

export class KeptLists {
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;

  /** The packed list of the minions that the target matched, in read-only shared or in new memory. The caller must not change `minions` later. */
  listOf(target: string, minions: Bitmap, pack: (minions: Bitmap) => PackedTexts): PackedTexts {
    const kept = this.#kept.get(target);
    const isSame = kept?.minions.equals(minions) === true;
    if (isSame && kept.list !== undefined) return kept.list;
    const packed = pack(minions);
    const list = isSame ? inSharedMemory(packed) : undefined;
    this.#keep(target, minions, list);
    return list ?? packed;
  }

  /** Drops all lists. Called when numbers belong to other minions than before. */
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

/** Copies the list into shared memory for all callers. With a copy per caller, V8 would collect the whole heap every few publishes. */
function inSharedMemory({ count, bytes }: PackedTexts): PackedTexts {
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
  shared.set(bytes);
  return { count, bytes: shared };
}
