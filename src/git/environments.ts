/** Which environments of files a remote has, and which branch, tag or commit each is. Pure. Source: Salt 3007's `GitProvider` and `GitFS`. */
import { isExposed } from "../python/expression.ts";
import type { EnvironmentOptions, GitRemote, RefType } from "./remotes.ts";

/** Commits by the full names of their refs: `refs/remotes/origin/BRANCH`, `refs/tags/TAG`. */
export type Refs = ReadonlyMap<string, string>;

/** A commit, or a text that may be the start of one's id. */
export type Candidate = { readonly commit: string } | { readonly sha: string };

const prefixes: Readonly<Record<Exclude<RefType, "sha">, string>> = {
  branch: "refs/remotes/origin/",
  tag: "refs/tags/",
};

/** As in Salt, any text of hexadecimal digits may be a commit. */
export function isHex(text: string): boolean {
  return /^[0-9a-f]+$/i.test(text);
}

function isServed({ whitelist, blacklist }: GitRemote, environment: string): boolean {
  return isExposed(environment, whitelist, blacklist);
}

/** Environments by the ref that the configuration gives them. */
function mappedRefs({ saltenv, globalSaltenv }: GitRemote): Map<string, string[]> {
  const mapped = new Map<string, string[]>();
  const all = [...globalSaltenv].filter(([name]) => saltenv.get(name)?.ref === undefined);
  for (const [name, { ref }] of [...saltenv, ...all])
    if (ref !== undefined) mapped.set(ref, [...(mapped.get(ref) ?? []), name]);
  return mapped;
}

/** The environments that a client may list. */
export function environmentsIn(remote: GitRemote, refs: Refs): string[] {
  const mapped = mappedRefs(remote);
  const found = new Set<string>([...mapped.values()].flat());
  if (isHex(remote.base)) found.add("base");
  for (const type of ["branch", "tag"] as const) {
    if (!remote.refTypes.includes(type)) continue;
    for (const ref of refs.keys()) {
      if (!ref.startsWith(prefixes[type])) continue;
      const name = ref.slice(prefixes[type].length);
      if (mapped.has(name)) continue;
      if (name === remote.base) found.add("base");
      else if (!remote.isUnmapped) found.add(name);
    }
  }
  return [...found].filter((name) => isServed(remote, name)).sort();
}

/** The branch, tag or commit of an environment. @returns undefined if the environment has none */
function refOf(remote: GitRemote, environment: string): string | undefined {
  if (remote.allSaltenvs !== undefined) return remote.allSaltenvs;
  if (environment === "base") return remote.base;
  const own = remote.saltenv.get(environment)?.ref ?? remote.globalSaltenv.get(environment)?.ref;
  return own ?? (remote.isUnmapped ? undefined : environment);
}

/** Finds a branch, tag or commit by its name, in the order of `ref_types`. */
function candidatesOf({ refTypes }: Pick<GitRemote, "refTypes">, name: string, refs: Refs): Candidate[] {
  return refTypes.flatMap((type): Candidate[] => {
    if (type === "sha") return /^[0-9a-f]{4,64}$/i.test(name) ? [{ sha: name.toLowerCase() }] : [];
    const commit = refs.get(prefixes[type] + name);
    return commit === undefined ? [] : [{ commit }];
  });
}

/** Finds a branch, tag or commit by its name, and then the remote's `fallback`. */
export function candidatesOrFallback(remote: GitRemote, name: string, refs: Refs): Candidate[] {
  const names = remote.fallback === "" ? [name] : [name, remote.fallback];
  return names.flatMap((one) => candidatesOf(remote, one, refs));
}

/** What may be the commit of an environment, the best first. */
export function commitsOf(remote: GitRemote, environment: string, refs: Refs): Candidate[] {
  if (!isServed(remote, environment)) return [];
  const name = refOf(remote, environment);
  return name === undefined ? [] : candidatesOrFallback(remote, name, refs);
}

/** `root` or `mountpoint` of an environment. */
export function placeIn(remote: GitRemote, name: "root" | "mountpoint", environment: string): string {
  const own = (options: ReadonlyMap<string, EnvironmentOptions>) => options.get(environment)?.[name];
  return own(remote.saltenv) ?? own(remote.globalSaltenv) ?? remote[name];
}
