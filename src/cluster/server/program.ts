/**
 * Finds the program nats-server and checks its version: the one that `cluster_nats_server` names, one on the PATH, or the one that
 * scripts/nats-server.mjs has built.
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";
import { promisify } from "node:util";
import { SaltworksError } from "../../errors.ts";
import { natsServerLookMs } from "../../limits.ts";
import { isNewEnough, versionMin } from "./version.ts";

const run = promisify(execFile);
/** What scripts/nats-server.mjs builds; a test compares. */
const builtVersion = "2.15.2";

/** `program`: its absolute path. `version`: as in `2.15.2`. */
export type NatsServer = { readonly program: string; readonly version: string };

export type NatsServerSearch = {
  /** The value of `cluster_nats_server`: if it is set, nothing else is looked at. */
  readonly option?: string | undefined;
  /** Its PATH and XDG_CACHE_HOME count. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The home directory, in which the program may have been built. */
  readonly home?: string;
  /** How long one program may take to tell its version. */
  readonly timeoutMs?: number;
};

/** @throws SaltworksError PACKAGE_MISSING, which names every place that was looked at */
export async function findNatsServer(search: NatsServerSearch): Promise<NatsServer> {
  const { option = "", environment, home = homedir(), timeoutMs = natsServerLookMs } = search;
  const faults: string[] = [];
  for (const program of option === "" ? candidates(environment, home) : [option]) {
    try {
      return { program, version: await versionOf(program, timeoutMs) };
    } catch (error) {
      faults.push(`${program}: ${reasonOf(error, timeoutMs)}`);
    }
  }
  const advice =
    option === ""
      ? "build one with `npm run nats-server` in the directory of Saltworks, or name one with cluster_nats_server"
      : "cluster_nats_server names this file; `npm run nats-server` builds one that is found without the option";
  throw new SaltworksError(
    "PACKAGE_MISSING",
    `nats-server ${versionMin} or newer is needed, and was not found: ${faults.join("; ")}. ${advice}`,
  );
}

/** Those on the PATH that exist, in its order, and the built one whether it exists or not. */
function candidates({ PATH = "", XDG_CACHE_HOME = "" }: NatsServerSearch["environment"], home: string): Set<string> {
  // A relative folder would be looked for where the master was started, which may be anyone's.
  const folders = PATH.split(delimiter).filter(isAbsolute);
  const found = folders.map((folder) => join(folder, "nats-server")).filter((path) => existsSync(path));
  const cacheHome = isAbsolute(XDG_CACHE_HOME) ? XDG_CACHE_HOME : join(home, ".cache");
  return new Set([...found, join(cacheHome, "saltworks", `nats-server-${builtVersion}`, "nats-server")]);
}

/** @throws the error of its start; SaltworksError PACKAGE_MISSING if it does not tell a version, or one that is too old */
async function versionOf(program: string, timeoutMs: number): Promise<string> {
  if (!isAbsolute(program)) throw unusable("it is not an absolute path");
  // KILL: what does not end by itself may not end by TERM either.
  const { stdout } = await run(program, ["--version"], {
    cwd: "/",
    env: {},
    timeout: timeoutMs,
    killSignal: "SIGKILL",
  });
  const [, version] = /^nats-server: v(\d+\.\d+\.\d+)/.exec(stdout) ?? [];
  if (version === undefined) throw unusable("it does not tell a version of nats-server");
  if (!isNewEnough(version)) throw unusable(`version ${version} is older than ${versionMin}`);
  return version;
}

function unusable(reason: string): SaltworksError {
  return new SaltworksError("PACKAGE_MISSING", reason);
}

function reasonOf(error: unknown, timeoutMs: number): string {
  const { code, killed, message } = error as Error & { readonly code?: string | number; readonly killed?: boolean };
  if (killed === true) return `it did not tell its version within ${timeoutMs / 1_000} s`;
  if (code === "ENOENT") return "there is no such file";
  if (code === "EACCES") return "it cannot be run (permission denied)";
  if (typeof code === "number") return `it ended with exit code ${code} when asked for its version`;
  return message;
}
