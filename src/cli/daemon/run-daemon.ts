/**
 * Runs a master or a minion as a daemon: background, user, log, process id file, service manager, signals.
 * Source: Salt's daemons for options, files and exit codes; docs/install.md describes what operators see.
 */
import { close as closeInspector } from "node:inspector";
import type { Logger } from "pino";
import type { Overrides } from "../../config/load.ts";
import { SaltworksError } from "../../errors.ts";
import { exitAtOnce } from "../../master/shutdown/leave.ts";
import type { Host } from "../host/host.ts";
import { openDaemonLog } from "../log/open-log.ts";
import { syslogPlace } from "../log/syslog.ts";
import type { OptionsOf } from "../options/parse.ts";
import { foregroundOf, startInBackground } from "./background.ts";
import { dumpOnSignal } from "./debug-dump.ts";
import { dropNodeVariables, isDebuggerOpen, isDebuggerWanted } from "./node-environment.ts";
import { raiseOpenFiles, reportOpenFiles } from "./open-files.ts";
import type { OwnedDirectory } from "./own-files.ts";
import { removePidFile, writePidFile } from "./pid-file.ts";
import { becomeDaemonUser } from "./privileges.ts";
import { openServiceManager } from "./service-manager.ts";

/** As a shell reports a program that SIGHUP has ended. */
const hangupExitCode = 129;

/** The options that this file reads. Masters and minions have them. */
export type DaemonConfig = {
  readonly user: string;
  readonly pki_dir: string;
  readonly cachedir: string;
  readonly sock_dir: string;
  readonly pidfile: string;
  readonly log_file: string;
  readonly log_level: string;
  readonly log_level_logfile: string | null;
  readonly warnings: readonly string[];
};

/** Both daemons have the same options. */
type DaemonOptions = OptionsOf<"master" | "minion" | "api" | "witness">;

/** A running daemon. */
export type RunningDaemon = {
  /** Resolves when all its threads have answered. */
  readonly answers: () => Promise<void>;
  /** The daemon's report of its state, as text without secrets. */
  readonly state: () => Promise<string>;
};

export type DaemonHooks = {
  readonly onReady: (running: RunningDaemon) => void;
  readonly onStopping: () => void;
};

export type Daemon<Config extends DaemonConfig> = {
  readonly role: "master" | "minion" | "api" | "witness";
  readonly argv: readonly string[];
  readonly options: DaemonOptions;
  readonly load: (configDir: string | undefined, host: Host, overrides: Overrides) => Config;
  readonly openFiles: (config: Config) => number;
  /** Runs while the process is still root. */
  readonly asRoot?: (config: Config, host: Host) => Promise<void>;
  /** @returns the exit code */
  readonly run: (config: Config, log: Logger, hooks: DaemonHooks, host: Host) => Promise<number>;
};

/** Options of the command line win over the configuration. */
function overridesOf(options: DaemonOptions): Overrides {
  return {
    log_level: options.logLevel,
    log_file: options.logFile,
    log_level_logfile: options.logFileLevel,
    user: options.user,
    pidfile: options.pidFile,
  };
}

/** Directories that are made if missing. The daemon's user gets them and their content. */
function directoriesOf({ pki_dir, cachedir, sock_dir }: DaemonConfig): OwnedDirectory[] {
  return [
    { path: pki_dir, mode: 0o700 },
    { path: cachedir, mode: 0o755 },
    { path: sock_dir, mode: 0o755 },
  ];
}

