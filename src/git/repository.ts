/**
 * A bare repository of a remote on this machine. Any process may fetch, under a lock; all see what the last fetch has brought through the file
 * `refs.json` beside it, which is written when a fetch is whole.
 */
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { hasCodeIn, isNotThere } from "../config/files/system-errors.ts";
import { SaltworksError } from "../errors.ts";
import { gitFetchTimeoutMs, gitReadTimeoutMs, gitTreeFilesKeptMax } from "../limits.ts";
import { replaceFile } from "../store/disk/durable-file.ts";
import { accessEnvironment } from "./access.ts";
import type { Candidate, Refs } from "./environments.ts";
import { ObjectReader } from "./objects.ts";
import { type GitEnvironment, gitEnvironment, runGit } from "./program.ts";
import { type GitRemote, shownId } from "./remotes.ts";
import { readTree, type Tree, type TreeEntry } from "./tree.ts";

const noRefs: Refs = new Map();

export class Repository {
  readonly remote: GitRemote;
  readonly objects: ObjectReader;
  readonly #environment: GitEnvironment;
  readonly #gitDirectory: string;
  /** By the id of the commit, least recently used first. A commit's tree never changes. */
  readonly #trees = new Map<string, Promise<Tree>>();
  readonly #fileCounts = new Map<string, number>();
  #refs: { readonly stamp: string; readonly refs: Refs } = { stamp: "", refs: noRefs };

