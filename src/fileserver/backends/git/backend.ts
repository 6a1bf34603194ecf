/** Backend `git` (`gitfs`): branches, tags and commits of repositories as environments, `gitfs_remotes`. Source: Salt 3007's `gitfs` backend. */
import { rm } from "node:fs/promises";
import { join, posix } from "node:path";
import { commitsOf, environmentsIn, isHex, placeIn, type Refs } from "../../../git/environments.ts";
import { fetchAll } from "../../../git/fetch-all.ts";
import { type GitRemote, repositoriesName, shownId } from "../../../git/remotes.ts";
import { Repository } from "../../../git/repository.ts";
import { isLink, type Tree, type TreeEntry } from "../../../git/tree.ts";
import { fileListsKeptMax, gitLinksFollowedMax } from "../../../limits.ts";
import { compileGlob } from "../../../python/fnmatch.ts";
import type { AskedFile, FileBackend, FileChanges, FileLists, FoundFile } from "../contract/backend.ts";
import type { GitBackendSettings } from "../contract/git-settings.ts";
import { Blobs } from "./blobs.ts";
import { GitFile } from "./file.ts";
import { listsOf, type Mounted, pathIn } from "./lists.ts";

type Served = { readonly repository: Repository; readonly blobs: Blobs };

export class GitBackend implements FileBackend {
  readonly name: string;
  readonly #settings: GitBackendSettings;
  readonly #repositories: readonly Served[];
  #environments: { readonly refs: readonly Refs[]; readonly names: readonly string[] } | undefined;
  /** By environment, oldest first. */
  readonly #lists = new Map<string, { readonly commits: string; readonly lists: Promise<FileLists> }>();

