/** The key by which equal questions for a pillar share one rendering. */
import { createHash } from "node:crypto";
import type { PillarTask } from "../../workers/messages/pillar.ts";

/** Questions with the same key have the same answer while files do not change. */
export function keyOf(task: PillarTask): string {
  const hash = createHash("sha256");
  const { saltenv, pillarenv, grains, override, extraData, onDemand } = task;
  const cleaned = task.isCacheCleaned === true ? "clean" : undefined;
  for (const part of [saltenv, pillarenv, grains, override, extraData, onDemand, cleaned]) {
    hash.update(part === undefined ? "-" : `+${part.length}:`);
    if (part !== undefined) hash.update(part);
  }
  return `${task.id} ${hash.digest("base64")}`;
}
