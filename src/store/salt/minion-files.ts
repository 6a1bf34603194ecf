/**
 * The files of minions' data of Salt masters (their `localfs` cache), in the two layouts of its releases: a folder per minion
 * (3006, 3007: `minions/ID/data.p` and `mine.p`), and a folder per kind (3008: `grains/ID.p`, `pillar/ID.p`, `mine/ID.p`).
 */
import { mkdirSync, readFileSync, rmdirSync, rmSync, type Stats, statSync } from "node:fs";
import { join } from "node:path";
import { namesIn } from "../../config/files/missing.ts";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { SaltworksError } from "../../errors.ts";
import { saltFileBytesMax } from "../../limits.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import { mapEntries } from "../../wire/walk.ts";
import { replaceFile } from "../disk/durable-file.ts";
import { idIsValid } from "../keys/states.ts";
import type { KeptParts } from "../minions/data.ts";

export type MinionLayout = "folders" | "kinds";
export const minionLayouts: readonly MinionLayout[] = ["folders", "kinds"];

/** The folders in the layout of 3008, one per kind of data. */
export const saltKinds = ["grains", "pillar", "mine"] as const;
export type Kind = (typeof saltKinds)[number];

/** The mode that Salt 3006 to 3008 give these files, whatever the umask, because pillars hold secrets. */
const fileMode = 0o600;
const folderMode = 0o750;
const emptyMap = encode(new Map(), "bin");

/** The parts of a minion's data: maps in the new msgpack flavour. */
export type MinionParts = { readonly [kind in Kind]?: Uint8Array | undefined };

function folderFile(cachedir: string, id: string, name: "data" | "mine"): string {
  return join(cachedir, "minions", id, `${name}.p`);
}

function kindFile(cachedir: string, id: string, kind: Kind): string {
  return join(cachedir, kind, `${id}.p`);
}

/** The layouts in use; both if neither has a file. */
export function layoutsIn(cachedir: string): readonly MinionLayout[] {
  const folders = namesIn(join(cachedir, "minions")).some((id) =>
    namesIn(join(cachedir, "minions", id)).some((name) => name === "data.p" || name === "mine.p"),
  );
  const isKept = (kind: Kind) => namesIn(join(cachedir, kind)).some((name) => name.endsWith(".p"));
  const found = [...(folders ? (["folders"] as const) : []), ...(saltKinds.some(isKept) ? (["kinds"] as const) : [])];
  return found.length === 0 ? minionLayouts : found;
}

/** `parts`: from the newest file of each kind; absent without a file. `faults`: files that cannot be read. */
export type FoundParts = { readonly parts: MinionParts; readonly faults: readonly { file: string; reason: string }[] };

export type FileTimes = Pick<Stats, "mtimeMs" | "ctimeMs">;

/** Reads a minion's files. `wants`: whether a part in a file with these times counts. A file without such a part is not read. */
export function readMinionFiles(
  cachedir: string,
  id: string,
  wants: (kind: Kind, times: FileTimes) => boolean,
): FoundParts {
  const faults: { file: string; reason: string }[] = [];
  const newest = new Map<Kind, { bytes: Uint8Array; changedMs: number }>();
  const take = (file: string, kinds: readonly Kind[], read: (bytes: Uint8Array) => MinionParts) => {
    try {
      const stat = statSync(file, { throwIfNoEntry: false });
      if (stat === undefined || !stat.isFile() || !kinds.some((kind) => wants(kind, stat))) return;
      if (stat.size > saltFileBytesMax) throw new SaltworksError("WIRE_TOO_LARGE", `over ${saltFileBytesMax} bytes`);
      for (const [kind, bytes] of Object.entries(read(readFileSync(file))) as [Kind, Uint8Array | undefined][]) {
        if (bytes === undefined || !wants(kind, stat)) continue;
        if ((newest.get(kind)?.changedMs ?? 0) > stat.mtimeMs) continue;
        newest.set(kind, { bytes, changedMs: stat.mtimeMs });
      }
    } catch (error) {
      if (hasCodeIn(error, "ENOENT", "ENOTDIR")) return;
      faults.push({ file, reason: error instanceof Error ? error.message : String(error) });
    }
  };
  take(folderFile(cachedir, id, "data"), ["grains", "pillar"], partsOfData);
  take(folderFile(cachedir, id, "mine"), ["mine"], (bytes) => ({ mine: checkedMap(bytes) }));
  for (const kind of saltKinds) take(kindFile(cachedir, id, kind), [kind], (bytes) => ({ [kind]: checkedMap(bytes) }));
  const part = (kind: Kind) => newest.get(kind)?.bytes;
  return { parts: { grains: part("grains"), pillar: part("pillar"), mine: part("mine") }, faults };
}

