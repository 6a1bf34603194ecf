/**
 * A backend of Salt's or of the site's own, in Python: s3fs, svnfs, hgfs and others. The operator's own Salt fetches and finds; files that it has on this
 * machine are read here.
 */
import { stat } from "node:fs/promises";
import { SaltworksError } from "../../../errors.ts";
import type { Value } from "../../../wire/values.ts";
import type { AskedFile, FileBackend, FileChanges, FileLists, FoundFile } from "../contract/backend.ts";
import type { AskPythonFiles, FileServerSettings } from "../contract/settings.ts";
import { FileHashes } from "../local/hashes.ts";
import { LocalFile } from "../local/local-file.ts";

type Kept<Content> = { readonly madeMs: number; readonly content: Promise<Content> };

export class PythonBackend implements FileBackend {
  readonly name: string;
  readonly #ask: AskPythonFiles;
  readonly #hashes: FileHashes;
  readonly #ageMs: number;
  readonly #nowMs: () => number;
  #environments: Kept<readonly string[]> | undefined;
  readonly #lists = new Map<string, Kept<FileLists>>();
  /** Environment and name of each file at the last update. */
  #seen: ReadonlySet<string> = new Set();

  constructor(
    name: string,
    settings: Pick<FileServerSettings, "askPython" | "hashType" | "listAgeMs">,
    nowMs: () => number = () => performance.now(),
  ) {
    const { askPython, hashType, listAgeMs } = settings;
    if (askPython === undefined) throw new SaltworksError("FILES_FAILED", `the backend ${name} needs Python`, {});
    this.name = name;
    this.#ask = askPython;
    this.#hashes = new FileHashes(hashType);
    this.#ageMs = listAgeMs;
    this.#nowMs = nowMs;
  }

  async environments(): Promise<readonly string[]> {
    const known = this.#environments;
    if (known !== undefined && this.#isFresh(known)) return await known.content;
    const made = { madeMs: this.#nowMs(), content: this.#ask({ name: this.name, action: "envs" }).then(textsOf) };
    this.#environments = made;
    made.content.catch(() => {
      if (this.#environments === made) this.#environments = undefined;
    });
    return await made.content;
  }

  async find({ name, environment }: AskedFile): Promise<FoundFile | undefined> {
    if (!(await this.environments()).includes(environment)) return undefined;
    const place = { name: this.name, saltenv: environment, path: name };
    const found = await this.#ask({ ...place, action: "find" });
    if (!(found instanceof Map)) return undefined;
    const [path, own] = [textIn(found.get("path")), textIn(found.get("rel")) || name];
    if (found.get("is_local") !== true) return this.#remote(path, own, place);
    return new LocalFile(path, own, await stat(path, { bigint: true }), this.#hashes);
  }

  async lists(environment: string): Promise<FileLists | undefined> {
    if (!(await this.environments()).includes(environment)) return undefined;
    const known = this.#lists.get(environment);
    if (known !== undefined && this.#isFresh(known)) return await known.content;
    const asked = this.#ask({ name: this.name, action: "lists", saltenv: environment });
    const made = { madeMs: this.#nowMs(), content: asked.then(listsOf) };
    this.#lists.set(environment, made);
    made.content.catch(() => {
      if (this.#lists.get(environment) === made) this.#lists.delete(environment);
    });
    return await made.content;
  }

  async clearLists(environments: readonly string[] | undefined): Promise<readonly string[]> {
    const cleared = [...this.#lists.keys()].filter((name) => environments?.includes(name) !== false);
    for (const name of cleared) this.#lists.delete(name);
    return cleared.sort();
  }

  /** Python does not tell what has changed, so that the lists are compared. A file with new content is not noticed. */
  async update(): Promise<FileChanges> {
    const changed: readonly string[] = [];
    try {
      await this.#ask({ name: this.name, action: "update" });
      this.#environments = undefined;
      this.#lists.clear();
      const before = this.#seen;
      this.#seen = await this.#allNames();
      const added = [...this.#seen].filter((path) => !before.has(path));
      const removed = [...before].filter((path) => !this.#seen.has(path));
      return { isChanged: added.length + removed.length > 0, changed, added, removed };
    } catch (error) {
      if (!(error instanceof SaltworksError)) throw error;
      return { isChanged: false, changed, added: [], removed: [], failure: `${this.name}: ${error.message}` };
    }
  }

  async #allNames(): Promise<ReadonlySet<string>> {
    const names = new Set<string>();
    for (const environment of await this.environments())
      for (const file of (await this.lists(environment))?.files ?? []) names.add(`${environment}/${file}`);
    return names;
  }

  #isFresh({ madeMs }: Kept<unknown>): boolean {
    return this.#nowMs() - madeMs < this.#ageMs;
  }

  /** A file that only the backend itself can read. */
  #remote(
    path: string,
    name: string,
    place: { readonly name: string; readonly saltenv: string; readonly path: string },
  ) {
    const ask = this.#ask;
    return {
      path,
      name,
      stat: () => null,
      hash: async () => textIn(await ask({ ...place, action: "hash" })),
      read: async (offset: number, bytesMax: number) => {
        const data = await ask({ ...place, action: "read", loc: offset });
        const bytes = data instanceof Uint8Array ? data : Buffer.from(textIn(data));
        return bytes.subarray(0, bytesMax);
      },
    };
  }
}

function textIn(value: Value | undefined): string {
  return typeof value === "string" ? value : "";
}

function textsOf(value: Value | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === "string").sort() : [];
}

function listsOf(value: Value): FileLists {
  const lists = value instanceof Map ? value : new Map<Value, Value>();
  const links = lists.get("links");
  return {
    files: textsOf(lists.get("files")),
    dirs: textsOf(lists.get("dirs")),
    emptyDirs: textsOf(lists.get("empty_dirs")),
    links: new Map(links instanceof Map ? [...links].map(([name, target]) => [String(name), String(target)]) : []),
  };
}
