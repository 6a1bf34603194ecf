/** What every command does first: read its options, its configuration, and how results are to be shown. */
import { readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { loadMasterConfig, loadMinionConfig, type Overrides, refuseStart } from "../config/load.ts";
import type { MasterConfig, MinionConfig } from "../config/schema.ts";
import { hasCode, type SaltworksError } from "../errors.ts";
import type { Host } from "./host.ts";
import { usageExitCode } from "./options/line-reader.ts";
import { type CommandName, type OptionsOf, parseCommandLine, type Understood } from "./options/parse.ts";
import {
  indentSetting,
  isColourOffBySetting,
  outputSetting,
  stateSettings,
  tableSettings,
} from "./outputters/settings.ts";
import { readSaltfile } from "./saltfile.ts";
import type { DisplayChoice } from "./show/display.ts";
import { programVersion, versionsText } from "./version.ts";

export const defaultConfigDir = "/etc/salt";

/** Ends a command with this code once everything that the user should read has been written. */
export class Exit extends Error {
  override readonly name = "Exit";
  readonly code: number;
  constructor(code: number) {
    super(`exit ${code}`);
    this.code = code;
  }
}

/** @throws Exit after help, version or a usage error */
export function understand<C extends CommandName>(name: C, argv: readonly string[], host: Host): Understood<C> {
  const line = parseCommandLine(name, argv, {
    version: programVersion(),
    versionsReport: versionsText,
    readSaltfile: (program, given) => readSaltfile(program, given, host),
    columns: host.columns,
    readStdin: () =>
      readFileSync(0, "utf8")
        .split("\n")
        .filter((word) => word !== ""),
  });
  if (line.ok) return line;
  host.write(line.stdout);
  host.complain(line.stderr);
  throw new Exit(line.exitCode);
}

export function masterConfig(configDir: string | undefined, host: Host, overrides: Overrides = {}): MasterConfig {
  const directory = announced(configDir, host);
  return explained(host, () => loadMasterConfig(directory, overrides));
}

/** The same for a master that is to start, which options may refuse that feed minions or guard something and are not built. */
export function startingMasterConfig(configDir: string | undefined, host: Host, overrides: Overrides): MasterConfig {
  const config = masterConfig(configDir, host, overrides);
  explained(host, () => refuseStart(config));
  return config;
}

/** The same for a command of an operator, whose own file `~/.saltrc` goes before the master's. */
export function clientConfig(configDir: string | undefined, host: Host): MasterConfig {
  const directory = announced(configDir, host);
  return explained(host, () => loadMasterConfig(directory, {}, ownFile(host)));
}

/** Salt's own places; a directory of XDG's that is there goes before the home directory. */
function ownFile({ environment }: Host): string | undefined {
  if (environment.SALT_CLIENT_CONFIG) return environment.SALT_CLIENT_CONFIG;
  const home = environment.HOME;
  if (home === undefined) return undefined;
  const directory = join(environment.XDG_CONFIG_HOME || join(home, ".config"), "salt");
  const isThere = statSync(directory, { throwIfNoEntry: false })?.isDirectory() === true;
  return isThere ? join(directory, "saltrc") : join(home, ".saltrc");
}

export function minionConfig(configDir: string | undefined, host: Host, overrides: Overrides = {}): MinionConfig {
  const directory = announced(configDir, host);
  return explained(host, () => loadMinionConfig(directory, overrides));
}

/** Salt's words about a directory that is not there: everything would be at its default, which is hardly what was meant. */
function announced(configDir: string | undefined, host: Host): string {
  const directory = resolve(configDir ?? (host.environment.SALT_CONFIG_DIR || defaultConfigDir));
  const isThere = statSync(directory, { throwIfNoEntry: false })?.isDirectory() === true;
  if (!isThere) host.complain(`WARNING: CONFIG '${directory}' directory does not exist.\n`);
  return directory;
}

/** @throws Exit with the code of a usage error after every fault has been listed */
function explained<Config>(host: Host, load: () => Config): Config {
  try {
    return load();
  } catch (error) {
    if (!hasCode(error, "CONFIG_INVALID") && !hasCode(error, "CONFIG_UNREADABLE")) throw error;
    const faults = (error as SaltworksError).message.split("\n").map((fault) => `  ${fault}\n`);
    host.complain(`saltworks: the configuration cannot be used:\n${faults.join("")}`);
    throw new Exit(usageExitCode);
  }
}

/** Of the options that say how results are shown, `key` has only some. */
type OutputOptions = Pick<OptionsOf<"key">, "output" | "outputIndent" | "outputFile" | "isOutputFileAppended"> &
  Pick<OptionsOf<"key">, "isColourOff" | "isColourForced"> & {
    readonly stateOutput?: string | undefined;
    readonly stateVerbose?: string | undefined;
    readonly isStateDiffOnly?: boolean;
  };

/** Options win over the configuration, a master's or a minion's. */
export function displayChoice(
  options: OutputOptions,
  config: Pick<MasterConfig | MinionConfig, "output" | "opts">,
): DisplayChoice {
  const isColourOff = options.isColourOff || isColourOffBySetting(config.opts);
  const indent = options.outputIndent ?? indentSetting(config.opts);
  const { stateOutput, stateVerbose, isStateDiffOnly } = options;
  return {
    // As in Salt, an empty name is none: of an outputter, and of a file.
    outputter: options.output || undefined,
    configuredOutputter: outputSetting(config.output),
    defaultOutputter: "nested",
    indent,
    states: {
      ...stateSettings(config.opts),
      ...(stateOutput === undefined ? {} : { output: stateOutput }),
      ...(stateVerbose === undefined ? {} : { isVerbose: stateVerbose.toLowerCase() !== "false" }),
      ...(isStateDiffOnly === true ? { isDiffOnly: true } : {}),
    },
    table: tableSettings(config.opts),
    file: options.outputFile || undefined,
    isAppending: options.isOutputFileAppended,
    isColoured: options.isColourForced ? true : isColourOff ? false : undefined,
  };
}
