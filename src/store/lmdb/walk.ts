/**
 * Reads every record of an LMDB data file page by page and reports damage. It does so without LMDB, which trusts its pages and ends the process on
 * a damaged one. Source: liblmdb's MDB_page, MDB_node and MDB_ovpage, 64 bits, little-endian. docs/decisions/0024-damaged-stores.md.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { walkedFaultsMax } from "../../limits.ts";
import { headBytesMax, type Meta, pageHeadBytes, readMetas, readTree, type Tree, treeBytes } from "./meta.ts";

const flagsAt = 18;
const lowerAt = 20;
const upperAt = 22;
const overflowPagesAt = 20;
const pageFlags = { branch: 0x01, leaf: 0x02, overflow: 0x04 } as const;
const nodeHeadBytes = 8;
const nodeFlags = { big: 0x01, tree: 0x02 } as const;
const overflowRecordBytes = 24;
const depthMax = 32;

/** `table`: the name of the record's database. `key` and `value` are views that are valid until the next call. */
export type OnRecord = (table: string, key: Buffer, value: Buffer) => void;
/** `faults`: texts about the first few faults. `faultCount`: the number of all. */
export type Walked = {
  readonly records: number;
  readonly pages: number;
  readonly faults: readonly string[];
  readonly faultCount: number;
};
export type WalkOptions = {
  readonly onRecord?: OnRecord;
  /** Called every `progressPages` or so: pages read, and pages in the file. */
  readonly onProgress?: (done: number, of: number) => void;
};

const progressPages = 1_024;

class Walk {
  readonly faults: string[] = [];
  faultCount = 0;
  records = 0;
  pages = 0;
  readonly #file: number;
  readonly #meta: Meta;
  readonly #pageCount: number;
  readonly #options: WalkOptions;
  readonly #seen = new Set<number>();

  constructor(file: number, meta: Meta, options: WalkOptions) {
    this.#file = file;
    this.#meta = meta;
    this.#pageCount = Math.floor(fstatSync(file).size / meta.pageBytes);
    this.#options = options;
  }

  run(): void {
    const tables: { readonly name: string; readonly tree: Tree }[] = [];
    this.#tree("its list of free pages", this.#meta.freeTree, () => undefined);
    this.#tree("its list of tables", this.#meta.mainTree, (key, value, flags) => {
      if ((flags & nodeFlags.tree) === 0 || value.byteLength !== treeBytes) {
        this.fault("its list of tables has an entry that is not a table");
        return;
      }
      tables.push({ name: key.toString("utf8"), tree: readTree(value, 0) });
    });
    for (const { name, tree } of tables) {
      this.#tree(`table ${name}`, tree, (key, value) => {
        this.records += 1;
        this.#options.onRecord?.(name, key, value);
      });
    }
  }

  fault(text: string): void {
    this.faultCount += 1;
    if (this.faults.length < walkedFaultsMax) this.faults.push(text);
  }

  #tree(name: string, tree: Tree, onNode: (key: Buffer, value: Buffer, flags: number) => void): void {
    if (tree.root === undefined) return;
    let count = 0;
    let before: Buffer | undefined;
    const faultsBefore = this.faultCount;
    const isOrdered = name !== "its list of free pages";
    this.#page(name, tree.root, 0, (key, value, flags) => {
      count += 1;
      if (isOrdered && before !== undefined && Buffer.compare(before, key) >= 0)
        this.fault(`${name}: a key is out of order`);
      before = Buffer.from(key);
      onNode(key, value, flags);
    });
    if (this.faultCount === faultsBefore && count !== tree.entries)
      this.fault(`${name}: ${count} records where its head says ${tree.entries}`);
  }

  #page(
    name: string,
    number: number,
    depth: number,
    onNode: (key: Buffer, value: Buffer, flags: number) => void,
  ): void {
    const page = this.#read(name, number, 1);
    if (page === undefined) return;
    const flags = page.readUInt16LE(flagsAt);
    const isBranch = (flags & pageFlags.branch) !== 0;
    const lower = page.readUInt16LE(lowerAt);
    const upper = page.readUInt16LE(upperAt);
    const room = page.byteLength - pageHeadBytes;
    if (
      isBranch === ((flags & pageFlags.leaf) !== 0) ||
      lower > upper ||
      upper > room ||
      lower % 2 !== 0 ||
      depth > depthMax
    ) {
      this.fault(`${name}: page ${number} is not what was written`);
      return;
    }
    for (let index = 0; index < lower / 2; index += 1) {
      const at = pageHeadBytes + page.readUInt16LE(pageHeadBytes + index * 2);
      if (at < pageHeadBytes + upper || at + nodeHeadBytes > page.byteLength) {
        this.fault(`${name}: a record of page ${number} is outside the page`);
        continue;
      }
      if (isBranch) this.#page(name, childOf(page, at), depth + 1, onNode);
      else this.#leaf(name, page, number, at, onNode);
    }
  }

  #leaf(
    name: string,
    page: Buffer,
    number: number,
    at: number,
    onNode: (key: Buffer, value: Buffer, flags: number) => void,
  ): void {
    const bytes = page.readUInt16LE(at) + page.readUInt16LE(at + 2) * 0x10000;
    const flags = page.readUInt16LE(at + 4);
    const keyEnd = at + nodeHeadBytes + page.readUInt16LE(at + 6);
    const isBig = (flags & nodeFlags.big) !== 0;
    const end = keyEnd + (isBig ? overflowRecordBytes : bytes);
    if (end > page.byteLength) {
      this.fault(`${name}: a record of page ${number} is longer than the page`);
      return;
    }
    const key = page.subarray(at + nodeHeadBytes, keyEnd);
    const value = isBig ? this.#big(name, page, keyEnd, bytes) : page.subarray(keyEnd, end);
    if (value !== undefined) onNode(key, value, flags);
  }

  /** Reads a value that has pages of its own. */
  #big(name: string, page: Buffer, at: number, bytes: number): Buffer | undefined {
    const first = Number(page.readBigUInt64LE(at));
    const pages = Number(page.readBigUInt64LE(at + 16));
    if (pages !== Math.floor((pageHeadBytes - 1 + bytes) / page.byteLength) + 1) {
      this.fault(`${name}: a large record has the wrong number of pages`);
      return undefined;
    }
    const whole = this.#read(name, first, pages);
    if (whole === undefined) return undefined;
    if ((whole.readUInt16LE(flagsAt) & pageFlags.overflow) === 0 || whole.readUInt32LE(overflowPagesAt) !== pages) {
      this.fault(`${name}: page ${first} is not what was written`);
      return undefined;
    }
    return whole.subarray(pageHeadBytes, pageHeadBytes + bytes);
  }

  #read(name: string, number: number, count: number): Buffer | undefined {
    if (number < 2 || number + count > this.#meta.lastPage + 1) {
      this.fault(`${name}: a page number is out of range`);
      return undefined;
    }
    if (number + count > this.#pageCount) {
      this.fault(`${name}: page ${number} is behind the end of the file`);
      return undefined;
    }
    if (this.#seen.has(number)) {
      this.fault(`${name}: page ${number} is in use twice`);
      return undefined;
    }
    this.#seen.add(number);
    const { pageBytes } = this.#meta;
    const page = Buffer.allocUnsafe(pageBytes * count);
    readSync(this.#file, page, 0, page.byteLength, number * pageBytes);
    this.pages += count;
    if (this.pages % progressPages < count) this.#options.onProgress?.(this.pages, this.#meta.lastPage + 1);
    if (Number(page.readBigUInt64LE(0)) === number) return page;
    this.fault(`${name}: page ${number} is not what was written`);
    return undefined;
  }
}

