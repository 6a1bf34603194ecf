/** The lane that fetches git repositories. It mostly waits for git, so that one thread fetches several side by side. */
import { isMainThread, workerData } from "node:worker_threads";
import { SaltworksError } from "../../errors.ts";
import { fetchAll } from "../../git/fetch-all.ts";
import { Repository } from "../../git/repository.ts";
import { answerForMeasures } from "../measures/lane-measures.ts";
import type { GitResult, GitStart, GitTask } from "../messages/lanes.ts";
import type { LaneStart } from "../threads/lane-pool.ts";
import { nameLaneThread } from "../threads/name.ts";
import { yieldToOthers } from "../threads/priority.ts";
import { countTurns } from "../threads/turns.ts";

if (isMainThread) throw new SaltworksError("WORKER_LOST", "workers/lanes/git-lane.ts runs in a worker thread only");

const { remotes, environment, startedThreads, turns } = workerData as GitStart & LaneStart;
answerForMeasures(nameLaneThread("git", startedThreads));
countTurns(turns);
yieldToOthers();
const repositories = new Map(remotes.map((remote) => [remote.directory, new Repository(remote, environment)]));

export default async function handle({ directories }: GitTask): Promise<GitResult> {
  const meant = directories.flatMap((directory) => repositories.get(directory) ?? []);
  const { failure, ...fetched } = await fetchAll(meant);
  return failure === undefined ? fetched : { ...fetched, failure: failure.message };
}
