/** `saltworks salt`: from the command line to the job that it asks for. */
import { MasterClient } from "../../client/master-client.ts";
import type { MasterConfig } from "../../config/schema.ts";
import { parseFunctions } from "../args/functions.ts";
import { targetExpression } from "../args/targets.ts";
import { displayChoice, Exit, masterConfig, understand } from "../command-line.ts";
import { Display } from "../display.ts";
import type { Host } from "../host.ts";
import type { OptionsOf } from "../options/parse.ts";
import { targetOptions } from "../options/salt-options.ts";
import { explainFailure, SaltCommand, type SaltJob } from "./salt-job.ts";

/** @returns the exit code */
export async function runSalt(argv: readonly string[], host: Host): Promise<number> {
  const { options, positionals } = understand("salt", argv, host);
  const config = masterConfig(options.configDir, host);
  const job = toJob(options, positionals, config, host);
  const display = new Display(displayChoice(options, config), host);
  let client: MasterClient | undefined;
  try {
    client = await MasterClient.open(config, host.user);
    return await new SaltCommand(job, client, display, host).run();
  } catch (error) {
    const code = explainFailure(error, job.isStatic, display, host);
    if (code === undefined) throw error;
    return code;
  } finally {
    client?.close();
  }
}

/** @throws Exit if the words do not fit together */
function toJob(options: OptionsOf<"salt">, positionals: readonly string[], config: MasterConfig, host: Host): SaltJob {
  const [targetWord = "", functionWord = "", ...words] = positionals;
  const noParse = options.noParse?.split(",") ?? [];
  const call = parseFunctions(functionWord, words, options.argsSeparator, { noParse });
  if (!call.ok) {
    host.complain(`${call.message}\n`);
    throw new Exit(call.exitCode);
  }
  const targetKind = chosenKind(options);
  const isTimeoutShown = config.show_timeout && !options.isTimeoutHidden;
  const isJidShown = config.show_jid || options.isJidShown;
  const { timeoutSeconds = 0, gatherJobTimeoutSeconds = config.gather_job_timeout } = options;
  return {
    request: {
      target: targetExpression(targetKind, targetWord),
      targetKind,
      fun: call.fun,
      args: call.arg,
      kwargs: { show_timeout: isTimeoutShown, show_jid: isJidShown, delimiter: options.delimiter ?? ":" },
      follow: {
        timeoutSeconds: timeoutSeconds > 0 ? timeoutSeconds : config.timeout,
        gatherTimeoutSeconds: gatherJobTimeoutSeconds,
      },
    },
    isAsync: options.isAsync,
    isStatic: options.isStatic,
    isVerbose: options.isVerbose,
    isJidShown,
    isTimeoutShown,
    isSummarised: config.cli_summary || options.isSummaryShown,
  };
}

function chosenKind(options: OptionsOf<"salt">): string {
  const kinds = Object.keys(targetOptions) as (keyof typeof targetOptions)[];
  return kinds.find((kind) => options[kind]) ?? "glob";
}