function childOf(page: Buffer, at: number): number {
  return page.readUInt16LE(at) + page.readUInt16LE(at + 2) * 0x10000 + page.readUInt16LE(at + 4) * 0x1_0000_0000;
}

/** The head of a data file: its meta pages, the latest first, and the file's bytes. Undefined if the file is empty. */
export function readHead(path: string): { readonly metas: readonly Meta[]; readonly size: number } | undefined {
  return withFile(path, (file) => {
    const head = steadyHead(file);
    // The size is not looked at here, because another thread may just have written the first pages.
    if (head.byteLength === 0) return undefined;
    // The size is read last, because a master that writes grows the file before its head says so.
    return { metas: readMetas(head), size: fstatSync(file).size };
  });
}

/** Bound of the reads of a head that is being written. A write takes 1 µs. */
const headReadsMax = 100;

/** Reads the head until two reads agree, because a master may be writing it. */
function steadyHead(file: number): Buffer {
  let before = headOf(file);
  for (let read = 0; read < headReadsMax; read += 1) {
    const now = headOf(file);
    if (now.equals(before)) break;
    before = now;
  }
  return before;
}

function headOf(file: number): Buffer {
  const head = Buffer.alloc(headBytesMax);
  return head.subarray(0, readSync(file, head, 0, head.byteLength, 0));
}

/** Reads all of a data file that is not empty. If a master may write it meanwhile, the caller must hold its pages by a read transaction of LMDB. */
export function walkFile(path: string, options: WalkOptions = {}): Walked {
  return withFile(path, (file) => {
    const [meta] = readMetas(steadyHead(file));
    if (meta === undefined)
      return { records: 0, pages: 0, faults: ["its head is not what was written"], faultCount: 1 };
    const walk = new Walk(file, meta, options);
    walk.run();
    const { records, pages, faults, faultCount } = walk;
    return { records, pages, faults, faultCount };
  });
}

function withFile<Result>(path: string, step: (file: number) => Result): Result {
  const file = openSync(path, "r");
  try {
    return step(file);
  } finally {
    closeSync(file);
  }
}
