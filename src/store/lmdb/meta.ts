/**
 * Reads the head of an LMDB data file: two meta pages, each with the state after a transaction. It does so without LMDB, which would end the process
 * on a file that is shorter than its head says. Source: liblmdb's MDB_page, MDB_meta and MDB_db, 64 bits, little-endian. Pure.
 */

/** Bytes of a page's head: number, transaction, flags and the bounds of its free part. */
export const pageHeadBytes = 24;
const magic = 0xbeefc0de;
const metaPageFlag = 0x08;
const flagsAt = 18;
/** Bytes of a tree's record: pad, flags, depth, pages of each kind, entries, root. */
export const treeBytes = 48;
const treesAt = pageHeadBytes + 24;
const lastPageAt = treesAt + 2 * treeBytes;
const transactionAt = lastPageAt + 8;
const metaEnd = transactionAt + 8;
/** Version of the data format that our lmdb writes. */
const dataVersion = 2;
/** LMDB's page has the size of the machine's page, a power of two between these bounds. */
const pageBytesMin = 512;
export const pageBytesMax = 65_536;
/** Bytes that include both meta pages for every page size. */
export const headBytesMax = 2 * pageBytesMax;

export type Tree = {
  readonly flags: number;
  readonly depth: number;
  readonly branchPages: number;
  readonly leafPages: number;
  readonly overflowPages: number;
  readonly entries: number;
  /** The number of the root page; undefined for an empty tree. */
  readonly root: number | undefined;
};
export type Meta = {
  readonly pageBytes: number;
  readonly transaction: number;
  readonly lastPage: number;
  readonly freeTree: Tree;
  readonly mainTree: Tree;
};

const noPage = 0xffff_ffff_ffff_ffffn;

function safeNumber(value: bigint): number {
  return value > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(value);
}

export function readTree(bytes: Buffer, at: number): Tree {
  const root = bytes.readBigUInt64LE(at + 40);
  return {
    flags: bytes.readUInt16LE(at + 4),
    depth: bytes.readUInt16LE(at + 6),
    branchPages: safeNumber(bytes.readBigUInt64LE(at + 8)),
    leafPages: safeNumber(bytes.readBigUInt64LE(at + 16)),
    overflowPages: safeNumber(bytes.readBigUInt64LE(at + 24)),
    entries: safeNumber(bytes.readBigUInt64LE(at + 32)),
    root: root === noPage ? undefined : safeNumber(root),
  };
}

/** Places in the file at which the meta pages have the number of the last page in use. */
export function lastPagePlaces(pageBytes: number): readonly [number, number] {
  return [lastPageAt, pageBytes + lastPageAt];
}

function metaAt(head: Buffer, start: number): Meta | undefined {
  if (head.byteLength < start + metaEnd) return undefined;
  const pageBytes = head.readUInt32LE(start + treesAt);
  const isMeta =
    (head.readUInt16LE(start + flagsAt) & metaPageFlag) !== 0 &&
    head.readUInt32LE(start + pageHeadBytes) === magic &&
    (head.readUInt32LE(start + pageHeadBytes + 4) & 0xffff) === dataVersion &&
    pageBytes >= pageBytesMin &&
    pageBytes <= pageBytesMax &&
    (pageBytes & (pageBytes - 1)) === 0;
  if (!isMeta) return undefined;
  return {
    pageBytes,
    transaction: safeNumber(head.readBigUInt64LE(start + transactionAt)),
    lastPage: safeNumber(head.readBigUInt64LE(start + lastPageAt)),
    freeTree: readTree(head, start + treesAt),
    mainTree: readTree(head, start + treesAt + treeBytes),
  };
}

/** The valid meta pages, the latest state first. None if the first page is invalid, because LMDB does not open such a file. */
export function readMetas(head: Buffer): Meta[] {
  const first = metaAt(head, 0);
  if (first === undefined) return [];
  const second = metaAt(head, first.pageBytes);
  return second === undefined ? [first] : [first, second].sort((a, b) => b.transaction - a.transaction);
}
