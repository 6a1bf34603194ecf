/** What becomes of the functions that the master's `schedule` runs. */
import type { MasterConfig } from "../config/load.ts";
import { runnerFunctions } from "../runners/registry.ts";
import type { Finding } from "./finding.ts";

export function scheduleFindings({ schedule }: Pick<MasterConfig, "schedule">): readonly Finding[] {
  return Object.entries(schedule).flatMap(([job, written]): Finding[] => {
    const isJob = typeof written === "object" && written !== null && !Array.isArray(written);
    const fun = isJob && "function" in written ? written.function : undefined;
    if (typeof fun !== "string") return [];
    const isThere = runnerFunctions.has(fun);
    const about = isThere ? `${fun} runs as in Salt` : `${fun}: this runner function is not built here`;
    return [{ verdict: isThere ? "kept" : "lost", name: job, about }];
  });
}
