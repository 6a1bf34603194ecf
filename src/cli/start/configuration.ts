/** Loads the configuration that a command works with, and reports its faults. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Logger } from "pino";
import { isDirectory } from "../../config/files/kinds.ts";
import { loadMasterConfig, loadMinionConfig, type Overrides, refuseStart } from "../../config/load.ts";
import type { MasterConfig, MinionConfig } from "../../config/schema.ts";
import { hasCode, type SaltworksError } from "../../errors.ts";
import { mayBeServed } from "../../sidecar/availability.ts";
import { lookUpSdb } from "../../sidecar/sdb.ts";
import { Exit } from "../host/exit.ts";
import type { Host } from "../host/host.ts";
import { ownFilePath } from "../host/own-files.ts";
import { usageExitCode } from "../options/line-reader.ts";

export const defaultConfigDir = "/etc/salt";

/** @throws Exit if the configuration has faults */
export function masterConfig(configDir: string | undefined, host: Host, overrides: Overrides = {}): MasterConfig {
  const directory = announced(configDir, host);
  return explained(host, () => loadMasterConfig(directory, overrides));
}

/** For the command that starts a master. @throws Exit also for values with which no master starts */
export function startingMasterConfig(configDir: string | undefined, host: Host, overrides: Overrides): MasterConfig {
  const config = masterConfig(configDir, host, overrides);
  // What Python may serve is decided once the process is the master's user.
  if (!mayBeServed(config)) explainRefusal(config, host);
  return config;
}

/**
 * The configuration with what its values of `sdb://` stand for. Values that cannot be looked up stay in `sdbValues`, with the reason.
 *
 * @throws Exit for a value that does not suit its option
 */
export async function withSdb(
  config: MasterConfig,
  overrides: Overrides,
  host: Pick<Host, "complain">,
  log: Pick<Logger, "info">,
): Promise<MasterConfig> {
  if (config.sdbValues.length === 0) return config;
  const { found, failed, told } = await lookUpSdb(config, process.env);
  if (told !== undefined) log.info(told);
  if (failed.size === 0) return explained(host, () => loadMasterConfig(config.configDir, overrides, { sdb: found }));
  const sdbValues = config.sdbValues.map((value) => {
    const why = failed.get(value.uri);
    return why === undefined ? value : { ...value, why };
  });
  return { ...config, sdbValues };
}

/** @throws Exit for what refuses the start of a master */
export function explainRefusal(config: MasterConfig, host: Host): void {
  explained(host, () => refuseStart(config));
}

/** For an operator's command: settings in the operator's own `~/.saltrc` win over the master's file. @throws Exit as `masterConfig` */
export function clientConfig(configDir: string | undefined, host: Host): MasterConfig {
  const directory = announced(configDir, host);
  return explained(host, () => loadMasterConfig(directory, {}, { ownFile: ownFile(host) }));
}

/** Searches the places that Salt searches. */
function ownFile(host: Host): string | undefined {
  const { SALT_CLIENT_CONFIG: named, HOME: home } = host.environment;
  if (named) return named;
  if (home === undefined) return undefined;
  const file = ownFilePath(host, home, { inDirectory: "saltrc", atHome: ".saltrc" });
  return existsSync(file) ? file : undefined;
}

/** @throws Exit as `masterConfig` */
export function minionConfig(configDir: string | undefined, host: Host, overrides: Overrides = {}): MinionConfig {
  const directory = announced(configDir, host);
  return explained(host, () => loadMinionConfig(directory, overrides));
}

/** Warns in Salt's words if the directory is missing, because all options then have their defaults. */
function announced(configDir: string | undefined, host: Host): string {
  const directory = resolve(configDir ?? (host.environment.SALT_CONFIG_DIR || defaultConfigDir));
  if (!isDirectory(directory)) host.complain(`WARNING: CONFIG '${directory}' directory does not exist.\n`);
  return directory;
}

/** @throws Exit with the code of a usage error after every fault has been listed */
function explained<Config>(host: Pick<Host, "complain">, load: () => Config): Config {
  try {
    return load();
  } catch (error) {
    return explainFault(host, error);
  }
}

function explainFault(host: Pick<Host, "complain">, error: unknown): never {
  if (!hasCode(error, "CONFIG_INVALID") && !hasCode(error, "CONFIG_UNREADABLE")) throw error;
  const faults = (error as SaltworksError).message.split("\n").map((fault) => `  ${fault}\n`);
  host.complain(`saltworks: the configuration cannot be used:\n${faults.join("")}`);
  throw new Exit(usageExitCode);
}
