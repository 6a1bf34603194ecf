/** Decides from options and configuration how a command shows its results. */
import type { MasterConfig, MinionConfig } from "../../config/schema.ts";
import type { OptionsOf } from "../options/parse.ts";
import {
  indentSetting,
  isColourOffBySetting,
  outputSetting,
  stateSettings,
  tableSettings,
} from "../outputters/settings.ts";
import type { DisplayChoice } from "./display.ts";
import { outputtersInPython } from "./python-outputters.ts";

/** Output options. Every command has them, except that some lack the options for states. */
type OutputOptions = Pick<OptionsOf<"key">, "output" | "outputIndent" | "outputFile" | "isOutputFileAppended"> &
  Pick<OptionsOf<"key">, "isColourOff" | "isColourForced"> & {
    readonly stateOutput?: string | undefined;
    readonly stateVerbose?: string | undefined;
    readonly isStateDiffOnly?: boolean;
  };

/** Options win over the configuration of the master or minion. */
export function displayChoice(
  options: OutputOptions,
  config: Pick<MasterConfig | MinionConfig, "output" | "opts">,
  environment?: Readonly<Record<string, string | undefined>>,
): DisplayChoice {
  const isColourOff = options.isColourOff || isColourOffBySetting(config.opts);
  const indent = options.outputIndent ?? indentSetting(config.opts);
  const { stateOutput, stateVerbose, isStateDiffOnly } = options;
  return {
    // As in Salt, an empty name counts as not given, for outputters and for files.
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
    ...(environment && { renderInPython: outputtersInPython(config, environment) }),
    isColoured: options.isColourForced ? true : isColourOff ? false : undefined,
  };
}
