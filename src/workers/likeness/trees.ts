/** Digests of the files below this master's roots of files and pillars, for comparison with other members' files. */
import { createHash } from "node:crypto";
import type { PathPage, TreeName, TreeState } from "../../cluster/likeness/message.ts";
import { anyEnvironment } from "../../config/files/environment.ts";
import { undefinedIfGone } from "../../config/files/system-errors.ts";
import type { MasterConfig } from "../../config/load.ts";
import { hasCode, SaltworksError } from "../../errors.ts";
import { type FileServerSettings, fileServerSettings } from "../../fileserver/backends/contract/settings.ts";
import { FileHashes } from "../../fileserver/backends/local/hashes.ts";
import { findFile } from "../../fileserver/backends/roots/find.ts";
import { walkRoots } from "../../fileserver/backends/roots/walk.ts";
import {
  likenessFileBytesMax,
  likenessFilesAtOnce,
  likenessFilesMax,
  likenessPageFilesMax,
  likenessReadMs,
} from "../../limits.ts";
import { pillarSettings } from "../../pillar/input/settings.ts";

type Roots = Pick<FileServerSettings, "roots" | "isIgnored" | "followsLinks" | "hidesLinks">;
type Kept = { readonly digest: string; readonly files: PathPage["files"] };

/** Reads the trees when it is asked, and keeps their last state for the questions about paths. */
export class LocalTrees {
  readonly #config: MasterConfig;
  readonly #readMs: number;
  /** Not by `hash_type`, in which members may differ. */
  readonly #hashes = new FileHashes("sha256");
  readonly #kept = new Map<string, Kept>();

  constructor(config: MasterConfig, readMs = likenessReadMs) {
    this.#config = config;
    this.#readMs = readMs;
  }

  /** Without `__env__`, whose environments are not known before they are asked for. */
  async states(): Promise<TreeState[]> {
    const untilMs = performance.now() + this.#readMs;
    const states: TreeState[] = [];
    this.#kept.clear();
    for (const [tree, roots] of this.#trees())
      for (const environment of [...roots.roots.keys()].filter((name) => name !== anyEnvironment).sort())
        states.push(await this.#state(tree, roots, environment, untilMs));
    return states;
  }

  /** @throws SaltworksError FILES_FAILED if the tree's last state has another digest */
  page(tree: TreeName, environment: string, digest: string, after: string): PathPage {
    const kept = this.#kept.get(`${tree} ${environment}`);
    if (kept?.digest !== digest)
      throw new SaltworksError(
        "FILES_FAILED",
        "it was asked by others meanwhile, or its files were changed: try again",
      );
    const from = kept.files.findIndex(([path]) => path > after);
    const files = from < 0 ? [] : kept.files.slice(from, from + likenessPageFilesMax);
    return { files, isLast: from < 0 || from + files.length >= kept.files.length };
  }

  #trees(): readonly (readonly [TreeName, Roots])[] {
    const files = fileServerSettings({ ...this.#config, fileserver_backend: ["roots"] }, {});
    const { roots } = pillarSettings(this.#config);
    const pillars = { roots, isIgnored: () => false, followsLinks: true, hidesLinks: false };
    return [
      ["file_roots", files],
      ["pillar_roots", pillars],
    ];
  }

  async #state(tree: TreeName, roots: Roots, environment: string, untilMs: number): Promise<TreeState> {
    try {
      const files = await this.#read(roots, environment, untilMs);
      const digest = digestOf(files);
      this.#kept.set(`${tree} ${environment}`, { digest, files });
      return { tree, environment, digest };
    } catch (error) {
      if (!hasCode(error, "FILES_FAILED")) throw error;
      return { tree, environment, digest: undefined, why: (error as Error).message };
    }
  }

  async #read(roots: Roots, environment: string, untilMs: number): Promise<PathPage["files"]> {
    const directories = roots.roots.get(environment) ?? [];
    const { files: names } = await walkRoots(roots, directories);
    if (names.length > likenessFilesMax)
      throw new SaltworksError("FILES_FAILED", `it has more than ${likenessFilesMax} files`);
    const read: (readonly [string, string])[] = [];
    for (let at = 0; at < names.length; at += likenessFilesAtOnce) {
      if (performance.now() > untilMs)
        throw new SaltworksError("FILES_FAILED", `its files were not read within ${this.#readMs / 1_000} s`);
      const some = names.slice(at, at + likenessFilesAtOnce);
      read.push(
        ...(await Promise.all(some.map(async (name) => [name, await this.#digest(roots, environment, name)] as const))),
      );
    }
    return read;
  }

  /** Empty for a file that is gone meanwhile or may not be read, and for a link that is not followed. */
  async #digest(roots: Roots, environment: string, name: string): Promise<string> {
    const file = await findFile(roots, this.#hashes, { name, environment, rootIndex: undefined });
    if (file === undefined) return "";
    if (file.size > likenessFileBytesMax) return `${file.size} bytes`;
    return (await file.hash().catch(undefinedIfGone)) ?? "";
  }
}

function digestOf(files: PathPage["files"]): string {
  const hash = createHash("sha256");
  for (const [path, digest] of files) hash.update(`${path}\0${digest}\n`);
  return hash.digest("hex");
}
