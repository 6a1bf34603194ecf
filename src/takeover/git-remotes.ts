/** Git remotes with which no master starts, because their address or an option of theirs cannot be used. */
import type { MasterConfig } from "../config/load.ts";
import { servesGit, usedFileBackends } from "../config/options/file-backends.ts";
import { SaltworksError } from "../errors.ts";
import { pillarRemotesOf } from "../git/pillar-remotes.ts";
import { gitOptionOf, remotesOf } from "../git/remotes.ts";
import type { Finding } from "./finding.ts";

export function remoteFindings(config: MasterConfig): readonly Finding[] {
  const isServed = servesGit(usedFileBackends(config.fileserver_backend));
  const readings: Readonly<Record<string, () => unknown>> = {
    gitfs_remotes: () => (isServed ? remotesOf("gitfs", config.gitfs_remotes, gitOptionOf(config)) : []),
    ext_pillar: () => pillarRemotesOf(config.ext_pillar, gitOptionOf(config)),
  };
  return Object.entries(readings).flatMap(([name, read]): Finding[] => {
    try {
      read();
      return [];
    } catch (error) {
      if (!(error instanceof SaltworksError)) throw error;
      return [{ verdict: "lost", name, about: error.message }];
    }
  });
}