  /** `name`: as in `fileserver_backend`, `git` or `gitfs`. */
  constructor(name: string, settings: GitBackendSettings) {
    this.name = name;
    this.#settings = settings;
    this.#repositories = settings.remotes.map((remote) => {
      const repository = new Repository(remote, settings.environment);
      return { repository, blobs: new Blobs(repository, settings.hashType) };
    });
  }

  /** Is made again after a fetch has brought other refs: each request asks for it. */
  environments(): readonly string[] {
    const refs = this.#repositories.map(({ repository }) => repository.refs);
    const known = this.#environments;
    if (known?.refs.every((one, index) => one === refs[index]) === true) return known.names;
    const all = this.#repositories.flatMap(({ repository: { remote } }, index) =>
      environmentsIn(remote, refs[index] ?? new Map()),
    );
    const names = [...new Set(all)].sort();
    this.#environments = { refs, names };
    return names;
  }

  async find({ name, environment }: AskedFile): Promise<FoundFile | undefined> {
    for (const { repository, blobs } of this.#servingOf(environment)) {
      const path = pathIn(placesIn(repository.remote, environment), name);
      if (path === undefined) continue;
      const commit = await commitIn(repository, environment);
      if (commit === undefined) continue;
      const entry = await followed(repository, await repository.tree(commit), path);
      if (entry === undefined) continue;
      return new GitFile(join(this.#settings.cachedir, "gitfs", "refs", environment, name), name, entry, blobs);
    }
    return undefined;
  }

  async lists(environment: string): Promise<FileLists | undefined> {
    const mounted = await this.#mounted(environment);
    if (mounted.length === 0) return undefined;
    const commits = mounted.map(({ repository, commit }) => `${repository.remote.directory} ${commit}`).join(" ");
    const known = this.#lists.get(environment);
    if (known?.commits === commits) return await known.lists;
    // As in Salt, an environment that only `fallback` gives shows no links.
    const isKnown = this.#isKnown(environment);
    const lists = listsOf(mounted).then((found) => (isKnown ? found : { ...found, links: new Map() }));
    this.#lists.delete(environment);
    this.#lists.set(environment, { commits, lists });
    lists.catch(() => this.#lists.delete(environment));
    const [oldest] = this.#lists.keys();
    if (this.#lists.size > fileListsKeptMax && oldest !== undefined) this.#lists.delete(oldest);
    return await lists;
  }

  /** Lists are never older than the last fetch, and only in memory. */
  async clearLists(environments: readonly string[] | undefined): Promise<readonly string[]> {
    const cleared = [...this.#lists.keys()].filter((name) => environments === undefined || environments.includes(name));
    for (const name of cleared) this.#lists.delete(name);
    return cleared.sort();
  }

  /** Fetches all remotes. `failure` names the remotes that failed. */
  async update(): Promise<FileChanges> {
    const outcome = await fetchAll(this.#repositories.map(({ repository }) => repository));
    for (const { blobs } of this.#repositories) await blobs.sweep(Date.now());
    const locked = outcome.locked.map((id) => `gitfs remote ${id}: locked, and not fetched`);
    const failures = [...locked, ...(outcome.failure === undefined ? [] : [outcome.failure.message])];
    const changes = { isChanged: outcome.changed.length > 0, changed: [], added: [], removed: [] };
    return failures.length === 0 ? changes : { ...changes, failure: failures.join("; ") };
  }

  async clearCache(): Promise<readonly string[]> {
    const directory = join(this.#settings.cachedir, repositoriesName, "gitfs");
    try {
      for (const { repository } of this.#repositories) repository.close();
      await rm(directory, { recursive: true, force: true });
      return [];
    } catch (error) {
      return [`Unable to delete ${directory}: ${(error as Error).message}`];
    }
  }

  lock(remote: string | undefined): readonly string[] {
    return this.#meant(remote).flatMap((one) =>
      one.takeLock() ? [`Set update lock for gitfs remote '${shownId(one.remote.id)}'`] : [],
    );
  }

  clearLock(remote: string | undefined): readonly string[] {
    return this.#meant(remote).flatMap((one) =>
      one.clearLock() ? [`Removed update lock for gitfs remote '${shownId(one.remote.id)}'`] : [],
    );
  }

  #meant(glob: string | undefined): readonly Repository[] {
    const all = this.#repositories.map(({ repository }) => repository);
    return glob === undefined ? all : all.filter(({ remote }) => compileGlob(glob).matches(remote.access.url));
  }

  #isKnown(environment: string): boolean {
    return isHex(environment) || this.environments().includes(environment);
  }

  /** The repositories that may have an environment. */
  #servingOf(environment: string): readonly Served[] {
    if (this.#isKnown(environment)) return this.#repositories;
    return this.#repositories.filter(({ repository }) => repository.remote.fallback !== "");
  }

  async #mounted(environment: string): Promise<Mounted[]> {
    const found: Mounted[] = [];
    for (const { repository } of this.#servingOf(environment)) {
      const commit = await commitIn(repository, environment);
      if (commit === undefined) continue;
      const tree = await repository.tree(commit);
      found.push({ repository, commit, tree, ...placesIn(repository.remote, environment) });
    }
    return found;
  }
}

function commitIn(repository: Repository, environment: string): Promise<string | undefined> {
  return repository.commitOf(commitsOf(repository.remote, environment, repository.refs));
}

function placesIn(remote: GitRemote, environment: string): Pick<Mounted, "root" | "mountpoint"> {
  return { root: placeIn(remote, "root", environment), mountpoint: placeIn(remote, "mountpoint", environment) };
}

/** The file of a path. A link leads to another file of the same tree. */
async function followed(repository: Repository, { files }: Tree, path: string): Promise<TreeEntry | undefined> {
  let at = path;
  for (let links = 0; links <= gitLinksFollowedMax; links += 1) {
    const entry = files.get(at);
    if (entry === undefined || !isLink(entry)) return entry;
    const target = await repository.linkTarget(entry);
    at = posix.join(posix.dirname(at), target);
    if (posix.isAbsolute(target) || at.startsWith("../")) return undefined;
  }
  return undefined;
}