  /** `environment`: variables for git, which gets none that would lead it elsewhere. */
  constructor(remote: GitRemote, environment: GitEnvironment) {
    this.remote = remote;
    this.#environment = gitEnvironment(environment);
    this.#gitDirectory = join(remote.directory, "repository.git");
    this.objects = new ObjectReader(this.#gitDirectory, this.#environment);
  }

  get lockFile(): string {
    return join(this.remote.directory, "update.lk");
  }

  /** Where other programs of this master may keep what they take out of the repository. */
  pathFor(...names: readonly string[]): string {
    return join(this.remote.directory, ...names);
  }

  /** What the last whole fetch has brought: none before the first one. Looks at one file's times. */
  get refs(): Refs {
    const path = this.pathFor("refs.json");
    try {
      const { ino, mtimeMs, size } = statSync(path);
      const stamp = `${ino} ${mtimeMs} ${size}`;
      if (stamp !== this.#refs.stamp) {
        this.#refs = { stamp, refs: new Map(Object.entries(JSON.parse(readFileSync(path, "utf8")))) };
      }
    } catch (error) {
      if (!isNotThere(error) && !(error instanceof SyntaxError)) throw error;
      this.#refs = { stamp: "", refs: noRefs };
    }
    return this.#refs.refs;
  }

  /**
   * Fetches, and prunes what the remote does not have any more.
   * @returns whether anything has changed; undefined if another process has the lock. @throws SaltworksError GIT_FAILED
   */
  async fetch(timeoutMs: number = gitFetchTimeoutMs): Promise<boolean | undefined> {
    if (!this.takeLock()) return undefined;
    try {
      await this.#init();
      const { access, refspecs } = this.remote;
      const environment = accessEnvironment(access, this.#environment, join(this.remote.directory, ".."));
      const options = [
        "--prune",
        "--force",
        "--no-tags",
        "--quiet",
        "--no-recurse-submodules",
        "--no-write-fetch-head",
      ];
      await this.#git(["fetch", ...options, "--end-of-options", access.url, ...refspecs], timeoutMs, environment);
      return await this.#noteRefs();
    } finally {
      rmSync(this.lockFile, { force: true });
    }
  }

  /** @returns false if a process that runs has it */
  takeLock(): boolean {
    mkdirSync(this.remote.directory, { recursive: true, mode: 0o700 });
    for (let trial = 0; trial < 2; trial += 1) {
      try {
        const file = openSync(this.lockFile, "wx", 0o600);
        writeSync(file, String(process.pid));
        closeSync(file);
        return true;
      } catch (error) {
        if (!hasCodeIn(error, "EEXIST")) throw error;
        if (this.#isLockHeld()) return false;
        rmSync(this.lockFile, { force: true });
      }
    }
    return false;
  }

  /** @returns whether there was one */
  clearLock(): boolean {
    if (!existsSync(this.lockFile)) return false;
    rmSync(this.lockFile, { force: true });
    return true;
  }

  /** The files of a commit. Lists of the last commits stay in memory. @throws SaltworksError GIT_FAILED */
  tree(commit: string): Promise<Tree> {
    const known = this.#trees.get(commit);
    this.#trees.delete(commit);
    const tree = known ?? this.#readTree(commit);
    this.#trees.set(commit, tree);
    if (known === undefined)
      tree.then(
        (read) => this.#keep(commit, read),
        () => this.#trees.delete(commit),
      );
    return tree;
  }

  /** Counts the files of a tree that was read, and forgets trees over the bound, but never this one. */
  #keep(commit: string, { files }: Tree): void {
    this.#fileCounts.set(commit, files.size);
    let count = [...this.#fileCounts.values()].reduce((sum, one) => sum + one, 0);
    for (const oldest of this.#trees.keys()) {
      if (count <= gitTreeFilesKeptMax || oldest === commit) return;
      count -= this.#fileCounts.get(oldest) ?? 0;
      this.#fileCounts.delete(oldest);
      this.#trees.delete(oldest);
    }
  }

  /** The first of the candidates that is there. @returns undefined without one. @throws SaltworksError GIT_FAILED */
  async commitOf(candidates: readonly Candidate[]): Promise<string | undefined> {
    for (const candidate of candidates) {
      if ("commit" in candidate) return candidate.commit;
      if (!existsSync(this.#gitDirectory)) continue;
      const commit = await this.objects.read(`${candidate.sha}^{commit}`);
      if (commit !== undefined) return commit.oid;
    }
    return undefined;
  }

  /** A small blob. @throws SaltworksError GIT_FAILED */
  async blob(oid: string): Promise<Buffer> {
    const object = await this.objects.read(oid);
    if (object === undefined) throw new SaltworksError("GIT_FAILED", `the repository has no object ${oid}`);
    return object.content;
  }

  /** Where a link leads, as written; an empty text if the repository lacks it. @throws SaltworksError GIT_FAILED */
  async linkTarget({ oid }: Pick<TreeEntry, "oid">): Promise<string> {
    return (await this.objects.read(oid))?.content.toString() ?? "";
  }

  /** Writes a blob of any size to an open file. @throws SaltworksError GIT_FAILED */
  async writeBlob(oid: string, file: number): Promise<void> {
    const args = ["--git-dir", this.#gitDirectory, "cat-file", "blob", oid];
    await runGit({ args, environment: this.#environment, timeoutMs: gitReadTimeoutMs, outputTo: file });
  }

  close(): void {
    this.objects.close();
  }

  async #init(): Promise<void> {
    if (existsSync(join(this.#gitDirectory, "HEAD"))) return;
    const args = ["init", "--quiet", "--bare", "--template=", "--end-of-options", this.#gitDirectory];
    await runGit({ args, environment: this.#environment, timeoutMs: gitReadTimeoutMs });
  }

  /** Tags name the commit that they are of. @returns whether the refs are others than before */
  async #noteRefs(): Promise<boolean> {
    const format = "--format=%(refname)%09%(objectname)%09%(*objectname)%09%(objecttype)%09%(*objecttype)";
    const listed = (await this.#git(["for-each-ref", format], gitReadTimeoutMs, this.#environment)).toString();
    const refs = listed.split("\n").flatMap((line): [string, string][] => {
      const [name = "", oid = "", peeled = "", type, peeledType] = line.split("\t");
      if (peeledType === "commit") return [[name, peeled]];
      return type === "commit" ? [[name, oid]] : [];
    });
    const before = this.refs;
    const isSame = before.size === refs.length && refs.every(([name, oid]) => before.get(name) === oid);
    if (isSame && existsSync(this.pathFor("refs.json"))) return false;
    replaceFile(this.pathFor("refs.json"), JSON.stringify(Object.fromEntries(refs)), 0o600);
    return true;
  }

  async #readTree(commit: string): Promise<Tree> {
    const args = ["ls-tree", "-r", "-t", "-z", "-l", "--full-tree", "--end-of-options", commit];
    return readTree(await this.#git(args, gitReadTimeoutMs, this.#environment));
  }

  /** @throws SaltworksError GIT_FAILED that names the remote */
  async #git(args: readonly string[], timeoutMs: number, environment: GitEnvironment): Promise<Buffer> {
    try {
      return await runGit({ args: ["--git-dir", this.#gitDirectory, ...args], environment, timeoutMs });
    } catch (error) {
      if (!(error instanceof SaltworksError)) throw error;
      const id = shownId(this.remote.id);
      throw new SaltworksError("GIT_FAILED", `${this.remote.role} remote ${id}: ${error.message}`, { remote: id });
    }
  }

  #isLockHeld(): boolean {
    try {
      const pid = Number(readFileSync(this.lockFile, "utf8"));
      if (!Number.isInteger(pid) || pid <= 0) return false;
      process.kill(pid, 0);
      return true;
    } catch (error) {
      // EPERM: the process is another user's.
      return hasCodeIn(error, "EPERM");
    }
  }
}
