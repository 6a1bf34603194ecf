/** Reads the master's options for files from git repositories. */
import type { GitOptions } from "../../../config/options/git.ts";
import type { GitEnvironment } from "../../../git/program.ts";
import { type GitRemote, gitOptionOf, remotesOf } from "../../../git/remotes.ts";

export type GitBackendSettings = {
  readonly remotes: readonly GitRemote[];
  readonly cachedir: string;
  readonly hashType: string;
  /** Environment variables of the program git. */
  readonly environment: GitEnvironment;
};

type GitConfig = GitOptions & { readonly cachedir: string; readonly hash_type: string };

/** `isUsed`: whether `fileserver_backend` names it; else `gitfs_remotes` are not read. @throws SaltworksError CONFIG_INVALID */
export function gitBackendSettings(
  config: GitConfig,
  isUsed: boolean,
  environment: GitEnvironment,
): GitBackendSettings {
  const remotes = isUsed ? remotesOf("gitfs", config.gitfs_remotes, gitOptionOf(config)) : [];
  return { remotes, cachedir: config.cachedir, hashType: config.hash_type, environment };
}
