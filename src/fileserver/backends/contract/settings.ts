/** Reads the master's options for its file server. Source: Salt 3007's configuration. */

import { matchingPaths } from "../../../config/files/path-pattern.ts";
import type { MasterConfig } from "../../../config/load.ts";
import { servesGit, usedFileBackends } from "../../../config/options/file-backends.ts";
import type { GitOptions } from "../../../config/options/git.ts";
import { SaltworksError } from "../../../errors.ts";
import type { GitEnvironment } from "../../../git/program.ts";
import { compileGlob } from "../../../python/fnmatch.ts";
import { compilePythonPattern } from "../../../python/regex/match.ts";
import type { Value } from "../../../wire/values.ts";
import type { UsageBounds } from "../../pushed/usage.ts";
import { type GitBackendSettings, gitBackendSettings } from "./git-settings.ts";

/** `saltenv`, `path`, `loc`: what the action needs. @throws SaltworksError */
export type AskPythonFiles = (question: {
  readonly name: string;
  readonly action: "envs" | "lists" | "find" | "hash" | "read" | "update";
  readonly saltenv?: string;
  readonly path?: string;
  readonly loc?: number;
}) => Promise<Value>;

export type FileServerSettings = {
  /** Directories by environment, in the order of the file. */
  readonly roots: ReadonlyMap<string, readonly string[]>;
  /** In the order of their search. */
  readonly backends: readonly string[];
  /** Asks the operator's own Salt for files of backends that are not built here. */
  readonly askPython: AskPythonFiles | undefined;
  readonly git: GitBackendSettings;
  /** Files that minions have pushed. `mountpoint`: without slashes at its ends. */
  readonly minionfs: {
    readonly environment: string;
    readonly mountpoint: string;
    readonly whitelist: readonly string[];
    readonly blacklist: readonly string[];
  };
  readonly isIgnored: (path: string) => boolean;
  readonly followsLinks: boolean;
  readonly hidesLinks: boolean;
  readonly hashType: string;
  readonly pieceBytes: number;
  readonly cachedir: string;
  /** Maximum age of a cached list of files. */
  readonly listAgeMs: number;
  readonly firesEvents: boolean;
  /** Whether minions may push files. `receivedBytesMax`: bound of one file. */
  readonly isReceiving: boolean;
  readonly receivedBytesMax: number;
  /** Bounds for one minion, and for all minions together. */
  readonly receivedOfMinion: UsageBounds;
  readonly receivedOfAll: UsageBounds;
  /** Warnings for the log about option values that the file server ignores. */
  readonly faults: readonly string[];
};

export type FileServerConfig = Pick<
  MasterConfig,
  | "file_roots"
  | keyof GitOptions
  | "fileserver_backend"
  | "file_ignore_regex"
  | "file_ignore_glob"
  | "fileserver_followsymlinks"
  | "fileserver_ignoresymlinks"
  | "fileserver_list_cache_time"
  | "fileserver_events"
  | "hash_type"
  | "file_buffer_size"
  | "file_recv"
  | "minionfs_env"
  | "minionfs_mountpoint"
  | "minionfs_whitelist"
  | "minionfs_blacklist"
  | "file_recv_max_size"
  | "file_recv_minion_max_size"
  | "file_recv_minion_max_files"
  | "file_recv_total_max_size"
  | "file_recv_total_max_files"
  | "cachedir"
> &
  Partial<Pick<MasterConfig, "sitePlugins">>;

const mebibyte = 1024 * 1024;

/**
 * `environment`: variables for the program git. `askPython`: for a thread that serves backends in Python; without it they are left out.
 *
 * @throws SaltworksError CONFIG_INVALID that names a remote of `gitfs_remotes`
 */
export function fileServerSettings(
  config: FileServerConfig,
  environment: GitEnvironment,
  askPython?: AskPythonFiles,
): FileServerSettings {
  const faults: string[] = [];
  const ignored = ignoreRules(config, faults);
  const ofPython = askPython === undefined ? [] : pythonBackendsOf(config);
  const backends = usedFileBackends(config.fileserver_backend, ofPython);
  if (!config.file_recv && backends.some((name) => name.startsWith("minion")))
    faults.push("fileserver_backend: minionfs serves nothing, because file_recv is False");
  return {
    roots: rootsOf(config),
    backends,
    askPython,
    git: gitBackendSettings(config, servesGit(backends), environment),
    minionfs: {
      environment: config.minionfs_env,
      mountpoint: config.minionfs_mountpoint.replace(/^salt:\/\//, "").replace(/^\/+|\/+$/g, ""),
      whitelist: textsOf(config.minionfs_whitelist),
      blacklist: textsOf(config.minionfs_blacklist),
    },
    isIgnored: (path) => ignored.some((matches) => matches(path)),
    followsLinks: config.fileserver_followsymlinks,
    hidesLinks: config.fileserver_ignoresymlinks,
    hashType: config.hash_type,
    pieceBytes: config.file_buffer_size,
    cachedir: config.cachedir,
    listAgeMs: config.fileserver_list_cache_time * 1_000,
    firesEvents: config.fileserver_events,
    isReceiving: config.file_recv,
    receivedBytesMax: config.file_recv_max_size * mebibyte,
    receivedOfMinion: {
      entriesMax: config.file_recv_minion_max_files,
      bytesMax: config.file_recv_minion_max_size * mebibyte,
    },
    receivedOfAll: {
      entriesMax: config.file_recv_total_max_files,
      bytesMax: config.file_recv_total_max_size * mebibyte,
    },
    faults,
  };
}

/** Names in `fileserver_backend` that Python serves. */
export function pythonBackendsOf({ sitePlugins = [] }: Partial<Pick<MasterConfig, "sitePlugins">>): readonly string[] {
  return sitePlugins.filter(({ kind }) => kind === "fileserver").map(({ name }) => name);
}

/** Expands wildcards in `file_roots` once, when the settings are read, as Salt does. */
function rootsOf({ file_roots }: FileServerConfig): ReadonlyMap<string, readonly string[]> {
  const written = Object.entries(file_roots as Readonly<Record<string, unknown>>);
  return new Map(
    written.map(([name, directories]) => [
      name,
      textsOf(directories).flatMap((path) => (/[*?[]/.test(path) ? matchingPaths(path) : [path])),
    ]),
  );
}

function textsOf(value: unknown): string[] {
  if (typeof value === "string") return value === "" ? [] : [value];
  return Array.isArray(value) ? value.map(String) : [];
}

function ignoreRules(config: FileServerConfig, faults: string[]): ((path: string) => boolean)[] {
  const globs = textsOf(config.file_ignore_glob).map((pattern) => {
    const glob = compileGlob(pattern);
    return (path: string) => glob.matches(path);
  });
  const patterns = textsOf(config.file_ignore_regex).flatMap((source) => {
    try {
      const pattern = compilePythonPattern(anywhere(source));
      return [(path: string) => pattern.matchesStart(path)];
    } catch (error) {
      if (!(error instanceof SaltworksError) || error.code !== "TARGET_INVALID") throw error;
      faults.push(`file_ignore_regex ${source} is left out: ${error.message}`);
      return [];
    }
  });
  return [...patterns, ...globs];
}

/** Makes a pattern match anywhere, as Python's `search` does. Global flags (`(?i)`) stay at the start. */
function anywhere(source: string): string {
  const flags = /^\(\?[aiLmsux]+\)/.exec(source)?.[0] ?? "";
  return `${flags}[\\s\\S]*(?:${source.slice(flags.length)})`;
}
