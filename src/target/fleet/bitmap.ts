/** A set of small whole numbers, one bit each: 12.5 kB hold 100,000. Grows as needed; a missing word is 32 zeros. Pure. */

const wordsMin = 32;

export class Bitmap {
  #words: Int32Array;

  constructor(words: Int32Array = new Int32Array(wordsMin)) {
    this.#words = words;
  }

  /** Callers must not change it. */
  get words(): Int32Array {
    return this.#words;
  }

  get byteLength(): number {
    return this.#words.byteLength;
  }

  has(member: number): boolean {
    return ((this.#words[member >>> 5] ?? 0) & (1 << (member & 31))) !== 0;
  }

  add(member: number): void {
    const word = member >>> 5;
    if (word >= this.#words.length) {
      const grown = new Int32Array(Math.max(word + 1, this.#words.length * 2));
      grown.set(this.#words);
      this.#words = grown;
    }
    this.#words[word] = (this.#words[word] ?? 0) | (1 << (member & 31));
  }

  delete(member: number): void {
    const word = member >>> 5;
    if (word < this.#words.length) this.#words[word] = (this.#words[word] ?? 0) & ~(1 << (member & 31));
  }

  get isEmpty(): boolean {
    for (const word of this.#words) if (word !== 0) return false;
    return true;
  }

  count(): number {
    let total = 0;
    const words = this.#words;
    for (let index = 0; index < words.length; index += 1) total += bitCount(words[index] ?? 0);
    return total;
  }

  /** Calls `found` for each member, ascending. */
  forEach(visit: (member: number) => void): void {
    const words = this.#words;
    for (let index = 0; index < words.length; index += 1) {
      let word = words[index] ?? 0;
      while (word !== 0) {
        visit(index * 32 + 31 - Math.clz32(word & -word));
        word &= word - 1;
      }
    }
  }

  copy(): Bitmap {
    return new Bitmap(this.#words.slice());
  }

  /** Adds all members of the other. */
  addAll(other: Bitmap): void {
    const theirs = other.words;
    if (theirs.length > this.#words.length) {
      const grown = new Int32Array(theirs.length);
      grown.set(this.#words);
      this.#words = grown;
    }
    const own = this.#words;
    for (let index = 0; index < theirs.length; index += 1) own[index] = (own[index] ?? 0) | (theirs[index] ?? 0);
  }

  /** Removes members that the other does not have. */
  retainAll(other: Bitmap): void {
    const own = this.#words;
    const theirs = other.words;
    const length = Math.min(own.length, theirs.length);
    for (let index = 0; index < length; index += 1) own[index] = (own[index] ?? 0) & (theirs[index] ?? 0);
    if (own.length > length) own.fill(0, length);
  }

  /** Removes members that the other has. */
  removeAll(other: Bitmap): void {
    const own = this.#words;
    const theirs = other.words;
    const length = Math.min(own.length, theirs.length);
    for (let index = 0; index < length; index += 1) own[index] = (own[index] ?? 0) & ~(theirs[index] ?? 0);
  }

  equals(other: Bitmap): boolean {
    const own = this.#words;
    const theirs = other.words;
    const length = Math.max(own.length, theirs.length);
    for (let index = 0; index < length; index += 1) if ((own[index] ?? 0) !== (theirs[index] ?? 0)) return false;
    return true;
  }
}

function bitCount(word: number): number {
  const pairs = word - ((word >>> 1) & 0x5555_5555);
  const fours = (pairs & 0x3333_3333) + ((pairs >>> 2) & 0x3333_3333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
}
