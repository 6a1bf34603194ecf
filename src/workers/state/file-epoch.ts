/**
 * Counts what may be followed by a request for a file that was changed just before: publishes, and pushed files. The main thread and all workers
 * share the count. docs/decisions/0035-file-answers.md.
 */
export class FileEpoch {
  readonly #count: Int32Array;

  /** @param memory from `FileEpoch.memory`, the same in all threads */
  constructor(memory: SharedArrayBuffer) {
    this.#count = new Int32Array(memory);
  }

  static memory(): SharedArrayBuffer {
    return new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  }

  /** Wraps around after 2^32 epochs. */
  get present(): number {
    return Atomics.load(this.#count, 0);
  }

  advance(): void {
    Atomics.add(this.#count, 0, 1);
  }
}
