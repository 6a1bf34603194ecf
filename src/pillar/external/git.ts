/**
 * Source `git`: pillar files of git repositories, compiled as those of `pillar_roots` are. The trees are written out before the compilation, in the
 * thread that asks servers. Source: Salt 3007's `git_pillar`, observed.
 */
import { setTimeout as pause } from "node:timers/promises";
import { candidatesOrFallback } from "../../git/environments.ts";
import { exportTree } from "../../git/export-tree.ts";
import type { GitEnvironment } from "../../git/program.ts";
import { type GitRemote, remotesOf, shownId } from "../../git/remotes.ts";
import { Repository } from "../../git/repository.ts";
import { gitRepositoriesMax } from "../../limits.ts";
import { isTrue } from "../../python/values.ts";
import { objectsOf, type Value, type ValueMap } from "../../wire/values.ts";
import { sourceFault } from "../input/source-fault.ts";
import type { ExternalSource, SourceArguments, SourceAsked, SourceContext } from "./contract.ts";

/** A written tree, and the environment that it belongs to. A mounted one has no top file. */
type PillarTree = { readonly directory: string; readonly environment: string; readonly isMounted: boolean };

const dynamicBranch = "__env__";
const lockPollMs = 200;
/** By directory, least recently used first: a repository keeps lists of files and a program that reads. */
const repositories = new Map<string, Repository>();

function remotesIn(args: SourceArguments, option: SourceAsked["option"]): GitRemote[] {
  return remotesOf("git_pillar", args.rest.map(objectsOf), option);
}

function repositoryOf(remote: GitRemote, environment: GitEnvironment): Repository {
  const known = repositories.get(remote.directory);
  const isSame = known !== undefined && JSON.stringify(known.remote) === JSON.stringify(remote);
  repositories.delete(remote.directory);
  const repository = isSame ? known : new Repository(remote, environment);
  repositories.set(remote.directory, repository);
  const [oldest] = repositories.values();
  if (repositories.size > gitRepositoriesMax && oldest !== undefined) {
    oldest.close();
    repositories.delete(oldest.remote.directory);
  }
  return repository;
}

/** Fetches a repository that has never been fetched, or waits for the process that does. @throws SaltworksError GIT_FAILED */
async function fetchFirst(repository: Repository, { timeoutMs, signal }: SourceAsked): Promise<void> {
  while (repository.refs.size === 0 && !signal.aborted) {
    const isFetched = (await repository.fetch(timeoutMs)) !== undefined;
    if (isFetched) return;
    await pause(lockPollMs);
  }
}

function environmentOf(remote: GitRemote, asked: string, branch: string): string {
  if (remote.branch === dynamicBranch && remote.allSaltenvs !== undefined) return asked;
  if (remote.env !== "") return remote.env === dynamicBranch ? asked : remote.env;
  return branch === remote.base ? "base" : branch;
}

/** The branch or tag that is meant: `__env__` stands for the asked environment's. */
function branchOf(remote: GitRemote, asked: string): string {
  if (remote.branch !== dynamicBranch) return remote.branch;
  return remote.allSaltenvs ?? (asked === "base" ? remote.base : asked);
}

/** @returns undefined for `__env__` if the repository does not have the environment, or the commit lacks the root */
async function treeOf(remote: GitRemote, asked: SourceAsked): Promise<PillarTree | undefined> {
  const repository = repositoryOf(remote, asked.environment);
  await fetchFirst(repository, asked);
  const environment = asked.pillarenv ?? (asked.saltenv || "base");
  const branch = branchOf(remote, environment);
  const commit = await repository.commitOf(candidatesOrFallback(remote, branch, repository.refs));
  if (commit === undefined) {
    if (remote.branch === dynamicBranch) return undefined;
    throw sourceFault(`git_pillar remote ${shownId(remote.id)} has no branch or tag '${branch}'`);
  }
  const directory = await exportTree(repository, { commit, root: remote.root, mountpoint: remote.mountpoint });
  if (directory === undefined)
    throw sourceFault(`git_pillar remote ${shownId(remote.id)} has no directory '${remote.root}' in '${branch}'`);
  return { directory, environment: environmentOf(remote, environment, branch), isMounted: remote.mountpoint !== "" };
}

async function ask(args: SourceArguments, asked: SourceAsked): Promise<Uint8Array> {
  const trees: (PillarTree | undefined)[] = [];
  for (const remote of remotesIn(args, asked.option)) trees.push(await treeOf(remote, asked));
  return Buffer.from(JSON.stringify(trees.filter((tree) => tree !== undefined)));
}

function read(context: SourceContext): Value {
  const trees = JSON.parse(Buffer.from(context.reply()).toString()) as readonly PillarTree[];
  const { settings, pillarenv } = context;
  const includes = settings.option("git_pillar_includes");
  let merged: ValueMap = new Map();
  for (const { directory, environment, isMounted } of trees) {
    if (isMounted || (pillarenv !== undefined && environment !== pillarenv)) continue;
    const others = trees.filter((other) => other.environment === environment && other.directory !== directory);
    // The tree's own top file is found first.
    const isJoined = includes === undefined || isTrue(includes as Value);
    const roots = [directory, ...(isJoined ? others.map((other) => other.directory) : [])];
    merged = settings.merge(merged, context.compile(environment, roots));
  }
  return merged;
}

export const git: ExternalSource = {
  parameters: [],
  requiredCount: 0,
  takes: "all",
  isForMinions: false,
  ask,
  read,
};
