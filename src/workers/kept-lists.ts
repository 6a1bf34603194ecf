/**
 * Packed lists of the targets asked lately. While the same minions match, a list is copied whole; where each time others match, none is kept
 * and nothing is copied for nothing.
 */
import { keptListsBytesMax } from "../limits.ts";
import type { Bitmap } from "../target/fleet/bitmap.ts";
import type { PackedTexts } from "../wire/text-list.ts";

/** `list` is there from the second time on that the same minions matched. */
type Kept = { readonly minions: Bitmap; readonly list: PackedTexts | undefined; readonly bytes: number };

export class KeptLists {
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;

  /** The packed list of these minions, which the target has matched; its memory is the caller's own. The set is not written to any more. */
  listOf(target: string, minions: Bitmap, pack: (minions: Bitmap) => PackedTexts): PackedTexts {
    const kept = this.#kept.get(target);
    const isSame = kept?.minions.equals(minions) === true;
    if (isSame && kept.list !== undefined) return copyOf(kept.list);
    const list = pack(minions);
    this.#keep(target, minions, isSame ? copyOf(list) : undefined);
    return list;
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

/** In memory of its own, which can be handed to another thread. */
function copyOf({ count, bytes }: PackedTexts): PackedTexts {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return { count, bytes: new Uint8Array(copy.buffer, 0, copy.length) };
}
