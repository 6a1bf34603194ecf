/**
 * Numbers instead of minions' ids: a job to 100,000 minions keeps four bytes for each, and all jobs share one table of ids.
 * A number is freed when no list holds it any more.
 */

export class MinionNumbers {
  readonly #byId = new Map<string, number>();
  readonly #ids: (string | undefined)[] = [];
  readonly #free: number[] = [];
  #uses = new Uint32Array(64);

  /** How many minions have a number. */
  get count(): number {
    return this.#byId.size;
  }

  find(id: string): number | undefined {
    return this.#byId.get(id);
  }

  idOf(number: number): string {
    return this.#ids[number] ?? "";
  }

  /** The id's number. Give it back with `release`. */
  acquire(id: string): number {
    const known = this.#byId.get(id);
    if (known !== undefined) {
      this.#uses[known] = (this.#uses[known] ?? 0) + 1;
      return known;
    }
    const number = this.#free.pop() ?? this.#ids.length;
    this.#ids[number] = id;
    this.#byId.set(id, number);
    if (number >= this.#uses.length) this.#uses = grown(this.#uses, number + 1);
    this.#uses[number] = 1;
    return number;
  }

  release(number: number): void {
    const uses = (this.#uses[number] ?? 0) - 1;
    this.#uses[number] = Math.max(0, uses);
    const id = this.#ids[number];
    if (uses > 0 || id === undefined) return;
    this.#byId.delete(id);
    this.#ids[number] = undefined;
    this.#free.push(number);
  }
}

/** A job's minions: each has an index, found by its id. Later minions come after the first ones. */
export class JobMinions {
  readonly #numbers: MinionNumbers;
  /** Ascending, for binary search. */
  readonly #first: Uint32Array;
  readonly #later: number[] = [];
  readonly #laterIndexes = new Map<number, number>();

  constructor(numbers: MinionNumbers, ids: readonly string[]) {
    this.#numbers = numbers;
    this.#first = Uint32Array.from(new Set(ids), (id) => numbers.acquire(id)).sort();
  }

  get count(): number {
    return this.#first.length + this.#later.length;
  }

  /** -1 for a minion that is not among them. */
  indexOf(id: string): number {
    const number = this.#numbers.find(id);
    if (number === undefined) return -1;
    const index = positionIn(this.#first, number);
    return index >= 0 ? index : (this.#laterIndexes.get(number) ?? -1);
  }

  idAt(index: number): string {
    return this.#numbers.idOf(this.#first[index] ?? this.#later[index - this.#first.length] ?? -1);
  }

  /** @returns the new index */
  add(id: string): number {
    const number = this.#numbers.acquire(id);
    this.#later.push(number);
    this.#laterIndexes.set(number, this.count - 1);
    return this.count - 1;
  }

  /** Call it once, when the list is not used any more. */
  release(): void {
    for (const number of this.#first) this.#numbers.release(number);
    for (const number of this.#later) this.#numbers.release(number);
  }
}

function positionIn(sorted: Uint32Array, wanted: number): number {
  let low = 0;
  let high = sorted.length - 1;
  while (low <= high) {
    const middle = (low + high) >>> 1;
    const found = sorted[middle] ?? 0;
    if (found === wanted) return middle;
    if (found < wanted) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}

function grown(list: Uint32Array, countMin: number): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(Math.max(countMin, list.length * 2));
  larger.set(list);
  return larger;
}
