/**
 * Prepares the target of `saltworks salt` before the job: replaces nodegroups, shows previews, and asks before a job to more minions than the
 * threshold. Source: docs/compatibility.md, "Targeting".
 */

import type { Logger } from "pino";
import type { MasterClient } from "../../../client/master-client.ts";
import type { MasterConfig } from "../../../config/schema.ts";
import { hasCode, SaltworksError } from "../../../errors.ts";
import type { AskedTarget } from "../../../target/asked-target.ts";
import { expandTarget, readNodegroups } from "../../../target/nodegroups.ts";
import { Exit } from "../../host/exit.ts";
import type { Host } from "../../host/host.ts";
import { usageExitCode } from "../../options/line-reader.ts";
import type { OptionsOf } from "../../options/parse.ts";
import type { Display } from "../../show/display.ts";
import { nothingText, saltExitCodes } from "../../show/salt-endings.ts";

type SaltOptions = OptionsOf<"salt">;
type Target = Pick<AskedTarget, "target" | "targetKind">;

const declinedCode = 1;
/** A target that no minion can match, for a nodegroup that cannot be replaced. */
const nobody: Target = { target: [], targetKind: "list" };

/**
 * Replaces nodegroups by their expressions, which only the master's configuration has.
 *
 * @throws SaltworksError REQUEST_REFUSED in Salt's words if the group does not exist
 */
export function writtenTarget(asked: Target, config: MasterConfig, log: Logger): Target {
  try {
    const { kind, expression } = expandTarget(asked.targetKind, asked.target, readNodegroups(config.nodegroups));
    return { target: expression, targetKind: kind };
  } catch (error) {
    if (!(error instanceof SaltworksError) || error.code !== "TARGET_INVALID" || error.detail.group === undefined)
      throw error;
    if (error.detail.isUndefined === true) {
      const message = `Node group ${error.detail.group} unavailable in ${config.configFile}`;
      throw new SaltworksError("REQUEST_REFUSED", message, {}, { cause: error });
    }
    log.error(error.message);
    return nobody;
  }
}

/** Shows the minions of the target for `--preview-target` and `--explain`. @returns the exit code */
export async function showTarget(
  target: AskedTarget,
  isExplained: boolean,
  client: MasterClient,
  display: Display,
  host: Host,
): Promise<number> {
  try {
    if (isExplained) {
      display.show(await client.explainTarget(target));
      return 0;
    }
    const minions = await client.matchTarget(target);
    if (minions.length > 0) {
      display.show([...minions]);
      return 0;
    }
  } catch (error) {
    if (!hasCode(error, "TARGET_INVALID")) throw error;
    host.complain(`ERROR: ${(error as SaltworksError).message}\n`);
  }
  host.complain(nothingText);
  return saltExitCodes.nothingReturned;
}

/**
 * Asks the user before a job to more minions than the threshold.
 *
 * @throws Exit if the user declines
 */
export async function confirmTarget(
  target: AskedTarget,
  options: Pick<SaltOptions, "confirmAbove" | "isYesSaid" | "subset">,
  config: MasterConfig,
  client: MasterClient,
  host: Host,
): Promise<void> {
  const threshold = options.confirmAbove ?? config.confirm_above;
  if (threshold <= 0 || options.isYesSaid) return;
  const matched = await client.countTarget(target);
  const count = options.subset === undefined || options.subset === 0 ? matched : Math.min(matched, options.subset);
  if (count <= threshold) return;
  const why = `${count} minions match the target, and more than ${threshold} need a confirmation (confirm_above)`;
  if (!host.isTerminal || !host.isInputTerminal) {
    host.complain(`ERROR: ${why}. No command was sent: give --yes to send it.\n`);
    throw new Exit(usageExitCode);
  }
  host.write(`${why}.\nProceed? [N/y] `);
  const answer = await host.readLine();
  if (answer?.toLowerCase().startsWith("y") === true) return;
  // At the end of input the cursor is still on the line of the question.
  host.complain(`${answer === undefined ? "\n" : ""}No command was sent.\n`);
  throw new Exit(declinedCode);
}
