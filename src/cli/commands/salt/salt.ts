/** `saltworks salt`: reads the command line and runs its job. */

import { MasterClient } from "../../../client/master-client.ts";
import type { MasterConfig } from "../../../config/schema.ts";
import { yamlText } from "../../../python/yaml-writer.ts";
import type { AskedTarget } from "../../../target/asked-target.ts";
import type { BatchOptions } from "../../../wire/batch-options.ts";
import type { Host } from "../../host/host.ts";
import { loginOf } from "../../input/login.ts";
import { openToolLog } from "../../log/open-log.ts";
import type { OptionsOf } from "../../options/parse.ts";
import { configValue } from "../../show/config-value.ts";
import { Display } from "../../show/display.ts";
import { displayChoice } from "../../show/display-choice.ts";
import { isHardCrash, orCrash } from "../../show/hard-crash.ts";
import { noticePlace } from "../../show/notices.ts";
import { saltExitCodes } from "../../show/salt-endings.ts";
import { understand } from "../../start/command-line.ts";
import { clientConfig } from "../../start/configuration.ts";
import { BatchCommand, batchOptionsOf, safeBatchOf } from "./batch.ts";
import { explainFailure, SaltCommand } from "./job.ts";
import { toJob } from "./request.ts";
import { confirmTarget, showTarget, writtenTarget } from "./target.ts";

/** @returns the exit code */
export async function runSalt(argv: readonly string[], host: Host): Promise<number> {
  const { options, positionals } = understand("salt", argv, host);
  return await orCrash(options.isHardCrash, host, () => runJob(options, positionals, host));
}

async function runJob(options: OptionsOf<"salt">, positionals: readonly string[], host: Host): Promise<number> {
  const config = clientConfig(options.configDir, host);
  if (options.isConfigDumped) return dump(config, host);
  const asked = toJob(options, positionals, config, host);
  const batch = batchOptionsOf(options, host);
  const safe = batch === undefined ? safeBatchOf(options, config, host) : undefined;
  const log = openToolLog(options, config, host);
  const display = new Display(displayChoice(options, config, host.environment), host, log);
  let client: MasterClient | undefined;
  try {
    const job = { ...asked, request: { ...asked.request, ...writtenTarget(asked.request, config, log) } };
    const target = { ...job.request, delimiter: options.delimiter ?? ":" };
    const login = await loginOf(options, config, host, true);
    if (login === "failed") {
      host.complain("ERROR: Authentication failed\n");
      return saltExitCodes.nothingReturned;
    }
    client = await MasterClient.open(config, host.user, login);
    if (options.isPreviewAsked || options.isExplainAsked)
      return await showTarget(target, options.isExplainAsked, client, display, host);
    await confirmTarget(target, options, config, client, host);
    const command = new SaltCommand(job, client, display, host, log);
    const isFew = job.subset !== undefined && job.subset < (safe?.limit ?? 0);
    const chosen = batch ?? (isFew ? undefined : await safeBatch(safe, target, client, display));
    if (chosen === undefined) return await command.run();
    const request = await command.narrowed();
    if (request === undefined) return await command.matchesNobody();
    const batchCommand = new BatchCommand(client, display, host, log, options.configDir);
    const batched = { ...request, batch: chosen };
    return options.isAsync ? await batchCommand.begin(batched) : await batchCommand.run(batched);
  } catch (error) {
    const code = isHardCrash(options.isHardCrash, host)
      ? undefined
      : explainFailure(error, asked.isStatic || asked.isAsync || batch !== undefined, display, host, log);
    if (code === undefined) throw error;
    noticePlace(error, config, host);
    return code;
  } finally {
    client?.close();
  }
}

/** Turns a job to at least `batch_safe_limit` minions into a batch. */
async function safeBatch(
  safe: ReturnType<typeof safeBatchOf>,
  target: AskedTarget,
  client: MasterClient,
  display: Display,
): Promise<BatchOptions | undefined> {
  if (safe === undefined) return undefined;
  if ((await client.countTarget(target)) < safe.limit) return undefined;
  display.line("\nNOTICE: Too many minions targeted, switching to batch execution.");
  return safe.batch;
}

/** Shows every option with its value, as Salt does. Users that can read the file can read the values anyway. */
function dump(config: MasterConfig, host: Host): number {
  host.write(`${yamlText(configValue(config.opts))}\n`);
  return 0;
}
