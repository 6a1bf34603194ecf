/** `saltworks call`: one function on this machine, with the minion's configuration. Source: docs/compatibility.md, the call command. */
import { type CallOutput, type CallRequest, runCall } from "../../minion/call.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import { minionConfig, understand } from "../command-line.ts";
import { Display } from "../display.ts";
import type { Host } from "../host.ts";
import { openToolLog } from "../log.ts";
import type { OptionsOf } from "../options/parse.ts";

/** @returns the exit code */
export async function runCallCommand(argv: readonly string[], host: Host): Promise<number> {
  const { options, positionals } = understand("call", argv, host);
  const config = minionConfig(options.configDir, host, {
    log_level: options.logLevel,
    master: options.master,
    id: options.id,
    file_client: options.isLocal ? "local" : undefined,
  });
  const display = new Display(callDisplay(options), host);
  const log = openToolLog(options, config, host);
  const output: CallOutput = {
    show: (value, outputter, retcode) => display.show(decode(encode(value, "bin")), outputter, retcode),
    write: (text) => host.write(text),
    complain: (text) => host.complain(text),
    log: (level, text) => log[level](text),
  };
  return await runCall(config, toRequest(options, positionals), output, { log, environment: { ...host.environment } });
}

function callDisplay(options: OptionsOf<"call">): ConstructorParameters<typeof Display>[0] {
  const { stateOutput, stateVerbose } = options;
  return {
    outputter: options.output,
    defaultOutputter: "nested",
    indent: options.outputIndent,
    states: {
      ...(stateOutput === undefined ? {} : { output: stateOutput }),
      ...(stateVerbose === undefined ? {} : { isVerbose: stateVerbose.toLowerCase() !== "false" }),
      ...(options.isStateDiffOnly ? { isDiffOnly: true } : {}),
    },
    file: options.outputFile,
    isAppending: options.isOutputFileAppended,
    isColoured: options.isColourForced ? true : options.isColourOff ? false : undefined,
  };
}

function toRequest(options: OptionsOf<"call">, positionals: readonly string[]): CallRequest {
  const [fun, ...words] = positionals;
  return {
    ...(fun === undefined ? {} : { fun }),
    words,
    isDoc: options.isDocAsked,
    isGrains: options.isGrainsAsked,
    isMetadataShown: options.isMetadataShown,
    isRetcodePassedThrough: options.isRetcodePassed,
    isReturnOff: options.isReturnEventOff,
  };
}
