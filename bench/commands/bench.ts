/** `saltworks bench`: chooses the action that the command line names. */
import type { Host } from "../../src/cli/host/host.ts";
import type { Progress } from "../../src/cli/host/progress.ts";
import { SaltworksError } from "../../src/errors.ts";
import { scenarios } from "../scenarios/registry.ts";
import { agentCommand } from "./agent.ts";
import { compareFiles } from "./compare.ts";
import { writeKeys } from "./keys.ts";
import { scenarioList } from "./list.ts";
import { recordWorkload } from "./record.ts";
import { writeReport } from "./report.ts";
import { runRequest } from "./run.ts";
import { readRunRequest, understandBench } from "./run-request.ts";
import { showTrend } from "./trend.ts";

/** @returns the exit code */
export async function benchCommand(argv: readonly string[], host: Host, progress: Progress): Promise<number> {
  const { options, positionals } = understandBench(argv, host);
  if (options.isListAsked) {
    host.write(scenarioList());
    return 0;
  }
  const [word, ...rest] = positionals;
  if (word === undefined) {
    const names = scenarios.map(({ name }) => name).join(", ");
    throw new SaltworksError(
      "USAGE",
      `which scenario? There are: ${names}; a workload file; and agent, compare, keys, record, report, trend`,
    );
  }
  if (word === "compare") return compareFiles(rest, options, host);
  if (word === "keys") return await writeKeys(rest, options, progress, host);
  if (word === "record") return await recordWorkload(rest, options, progress, host);
  if (word === "trend") return showTrend(rest, options, host);
  if (word === "report") return writeReport(rest, options.reportFile, host);
  if (word === "agent") return await agentCommand(rest, options, host);
  if (rest.length > 0) throw new SaltworksError("USAGE", `one scenario at a time; '${rest.join(" ")}' is too much`);
  return await runRequest(readRunRequest(word, options, host), progress, host);
}