/** @returns the exit code */
export async function runDaemon<Config extends DaemonConfig>(daemon: Daemon<Config>, host: Host): Promise<number> {
  const dropped = dropNodeVariables(process.env);
  const foreground = foregroundOf(host);
  const config = daemon.load(daemon.options.configDir, foreground.host, overridesOf(daemon.options));
  if (daemon.options.isDaemon && !foreground.isBackground)
    return await startInBackground([daemon.role, ...daemon.argv], host);
  // The configuration holds absolute paths, so the directory can change.
  if (foreground.isBackground) process.chdir("/");
  const place = syslogPlace(config.log_file);
  const sentences: string[] = [];
  const openFiles = daemon.openFiles(config);
  await raiseOpenFiles(openFiles);
  await becomeDaemonUser(
    {
      user: config.user,
      files: {
        directories: directoriesOf(config),
        logFile: place === undefined && config.log_file !== "" ? config.log_file : undefined,
        pidFile: config.pidfile,
      },
      asRoot: async () => await daemon.asRoot?.(config, foreground.host),
    },
    foreground.host,
    (sentence) => sentences.push(sentence),
  );
  const { log, reopen } = await openDaemonLog(
    {
      consoleLevel: foreground.isBackground ? "quiet" : config.log_level,
      fileLevel: config.log_level_logfile ?? config.log_level,
      file: place ?? config.log_file,
      tag: `saltworks-${daemon.role}`,
    },
    foreground.host,
  );
  if (dropped.length > 0) sentences.push(`environment variables that a daemon does not accept: ${dropped.join(" ")}`);
  for (const sentence of [...config.warnings, ...sentences]) log.warn(sentence);
  reportOpenFiles(openFiles, log);
  closeStrangeDebugger(log);
  return await untilEnd(daemon, config, log, { up: foreground.up, reopen, host: foreground.host });
}

type Around = { readonly up: () => void; readonly reopen: () => Error | undefined; readonly host: Host };

async function untilEnd<Config extends DaemonConfig>(
  daemon: Daemon<Config>,
  config: Config,
  log: Logger,
  { up, reopen, host }: Around,
): Promise<number> {
  let running: RunningDaemon | undefined;
  dumpOnSignal({
    role: daemon.role,
    log,
    state: async () => (await running?.state()) ?? "it is starting",
    terminal: process.stderr.isTTY === true ? host.complain : undefined,
  });
  onHangup(reopen, log);
  const manager = await openServiceManager(process.env, log);
  manager.tell("STATUS=starting");
  try {
    const hooks: DaemonHooks = {
      onReady: (parts) => {
        running = parts;
        closeStrangeDebugger(log);
        if (config.pidfile !== "") {
          const fault = writePidFile(config.pidfile);
          if (fault !== undefined) log.info({ err: fault }, "the pidfile could not be written");
        }
        manager.tell("READY=1", `MAINPID=${process.pid}`, "STATUS=ready");
        manager.watch(async () => {
          await parts.answers();
          return true;
        });
        up();
      },
      onStopping: () => manager.tell("STOPPING=1", "STATUS=ending"),
    };
    return await daemon.run(config, log, hooks, host);
  } finally {
    if (config.pidfile !== "" && running !== undefined) {
      const fault = removePidFile(config.pidfile);
      if (fault !== undefined) log.debug({ err: fault }, "the pidfile stays");
    }
    manager.close();
  }
}

/**
 * At SIGHUP a daemon reopens its log, for logrotate. If it was started on a terminal, it stops in order, because the terminal has closed. A shell and the
 * system may both send the signal then: the second one must not count as the wish to end at once.
 */
function onHangup(reopen: () => Error | undefined, log: Logger): void {
  const isOnTerminal = process.stdin.isTTY === true || process.stderr.isTTY === true;
  let isLeaving = false;
  process.on("SIGHUP", () => {
    if (isOnTerminal) {
      if (isLeaving) return;
      isLeaving = true;
      // Before the daemon is up nothing has to be stopped in order.
      if (process.listenerCount("SIGTERM") === 0) exitAtOnce(hangupExitCode);
      process.kill(process.pid, "SIGTERM");
      return;
    }
    const fault = reopen();
    if (fault === undefined) log.info("SIGHUP: the log was reopened");
    else log.warn({ err: fault }, "SIGHUP: the log could not be reopened: lines go to the old file");
  });
}

/** Closes a debugger that a signal opened before this program listened for the signal. */
function closeStrangeDebugger(log: Logger): void {
  if (!isDebuggerOpen() || isDebuggerWanted()) return;
  closeInspector();
  log.warn("a signal had opened Node's debugger, which is closed now");
  if (isDebuggerOpen()) throw new SaltworksError("CONFIG_INVALID", "Node's debugger is open and cannot be closed");
}
