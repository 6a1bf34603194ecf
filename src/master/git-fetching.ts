/** Makes the part that fetches git repositories, with its lane. */
import type { Logger } from "pino";
import type { MasterConfig } from "../config/load.ts";
import { fileServerSettings } from "../fileserver/backends/contract/settings.ts";
import { pillarRemotesOf } from "../git/pillar-remotes.ts";
import type { GitEnvironment } from "../git/program.ts";
import { gitOptionOf } from "../git/remotes.ts";
import type { Bus } from "./ports/bus.ts";
import { openGitLane } from "./threads.ts";
import { GitUpdates, type GitUpdatesOptions } from "./upkeep/git-updates.ts";

type GitParts = { readonly config: MasterConfig; readonly bus: Pick<Bus, "fire">; readonly logger: Logger };

/** @throws SaltworksError CONFIG_INVALID that names a remote */
export function gitUpdatesOf({ config, bus, logger }: GitParts, environment: GitEnvironment): GitUpdates {
  const remotes = [
    ...fileServerSettings(config, environment).git.remotes,
    ...pillarRemotesOf(config.ext_pillar, gitOptionOf(config)),
  ];
  const onFetched: GitUpdatesOptions["onFetched"] = (role, isChanged) => {
    if (role === "gitfs" && config.fileserver_events)
      bus.fire("salt/fileserver/gitfs/update", { changed: isChanged, backend: "gitfs" });
  };
  return new GitUpdates({ remotes, lane: openGitLane(config, { remotes, environment }, logger), logger, onFetched });
}
