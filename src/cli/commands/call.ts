/** `saltworks call`: one function on this machine, with the minion's configuration. Source: docs/compatibility.md, "saltworks call". */
import { resolve } from "node:path";
import type { MinionConfig } from "../../config/schema.ts";
import { type CallOutput, type CallRequest, runCall } from "../../minion/call/call.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import type { Host } from "../host/host.ts";
import { localPillar } from "../input/local-pillar.ts";
import { minionExtras } from "../input/minion-extras.ts";
import { loadModuleDirectories } from "../input/module-directory.ts";
import { becomeUser } from "../input/process-user.ts";
import { openToolLog } from "../log/open-log.ts";
import type { OptionsOf } from "../options/parse.ts";
import { Display } from "../show/display.ts";
import { displayChoice } from "../show/display-choice.ts";
import { orCrash } from "../show/hard-crash.ts";
import { understand } from "../start/command-line.ts";
import { minionConfig } from "../start/configuration.ts";

type CallOptions = OptionsOf<"call">;

/** @returns the exit code */
export async function runCallCommand(argv: readonly string[], host: Host): Promise<number> {
  const { options, positionals } = understand("call", argv, host);
  return await orCrash(options.isHardCrash, host, () => runOne(options, positionals, host));
}

async function runOne(options: CallOptions, positionals: readonly string[], host: Host): Promise<number> {
  warnOfIgnoredRoots(options, host);
  const configured = minionConfig(options.configDir, host, {
    master: options.master,
    id: options.id,
    file_client: options.isLocal ? "local" : undefined,
    auth_timeout: options.authTimeoutSeconds,
    file_roots: rootsOf(options.fileRoot),
    pillar_roots: rootsOf(options.pillarRoot),
  });
  // `root_dir` is a prefix of the configuration's cachedir, but not of the command line's.
  const config = options.cachedir ? withCacheIn(resolve(options.cachedir), configured) : configured;
  const display = new Display(displayChoice(options, config), host);
  const log = openToolLog(options, config, host);
  if (options.user !== undefined) await becomeUser(options.user, host);
  if (options.statesDir) log.warn(`Custom states are not built, so none are taken from ${options.statesDir}`);
  const output: CallOutput = {
    show: (value, outputter, retcode) => display.show(decode(encode(value, "bin")), outputter, retcode),
    write: (text) => host.write(text),
    complain: (text) => host.complain(text),
    log: (level, text) => log[level](text),
  };
  return await runCall(config, toRequest(options, positionals), output, {
    log,
    environment: { ...host.environment },
    localPillar: localPillar(config, log),
    extras: minionExtras,
    moreFunctions: await loadModuleDirectories(options.moduleDirs ?? [], log),
  });
}

function withCacheIn(cachedir: string, config: MinionConfig): MinionConfig {
  return { ...config, cachedir, opts: new Map([...config.opts, ["cachedir", cachedir]]) };
}

/** Without `--local`, files and pillar come from the master: warns in Salt's words of options that are ignored then. */
function warnOfIgnoredRoots(options: CallOptions, host: Host): void {
  if (options.isLocal) return;
  const given: readonly [string, string | undefined][] = [
    ["--file-root", options.fileRoot],
    ["--pillar-root", options.pillarRoot],
    ["--states-dir", options.statesDir],
  ];
  const ignored = given.filter(([, value]) => value !== undefined && value !== "").map(([name]) => name);
  if (ignored.length === 0) return;
  host.complain(
    `Warning: ${ignored.join(", ")} ${ignored.length === 1 ? "is" : "are"} ignored because --local was not specified; the remote file client retrieves these from the master. Re-run with --local to use the local override.\n`,
  );
}

function rootsOf(directory: string | undefined): { base: string[] } | undefined {
  return directory === undefined || directory === "" ? undefined : { base: [resolve(directory)] };
}

function toRequest(options: CallOptions, positionals: readonly string[]): CallRequest {
  const [fun, ...words] = positionals;
  return {
    ...(fun === undefined ? {} : { fun }),
    words,
    isDoc: options.isDocAsked,
    isGrains: options.isGrainsAsked,
    isMetadataShown: options.isMetadataShown,
    isRetcodePassedThrough: options.isRetcodePassed,
    isReturnOff: options.isReturnEventOff,
    isSkippingGrains: options.isSkippingGrains,
    noParse: options.noParse?.split(",") ?? [],
    ...(options.metadata === undefined ? {} : { metadata: options.metadata }),
    ...(options.returner ? { returners: options.returner } : {}),
  };
}
