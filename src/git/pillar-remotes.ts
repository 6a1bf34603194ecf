/** The remotes of all entries `git` of `ext_pillar`. */
import { type GitOption, type GitRemote, remotesOf } from "./remotes.ts";

/** @throws SaltworksError CONFIG_INVALID that names a remote */
export function pillarRemotesOf(sources: readonly unknown[], option: GitOption): GitRemote[] {
  const byId = new Map<string, GitRemote>();
  for (const source of sources) {
    if (typeof source !== "object" || source === null || !("git" in source)) continue;
    const written = Array.isArray(source.git) ? source.git : [source.git];
    // Several entries may name the same repository.
    for (const remote of remotesOf("git_pillar", written, option)) byId.set(remote.id, remote);
  }
  return [...byId.values()];
}
