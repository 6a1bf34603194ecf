/** Opens the log of a daemon or a command: Salt's level names and files, structured lines. */
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import pino, { type Level, type LevelWithSilent, type Logger, type StreamEntry } from "pino";
import type { Host } from "../host/host.ts";
import { consoleLog } from "./console.ts";
import { LogFile } from "./file.ts";
import { Syslog, type SyslogPlace } from "./syslog.ts";

/** Its descriptor. */
const standardError = 2;

/** Salt's levels, most talkative first. */
const levels: { readonly [name: string]: LevelWithSilent } = {
  all: "trace",
  garbage: "trace",
  trace: "trace",
  debug: "debug",
  profile: "debug",
  info: "info",
  warning: "warn",
  error: "error",
  critical: "fatal",
  quiet: "silent",
};

export function levelOf(name: string): LevelWithSilent {
  return levels[name] ?? "warn";
}

export type DaemonLog = {
  readonly consoleLevel: string;
  readonly fileLevel: string;
  /** Empty: no file. */
  readonly file: string | SyslogPlace;
  /** The program's name in the system's log. */
  readonly tag: string;
};

/**
 * Writes lines of JSON to standard error and to the file or the system's log, each with its own level. If the file cannot be
 * opened, reports that and runs without it.
 */
export async function openDaemonLog(
  choice: DaemonLog,
  host: Pick<Host, "complain">,
): Promise<{ readonly log: Logger; readonly reopen: () => Error | undefined }> {
  const streams: StreamEntry[] = [];
  const consoleLevel = levelOf(choice.consoleLevel);
  const fileLevel = levelOf(choice.fileLevel);
  if (consoleLevel !== "silent") streams.push({ level: consoleLevel, stream: consoleLog(standardError) });
  let file: LogFile | undefined;
  if (fileLevel !== "silent" && choice.file !== "") {
    const stream =
      typeof choice.file === "string" ? logFile(choice.file, host) : await Syslog.open(choice.file, choice.tag);
    if (stream !== undefined) streams.push({ level: fileLevel, stream });
    if (stream instanceof LogFile) file = stream;
  }
  const log = pino({ level: lowest(streams) }, pino.multistream(streams));
  return { log, reopen: () => file?.reopen() };
}

/** Reports a file that cannot be opened and returns undefined. */
function logFile(path: string, host: Pick<Host, "complain">): LogFile | undefined {
  try {
    mkdirSync(dirname(path), { recursive: true });
    return new LogFile(path, (text) => host.complain(`[WARNING ] ${text}`));
  } catch (error) {
    host.complain(`[WARNING ] ${path} cannot be written, so nothing is logged there: ${(error as Error).message}\n`);
    return undefined;
  }
}

/** The log options of a command line; undefined if not given. */
export type LogOptions = {
  readonly logLevel: string | undefined;
  readonly logFile: string | undefined;
  readonly logFileLevel: string | undefined;
};

/**
 * The log of a command. Standard error gets lines as Salt's tools write them, `[WARNING ] text`. A file that
 * the command line names gets lines of JSON.
 */
export function openToolLog(
  options: LogOptions,
  config: { readonly log_level: string; readonly log_level_logfile: string | null },
  host: Pick<Host, "complain">,
): Logger {
  const write = (line: string): void => {
    const { level, msg, err } = JSON.parse(line) as { level: number; msg?: string; err?: { message?: string } };
    const detail = err?.message === undefined ? "" : `: ${err.message}`;
    host.complain(`${toolLine(pino.levels.labels[level] ?? "info", (msg ?? "") + detail)}\n`);
  };
  const consoleLevel = levelOf(options.logLevel ?? config.log_level);
  const fileLevel = levelOf(options.logFileLevel ?? config.log_level_logfile ?? options.logLevel ?? config.log_level);
  const streams: StreamEntry[] = consoleLevel === "silent" ? [] : [{ level: consoleLevel, stream: { write } }];
  const file = options.logFile === undefined || fileLevel === "silent" ? undefined : logFile(options.logFile, host);
  if (file !== undefined && fileLevel !== "silent") streams.push({ level: fileLevel, stream: file });
  return pino({ level: lowest(streams) }, pino.multistream(streams));
}

const toolNames: { readonly [level: string]: string } = {
  trace: "TRACE",
  debug: "DEBUG",
  info: "INFO",
  warn: "WARNING",
  error: "ERROR",
  fatal: "CRITICAL",
};

function toolLine(level: string, text: string): string {
  return `[${(toolNames[level] ?? level).padEnd(8)}] ${text}`;
}

function lowest(streams: readonly StreamEntry[]): LevelWithSilent {
  const levelNumbers = streams.map(({ level }) => pino.levels.values[level as Level] ?? 0);
  return levelNumbers.length === 0 ? "silent" : ((pino.levels.labels[Math.min(...levelNumbers)] ?? "warn") as Level);
}