/** Whether the minion has files in either layout, readable or not. */
export function hasMinionFiles(cachedir: string, id: string): boolean {
  let hasAny = false;
  const { faults } = readMinionFiles(cachedir, id, () => {
    hasAny = true;
    return false;
  });
  return hasAny || faults.length > 0;
}

/** @throws SaltworksError WIRE_MALFORMED if the bytes are not a map, or another WIRE_ code */
function checkedMap(bytes: Uint8Array): Uint8Array {
  if (decode(bytes) instanceof Map) return bytes;
  throw new SaltworksError("WIRE_MALFORMED", "not a map");
}

/** Cuts grains and pillar out of the map of both. */
function partsOfData(bytes: Uint8Array): MinionParts {
  const entries = mapEntries(checkedMap(bytes));
  const part = (name: string) => {
    const entry = entries.find(({ key }) => key === name);
    return entry === undefined ? undefined : checkedMap(bytes.subarray(entry.valueStart, entry.valueEnd));
  };
  return { grains: part("grains"), pillar: part("pillar") };
}

/** Joins grains and pillar to the map of both. */
function dataOf(grains: Uint8Array, pillar: Uint8Array): Uint8Array {
  return Buffer.concat([Uint8Array.of(0x82), encode("grains", "bin"), grains, encode("pillar", "bin"), pillar]);
}

/** Writes the files of these parts, and removes those of absent parts. Files of `damaged` parts stay. @throws errors of the file system */
export function writeMinionFiles(
  cachedir: string,
  layouts: readonly MinionLayout[],
  id: string,
  { grains, pillar, mine, damaged }: MinionParts & Pick<KeptParts, "damaged">,
): void {
  if (!idIsValid(id)) return;
  const put = (file: string, bytes: Uint8Array | undefined, isDamaged: boolean) => {
    if (isDamaged) return;
    if (bytes === undefined) rmSync(file, { force: true });
    else replaceFile(file, bytes, fileMode);
  };
  const [areFactsDamaged, isMineDamaged] = [damaged.has("facts"), damaged.has("mine")];
  const hasFacts = grains !== undefined || pillar !== undefined;
  if (layouts.includes("folders")) {
    const folder = join(cachedir, "minions", id);
    if (hasFacts || mine !== undefined) mkdirSync(folder, { recursive: true, mode: folderMode });
    const data = hasFacts ? dataOf(grains ?? emptyMap, pillar ?? emptyMap) : undefined;
    put(folderFile(cachedir, id, "data"), data, areFactsDamaged);
    put(folderFile(cachedir, id, "mine"), mine, isMineDamaged);
    if (!hasFacts && mine === undefined) removeIfEmpty(folder);
  }
  if (layouts.includes("kinds")) {
    const parts = { grains, pillar, mine };
    for (const kind of saltKinds) {
      if (parts[kind] !== undefined) mkdirSync(join(cachedir, kind), { recursive: true, mode: folderMode });
      put(kindFile(cachedir, id, kind), parts[kind], kind === "mine" ? isMineDamaged : areFactsDamaged);
    }
  }
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch (error) {
    if (!hasCodeIn(error, "ENOENT", "ENOTEMPTY", "EEXIST")) throw error;
  }
}
