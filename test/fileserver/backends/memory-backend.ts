/** A file backend in memory, as small as the contract allows. */
import { createHash } from "node:crypto";
import type {
  AskedFile,
  FileBackend,
  FileChanges,
  FileLists,
  FoundFile,
} from "../../../src/fileserver/backends/contract/backend.ts";
import type { Tree } from "../../contract/file-backend.ts";

export class MemoryBackend implements FileBackend {
  readonly name: string;
  clearedCount = 0;
  readonly #hashType: string;
  readonly #trees: Map<string, Map<string, string>>;
  readonly #lists = new Map<string, FileLists>();
  #seen = new Map<string, string>();

  constructor(name: string, tree: Tree, hashType = "sha256") {
    this.name = name;
    this.#hashType = hashType;
    this.#trees = new Map(Object.entries(tree).map(([name, files]) => [name, new Map(Object.entries(files))]));
  }

  put(environment: string, name: string, content: string | undefined): void {
    const files = this.#trees.get(environment);
    if (content === undefined) files?.delete(name);
    else files?.set(name, content);
  }

  environments(): readonly string[] {
    return [...this.#trees.keys()];
  }

  async find({ name, environment }: AskedFile): Promise<FoundFile | undefined> {
    const content = this.#trees.get(environment)?.get(name);
    if (content === undefined) return undefined;
    const hashType = this.#hashType;
    return {
      path: `${this.name}://${environment}/${name}`,
      name,
      stat: () => null,
      hash: async () => createHash(hashType).update(content).digest("hex"),
      read: async (offset, bytesMax) => Buffer.from(content).subarray(offset, offset + bytesMax),
    };
  }

  async lists(environment: string): Promise<FileLists | undefined> {
    const files = this.#trees.get(environment);
    if (files === undefined) return undefined;
    const parents = [...files.keys()].filter((name) => name.includes("/")).map((name) => name.replace(/\/[^/]*$/, ""));
    const lists: FileLists = this.#lists.get(environment) ?? {
      files: [...files.keys()].sort(),
      dirs: [...new Set(parents)].sort(),
      emptyDirs: [],
      links: new Map([["from", this.name]].filter(() => files.has("from")) as [string, string][]),
    };
    this.#lists.set(environment, lists);
    return lists;
  }

  async clearLists(environments: readonly string[] | undefined): Promise<readonly string[]> {
    const wanted = [...this.#lists.keys()].filter((name) => environments?.includes(name) ?? true).sort();
    for (const name of wanted) this.#lists.delete(name);
    return wanted;
  }

  async update(): Promise<FileChanges> {
    const now = new Map(
      [...this.#trees].flatMap(([environment, files]) =>
        [...files].map(([name, content]): [string, string] => [`${environment}/${name}`, content]),
      ),
    );
    const before = this.#seen;
    this.#seen = now;
    const added = [...now.keys()].filter((path) => !before.has(path));
    const removed = [...before.keys()].filter((path) => !now.has(path));
    const changed = [...now].flatMap(([path, content]) => ((before.get(path) ?? content) === content ? [] : [path]));
    return { isChanged: added.length + removed.length + changed.length > 0, changed, added, removed };
  }

  async clearCache(): Promise<readonly string[]> {
    this.clearedCount += 1;
    return this.name === "stuck" ? ["stuck: the cache is locked"] : [];
  }
}
