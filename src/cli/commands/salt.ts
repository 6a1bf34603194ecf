/** `saltworks salt`: from the command line to the job that it asks for. */
import { MasterClient } from "../../client/master-client.ts";
import type { MasterConfig } from "../../config/schema.ts";
import { displayChoice, masterConfig, understand } from "../command-line.ts";
import { Display } from "../display.ts";
import { isHardCrash, orCrash } from "../hard-crash.ts";
import type { Host } from "../host.ts";
import { openToolLog } from "../log.ts";
import type { OptionsOf } from "../options/parse.ts";
import { renderYaml } from "../outputters/yaml.ts";
import { configValue } from "./config-dump.ts";
import { explainFailure, SaltCommand } from "./salt-job.ts";
import { toJob } from "./salt-request.ts";

/** @returns the exit code */
export async function runSalt(argv: readonly string[], host: Host): Promise<number> {
  const { options, positionals } = understand("salt", argv, host);
  return await orCrash(options.isHardCrash, host, () => runJob(options, positionals, host));
}

async function runJob(options: OptionsOf<"salt">, positionals: readonly string[], host: Host): Promise<number> {
  const config = masterConfig(options.configDir, host);
  if (options.isConfigDumped) return dump(config, host);
  const job = toJob(options, positionals, config, host);
  const display = new Display(displayChoice(options, config), host);
  const log = openToolLog(options, config, host);
  let client: MasterClient | undefined;
  try {
    client = await MasterClient.open(config, host.user);
    return await new SaltCommand(job, client, display, host, log).run();
  } catch (error) {
    const code = isHardCrash(options.isHardCrash, host)
      ? undefined
      : explainFailure(error, job.isStatic, display, host, log);
    if (code === undefined) throw error;
    return code;
  } finally {
    client?.close();
  }
}

/** Every option with the value that it has, as Salt's own: whoever may read the file may read them here. */
function dump(config: MasterConfig, host: Host): number {
  host.write(`${renderYaml(configValue(config.opts))}\n`);
  return 0;
}
