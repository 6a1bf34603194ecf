/** Which subcommand a command line means, and what becomes of errors that none of them expects. */
import { SaltworksError } from "../errors.ts";
import { Exit } from "./command-line.ts";
import type { Host } from "./host.ts";
import { programVersion, versionsText } from "./version.ts";

type Command = (argv: readonly string[], host: Host) => Promise<number>;

/** Loaded when asked for: a key listing needs no master. */
const commands: { readonly [name: string]: { readonly about: string; readonly load: () => Promise<Command> } } = {
  master: {
    about: "Run a master, as salt-master does.",
    load: async () => (await import("./commands/master.ts")).runMasterCommand,
  },
  minion: {
    about: "Run a minion, as salt-minion does.",
    load: async () => (await import("./commands/minion.ts")).runMinionCommand,
  },
  salt: {
    about: "Run a function on minions, as salt does.",
    load: async () => (await import("./commands/salt.ts")).runSalt,
  },
  key: {
    about: "List, accept, reject and delete minions' keys, as salt-key does.",
    load: async () => (await import("./commands/key.ts")).runKey,
  },
  run: {
    about: "Run a function on the master, as salt-run does.",
    load: async () => (await import("./commands/run.ts")).runRun,
  },
  call: {
    about: "Run a function on this machine, as salt-call does.",
    load: async () => (await import("./commands/call.ts")).runCallCommand,
  },
  cp: {
    about: "Copy files of this machine to minions, as salt-cp does.",
    load: async () => (await import("./commands/cp.ts")).runCp,
  },
  top: {
    about: "Show live what the master does.",
    load: async () => (await import("./commands/top.ts")).runTop,
  },
  demo: {
    about: "Start a master and minions in a directory of their own, and show some jobs.",
    load: async () => (await import("./commands/demo.ts")).runDemo,
  },
  bench: {
    about: "Measure a master under simulated load, compare results, write reports.",
    load: async () => (await import("./commands/bench.ts")).runBench,
  },
  tune: {
    about: "Find worker_threads and batch limits for this machine.",
    load: async () => (await import("./commands/tune.ts")).runTune,
  },
};

/** Exit codes of sysexits: a command line that cannot be understood, an error of the program itself. */
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
  const command = name !== undefined && Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command === undefined) {
    const complaint = name === undefined ? "which command?" : `there is no command '${name}'`;
    host.complain(`${usage()}\nsaltworks: error: ${complaint}\n`);
    return usageExitCode;
  }
  return await answered(name ?? "", host, async () => await (await command.load())(rest, host));
}

/** What a command ends with, errors included: those are said in one line where the operator can do something about them. */
export async function answered(name: string, host: Host, run: () => Promise<number>): Promise<number> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof Exit) return error.code;
    if (error instanceof SaltworksError) {
      const isUsage = error.code === "USAGE";
      host.complain(`saltworks ${name}: ${isUsage ? "error" : error.code}: ${error.message}\n`);
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

/** What the operator can mend: permissions, a full disk. Where in the program it came up says nothing to him. */
const systemRefusals: ReadonlySet<unknown> = new Set([
  "EACCES",
  "EPERM",
  "EROFS",
  "ENOSPC",
  "EDQUOT",
  "ENOTDIR",
  "EMFILE",
]);

function isRefusedBySystem(error: Error): boolean {
  return "syscall" in error && "code" in error && systemRefusals.has(error.code);
}

function usage(): string {
  const lines = Object.entries(commands).map(([name, { about }]) => `  ${name.padEnd(8)}${about}\n`);
  return `Usage: saltworks <command> [options] ...\n\n${lines.join("")}\nEach command has --help. -c CONFIG_DIR names the directory of the configuration.\n`;
}
