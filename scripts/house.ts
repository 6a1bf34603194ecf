/** Reads src for docs/house.svg: the rooms of each folder, the number of files in each room, and the imports between folders. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix, relative } from "node:path";
import { layers } from "../test/tidy/layers.ts";
import { readSource } from "../test/tidy/source-file.ts";

export type Room = {
  /** Path below the folder of src; empty for files directly in it. */
  readonly name: string;
  readonly fileCount: number;
  /** Rooms of the same folder that this one imports, by name. */
  readonly imports: ReadonlySet<string>;
};
export type Folder = {
  readonly name: string;
  readonly rooms: readonly Room[];
  /** Imports of files of other folders, counted by folder. */
  readonly imports: ReadonlyMap<string, number>;
};

/** Files of all its rooms. */
export function fileCountOf({ rooms }: Folder): number {
  return rooms.reduce((total, { fileCount }) => total + fileCount, 0);
}

/** `jinja/run` of `src/pillar/jinja/run/loop.ts`. */
function roomOf(path: string): string {
  return dirname(path).split("/").slice(2).join("/");
}

function folderOf(path: string): string {
  return path.split("/")[1] ?? "";
}

/** Files that each file of src imports, types included, by path in the repository. */
function importsOf(root: string): Map<string, string[]> {
  const entries = readdirSync(join(root, "src"), { withFileTypes: true, recursive: true });
  const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith(".ts"));
  const paths = files.map((entry) => relative(root, join(entry.parentPath, entry.name))).sort();
  const known = new Set(paths);
  return new Map(
    paths.map((path) => {
      const { specifiers } = readSource(path, readFileSync(join(root, path), "utf8"));
      return [path, specifiers.map((name) => posix.join(dirname(path), name)).filter((target) => known.has(target))];
    }),
  );
}

function readFolder(name: string, imports: ReadonlyMap<string, readonly string[]>): Folder {
  const rooms = new Map<string, { fileCount: number; imports: Set<string> }>();
  const others = new Map<string, number>();
  for (const [path, targets] of imports) {
    if (!path.startsWith(`src/${name}/`)) continue;
    const room = rooms.get(roomOf(path)) ?? { fileCount: 0, imports: new Set<string>() };
    rooms.set(roomOf(path), room);
    room.fileCount += 1;
    for (const target of targets) {
      const folder = folderOf(target);
      if (folder === name && roomOf(target) !== roomOf(path)) room.imports.add(roomOf(target));
      if (folder !== name && folder in layers) others.set(folder, (others.get(folder) ?? 0) + 1);
    }
  }
  return { name, rooms: [...rooms].map(([room, facts]) => ({ name: room, ...facts })), imports: others };
}

/** The folders of src with their rooms. The last one is the foundation, which imports no folder. */
export function readHouse(root: string): Folder[] {
  const imports = importsOf(root);
  const folders = Object.keys(layers).map((name) => readFolder(name, imports));
  return folders.filter(({ rooms }) => rooms.length > 0).reverse();
}

/** Rooms in floors: a room imports only rooms of later floors. Rooms that import each other share a floor. */
export function floorsOf(rooms: readonly Room[]): Room[][] {
  const height = new Map<string, number>();
  const measure = (room: Room, way: readonly string[]): number => {
    const known = height.get(room.name);
    if (known !== undefined || way.includes(room.name)) return known ?? 0;
    const below = rooms.filter(({ name }) => room.imports.has(name));
    const found = Math.max(0, ...below.map((other) => measure(other, [...way, room.name]) + 1));
    height.set(room.name, found);
    return found;
  };
  const floors: Room[][] = [];
  for (const room of rooms) {
    const floor = measure(room, []);
    floors[floor] = [...(floors[floor] ?? []), room];
  }
  return floors.filter((floor) => floor !== undefined).reverse();
}
