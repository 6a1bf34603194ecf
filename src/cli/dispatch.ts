/** Finds the subcommand of a command line, runs it, and reports the errors that it does not handle itself. */

import { nearestNames } from "../config/edit-distance.ts";
import { withSystemReason } from "../config/files/system-errors.ts";
import { SaltworksError } from "../errors.ts";
import { Exit } from "./host/exit.ts";
import type { Host } from "./host/host.ts";
import { commandAbouts } from "./options/command-list.ts";
import { programVersion, versionsText } from "./start/version.ts";

type Command = (argv: readonly string[], host: Host) => Promise<number>;

/** Each is loaded on demand, because a key listing does not need the code of the master. */
const commands: { readonly [name in keyof typeof commandAbouts]: () => Promise<Command> } = {
  master: async () => (await import("./commands/master.ts")).runMasterCommand,
  api: async () => (await import("./commands/api.ts")).runApiCommand,
  minion: async () => (await import("./commands/minion.ts")).runMinionCommand,
  salt: async () => (await import("./commands/salt/salt.ts")).runSalt,
  key: async () => (await import("./commands/key.ts")).runKey,
  run: async () => (await import("./commands/run.ts")).runRun,
  call: async () => (await import("./commands/call.ts")).runCallCommand,
  cp: async () => (await import("./commands/cp.ts")).runCp,
  cluster: async () => (await import("./commands/cluster/cluster.ts")).runCluster,
  witness: async () => (await import("./commands/cluster/witness.ts")).runWitnessCommand,
  top: async () => (await import("./commands/top.ts")).runTop,
  demo: async () => (await import("./commands/demo.ts")).runDemo,
  bench: async () => (await import("./commands/bench.ts")).runBench,
  tune: async () => (await import("./commands/tune.ts")).runTune,
  size: async () => (await import("./commands/size.ts")).runSize,
  check: async () => (await import("./commands/check.ts")).runCheck,
  "check-store": async () => (await import("./commands/check-store.ts")).runCheckStore,
  completion: async () => (await import("./commands/completion.ts")).runCompletion,
};

/** Salt's commands. Ctrl-C ends them at once. Daemons are not in this set, because they stop in order. */
const saltsOwn: ReadonlySet<string> = new Set(["salt", "key", "run", "call", "cp"]);

/** Exit codes of sysexits for a usage error and for an error of the program itself. */
const usageExitCode = 64;
const softwareExitCode = 70;

/** @returns the exit code */
export async function dispatch(argv: readonly string[], host: Host): Promise<number> {
  const [name, ...rest] = argv;
  if (name === "--version") {
    host.write(`saltworks ${programVersion()}\n`);
    return 0;
  }
  if (name === "-V" || name === "--versions-report") {
    host.write(versionsText());
    return 0;
  }
  if (name === "--help" || name === "-h") {
    host.write(usage());
    return 0;
  }
  if (name === "help") return await help(rest, host);
  if (!isCommand(name)) return refuse(name, host);
  if (saltsOwn.has(name)) host.leaveOnInterrupt();
  return await answered(name, host, async () => await (await commands[name]())(rest, host));
}

/** `saltworks help`, and `saltworks help COMMAND`, which shows the same as `saltworks COMMAND --help`. */
async function help([name]: readonly string[], host: Host): Promise<number> {
  if (name !== undefined && name !== "help")
    return isCommand(name) ? await dispatch([name, "--help"], host) : refuse(name, host);
  host.write(usage());
  return 0;
}

function refuse(name: string | undefined, host: Host): number {
  const [near] = name === undefined ? [] : nearestNames(name, [...Object.keys(commandAbouts), "help"]);
  const meant = near === undefined ? "" : `; did you mean '${near}'?`;
  const complaint = name === undefined ? "which command?" : `there is no command '${name}'${meant}`;
  host.complain(`${usage()}\nsaltworks: error: ${complaint}\n`);
  return usageExitCode;
}

function isCommand(name: string | undefined): name is keyof typeof commands {
  return name !== undefined && Object.hasOwn(commands, name);
}

/** Runs a command and turns its errors into an exit code. An error that the operator can mend takes one line. */
export async function answered(name: string, host: Host, run: () => Promise<number>): Promise<number> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof Exit) return error.code;
    if (error instanceof SaltworksError) {
      const isUsage = error.code === "USAGE";
      host.complain(`saltworks ${name}: ${isUsage ? "error" : error.code}: ${withSystemReason(error)}\n`);
      return isUsage ? usageExitCode : 1;
    }
    if (error instanceof Error && isRefusedBySystem(error)) {
      host.complain(`saltworks ${name}: ${error.message}\n`);
      return 1;
    }
    host.complain(`saltworks ${name}: ${error instanceof Error ? error.stack : String(error)}\n`);
    return softwareExitCode;
  }
}

/** Errors that the operator can mend, such as permissions or a full disk. A stack would not help with them. */
const systemRefusals: ReadonlySet<unknown> = new Set([
  "EACCES",
  "EPERM",
  "EROFS",
  "ENOSPC",
  "EDQUOT",
  "ENOTDIR",
  "EEXIST",
  "EMFILE",
]);

function isRefusedBySystem(error: Error): boolean {
  return "syscall" in error && "code" in error && systemRefusals.has(error.code);
}

function usage(): string {
  const lines = Object.entries(commandAbouts).map(([name, about]) => `  ${name.padEnd(12)}${about}\n`);
  return `Usage: saltworks <command> [options] ...\n\n${lines.join("")}\n\`saltworks help COMMAND\` and \`saltworks COMMAND --help\` show a command's options. -c CONFIG_DIR names the directory of the configuration.\n`;
}
