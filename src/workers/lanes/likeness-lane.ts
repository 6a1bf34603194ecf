/** The lane that tells other members of the cluster what this master has of its own: options and digests of files. It runs at a low priority. */
import { isMainThread, workerData } from "node:worker_threads";
import { encodeAnswer, type LikenessQuestion, type StateAnswer } from "../../cluster/likeness/message.ts";
import { readOwnPackage } from "../../config/host/program.ts";
import type { MasterConfig } from "../../config/load.ts";
import { SaltworksError } from "../../errors.ts";
import { optionStates } from "../likeness/options.ts";
import { LocalTrees } from "../likeness/trees.ts";
import { answerForMeasures } from "../measures/lane-measures.ts";
import type { LaneStart } from "../threads/lane-pool.ts";
import { nameLaneThread } from "../threads/name.ts";
import { yieldToOthers } from "../threads/priority.ts";

if (isMainThread)
  throw new SaltworksError("WORKER_LOST", "workers/lanes/likeness-lane.ts runs in a worker thread only");

const { config, startedThreads } = workerData as { readonly config: MasterConfig } & LaneStart;
answerForMeasures(nameLaneThread("likeness", startedThreads));
yieldToOthers();
const trees = new LocalTrees(config);

/** @returns the answer as JSON */
export default async function handle(question: LikenessQuestion): Promise<string> {
  switch (question.kind) {
    case "state":
      return encodeAnswer({
        version: readOwnPackage().version,
        options: optionStates(config),
        trees: await trees.states(),
      } satisfies StateAnswer);
    case "paths":
      return encodeAnswer(trees.page(question.tree, question.environment, question.digest, question.after));
    default:
      throw new SaltworksError("WIRE_MALFORMED", "the main thread answers this question");
  }
}
