/**
 * The report before a takeover: what of a Salt site goes on, changes or ends under this master, from its configuration, roots and directories.
 * Changes nothing. Source: docs/takeover.md.
 */
import type { MasterConfig } from "../config/load.ts";
import { isConfigMap } from "../config/yaml/values.ts";
import { runnerFunctions } from "../runners/registry.ts";
import type { Chapter, Finding } from "./finding.ts";
import { dataFindings, keyFindings, wayBackFindings } from "./master-data.ts";
import { optionFindings } from "./options.ts";
import { pythonFindings } from "./python-modules.ts";
import { scheduleFindings } from "./schedule.ts";
import { pillarFindings, reactorFindings } from "./sls-files.ts";

/** @param programPath - folders to search for Salt's programs, as in PATH */
export function* takeoverReport(config: MasterConfig, programPath: string): Generator<Chapter> {
  yield { subject: "options", findings: optionFindings(config) };
  yield { subject: "pillar files", findings: pillarFindings(config) };
  yield { subject: "reactor files", findings: reactorFindings(config, reactorFiles(config)) };
  yield { subject: "runners of minions (peer_run)", findings: peerFindings(config) };
  yield { subject: "schedule", findings: scheduleFindings(config) };
  yield { subject: "the site's own Python for the master", findings: pythonFindings(config) };
  yield { subject: "keys", findings: keyFindings(config) };
  yield { subject: "data", findings: dataFindings(config) };
  yield { subject: "way back", findings: wayBackFindings(config, programPath) };
}

function reactorFiles({ reactor }: MasterConfig): readonly string[] {
  return reactor
    .flatMap((entry) => (isMap(entry) ? Object.values(entry) : []))
    .flat()
    .filter((file) => typeof file === "string");
}

/** Functions that `peer_run` names. Expressions that match several names are left out. */
function peerFindings({ peer_run: peerRun, configFile }: MasterConfig): readonly Finding[] {
  const named = isMap(peerRun) ? Object.values(peerRun).flat() : [];
  return named
    .filter((name) => typeof name === "string" && /^\w+(?:\.\w+)+$/.test(name))
    .map((name): Finding => {
      const isThere = runnerFunctions.has(String(name));
      const about = isThere ? "runs as in Salt" : "this runner function is not built here";
      const finding = { name: String(name), place: configFile, about };
      if (isThere) return { verdict: "kept", ...finding };
      return { verdict: "lost", ...finding, plugins: [{ kind: "runner", name: String(name) }] };
    });
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return isConfigMap(value as never);
}
