/** `saltworks bench SCENARIO`: runs a scenario, repeated and beside other masters if asked, prints the result and writes it to a file. */
import type { Host } from "../../src/cli/host/host.ts";
import type { Progress } from "../../src/cli/host/progress.ts";
import { SaltworksError } from "../../src/errors.ts";
import { type Agents, openAgents } from "../agents/agents.ts";
import { idPrefixDefault } from "../fleet/members.ts";
import { thisTool } from "../machine.ts";
import { ownMasterHost } from "../master-process.ts";
import { runAgainst } from "../peers/against.ts";
import { formatNumber } from "../report/format.ts";
import { voidCauseText } from "../report/runs.ts";
import { demandDirectory, writeResult } from "../results/files.ts";
import type { Point, RunResult } from "../results/schema.ts";
import { judgeThresholds, type Threshold } from "../results/thresholds.ts";
import { runScenario } from "../scenarios/run.ts";
import { Interruption } from "./interruption.ts";
import { resultText } from "./result-text.ts";
import type { RunRequest } from "./run-request.ts";
import { sweptResult } from "./sweep.ts";

/** The exit code when the load generator was the limit, or other programs took the machine: the figures then say nothing about the master. */
export const voidExitCode = 2;
const incorrectExitCode = 1;
const keysWait = `minions sign in as ${idPrefixDefault}0, ${idPrefixDefault}1, ..; if the master does not accept keys by itself, accept them: salt-key -y -a '${idPrefixDefault}[0-9]*'\n`;
const keysStay = `the keys and mines of minions that signed in stay on the master until you delete the keys: salt-key -y -d '${idPrefixDefault}[0-9]*'\n`;
/** The exit code when a condition of `--fail-if` holds. */
const crossedExitCode = 3;

/** @returns 0; 1 if returns are missing; 2 if a run was void; 3 if a condition of `--fail-if` holds; 130 if it was interrupted */
export async function runRequest(request: RunRequest, progress: Progress, host: Host): Promise<number> {
  demandDirectory(request.directory);
  const interruption = new Interruption(host);
  if (request.masters[0].running !== undefined && request.masters[0].running.keyDirectory === undefined) {
    host.complain(`saltworks bench: ${keysWait}`);
  }
  try {
    const measured = await measureOnHosts(request, progress, interruption.signal);
    if (measured === undefined) {
      host.complain("saltworks bench: interrupted before a run was whole: there is no result\n");
      return interruption.exitCode;
    }
    const { result, fault } = judged(measured, request.thresholds);
    // Shown before it is written, because the file may fail.
    host.write(request.isJson ? `${JSON.stringify(result)}\n` : `${resultText(result)}\n`);
    const path = writeResult(request.directory, result);
    if (request.isJson) host.complain(`Result: ${path}\n`);
    else host.write(`Result: ${path}\nPlots:  saltworks bench report ${path}\n`);
    if (interruption.signal.aborted) return interruption.exitCode;
    if (fault !== undefined) throw fault;
    return exitCodeOf(result, host);
  } finally {
    if (request.masters[0].running !== undefined) host.complain(`saltworks bench: ${keysStay}`);
    interruption.end();
  }
}

/** `signal`: of the operator. `agents`: hosts that generate the load. */
type Site = { readonly progress: Progress; readonly signal: AbortSignal; readonly agents?: Agents };

/** Opens the agents, if there are any, before anything else starts. */
async function measureOnHosts(request: RunRequest, progress: Progress, signal: AbortSignal) {
  if (request.agents === undefined) return await measureAll(request, { progress, signal });
  const { version } = thisTool();
  let agents: Agents;
  try {
    agents = await openAgents(request.agents, {
      version,
      masterHost: request.masters[0].running?.host ?? ownMasterHost,
      signal,
    });
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
  try {
    return await measureAll(request, { progress, signal, agents });
  } finally {
    await agents.close();
  }
}

/** All values of the sweep, or the ones that are whole after an interruption. */
async function measureAll(request: RunRequest, site: Site) {
  const { sweep, parameters } = request;
  if (sweep === undefined) return await measure(request, site);
  const results: RunResult[] = [];
  for (const value of sweep.values) {
    if (site.signal.aborted) break;
    const own = await measure({ ...request, parameters: { ...parameters, [sweep.key]: value } }, site);
    if (own !== undefined) results.push(own);
  }
  return results.length === 0 ? undefined : sweptResult(sweep, results);
}

async function measure(request: RunRequest, { progress, signal, agents }: Site): Promise<RunResult | undefined> {
  const { scenario, parameters, masters, repeats } = request;
  const hosts = agents === undefined ? { signal } : { signal: agents.signal, agents: agents.hosts };
  const about = { scenario, parameters, progress, ...hosts };
  const points: Point[] = [];
  let result: RunResult | undefined;
  const phase = repeats > 1 ? progress.phase(scenario.name, masters.length > 1 ? undefined : repeats) : undefined;
  try {
    if (masters.length > 1) return besideEachOther(await runAgainst({ ...about, masters, repeats }));
    for (let repeat = 1; repeat <= repeats && !signal.aborted; repeat += 1) {
      const once = await runScenario({ ...about, master: masters[0] });
      points.push(...(repeats === 1 ? once.points : once.points.map((point) => repeated(point, repeat))));
      result ??= once;
      phase?.step();
    }
  } catch (error) {
    // After Ctrl-C any error of a run counts as the interruption.
    if (signal.aborted) return result && { ...result, points };
    // If an agent was lost, the error of the run only follows from it.
    agents?.demandAll();
    throw error;
  } finally {
    phase?.end();
  }
  return result && { ...result, points };
}

function repeated(point: Point, repeat: number): Point {
  return { ...point, parameters: { ...point.parameters, repeat } };
}

/** Our result with the points of the peers added. */
function besideEachOther(results: readonly RunResult[]): RunResult {
  const [own, ...others] = results;
  if (own === undefined) throw new SaltworksError("FUNCTION_FAILED", "the turns left no result");
  return { ...own, peers: others.map(({ master, points }) => ({ master, points })) };
}

/** `fault`: a condition names what the run does not have. The result is shown and written all the same. */
function judged(result: RunResult, thresholds: readonly Threshold[]): { result: RunResult; fault?: SaltworksError } {
  if (thresholds.length === 0) return { result };
  try {
    return { result: { ...result, thresholds: [...judgeThresholds(thresholds, result.points)] } };
  } catch (error) {
    if (error instanceof SaltworksError) return { result, fault: error };
    throw error;
  }
}

function exitCodeOf({ points, peers = [], thresholds = [] }: RunResult, host: Host): number {
  const all = [...points, ...peers.flatMap((peer) => peer.points)];
  const voids = all.filter(({ generator }) => generator.isVoid).length;
  const missing = points.reduce((sum, { correctness }) => sum + correctness.missing, 0);
  if (missing > 0) host.complain(`saltworks bench: ${missing} answers are missing from the master's store\n`);
  if (voids > 0) {
    host.complain(
      `saltworks bench: ${voids} of ${all.length} run${all.length === 1 ? " is" : "s are"} void: ${voidCauseText(all)}\n`,
    );
  }
  const crossed = thresholds.filter(({ isCrossed }) => isCrossed);
  for (const { text, label, observed, unit } of crossed)
    host.complain(`saltworks bench: ${label}: ${text}: measured ${formatNumber(observed)}${unit}\n`);
  if (missing > 0) return incorrectExitCode;
  if (voids > 0) return voidExitCode;
  return crossed.length > 0 ? crossedExitCode : 0;
}
