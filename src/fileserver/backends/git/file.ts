/** A file of a git repository, as it is in one commit. */
import type { TreeEntry } from "../../../git/tree.ts";
import type { Value } from "../../../wire/values.ts";
import type { FoundFile } from "../contract/backend.ts";
import type { Blobs } from "./blobs.ts";

export class GitFile implements FoundFile {
  readonly path: string;
  readonly name: string;
  readonly #entry: TreeEntry;
  readonly #blobs: Blobs;
  #content: Buffer | undefined;

  constructor(path: string, name: string, entry: TreeEntry, blobs: Blobs) {
    this.path = path;
    this.name = name;
    this.#entry = entry;
    this.#blobs = blobs;
  }

  /** The mode alone, as in Salt. */
  stat(): Value[] {
    return [this.#entry.mode];
  }

  async hash(): Promise<string> {
    if (this.#blobs.isSmall(this.#entry)) this.#content = await this.#blobs.content(this.#entry);
    return await this.#blobs.hash(this.#entry);
  }

  content(): Uint8Array | undefined {
    return this.#content;
  }

  read(offset: number, bytesMax: number): Promise<Uint8Array> {
    return this.#blobs.read(this.#entry, offset, bytesMax);
  }
}
