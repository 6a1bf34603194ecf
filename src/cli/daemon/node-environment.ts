/**
 * Variables of the environment that change what Node.js is: code loaded, a debugger opened, certificates not checked. A daemon takes none of them.
 * `bin/saltworks` drops them before Node.js starts; a daemon that is started otherwise refuses `NODE_OPTIONS`, which has acted by then.
 */
import { url as inspectorUrl } from "node:inspector";
import { SaltworksError } from "../../errors.ts";

/** The list in `bin/saltworks` is the same, which a test compares. */
export const droppedVariables = [
  "NODE_OPTIONS",
  "NODE_PATH",
  "NODE_REPL_EXTERNAL_MODULE",
  "NODE_REDIRECT_WARNINGS",
  "NODE_V8_COVERAGE",
  "NODE_COMPILE_CACHE",
  "NODE_TLS_REJECT_UNAUTHORIZED",
  "NODE_INSPECT_RESUME_ON_START",
  "OPENSSL_CONF",
  "OPENSSL_MODULES",
] as const;

/**
 * Takes them out of `environment`, so that threads and children don't have them.
 *
 * @returns the names of those that were there
 * @throws SaltworksError CONFIG_INVALID if there are `NODE_OPTIONS`. Node.js has read them, in several spellings of each, and they stay in force
 */
export function dropNodeVariables(environment: Record<string, string | undefined>): string[] {
  const options = environment.NODE_OPTIONS ?? "";
  if (options.trim() !== "")
    throw new SaltworksError(
      "CONFIG_INVALID",
      `NODE_OPTIONS is "${options}", which a daemon does not take: unset it, or start bin/saltworks, which drops it`,
    );
  const dropped = droppedVariables.filter((name) => environment[name] !== undefined);
  for (const name of dropped) delete environment[name];
  return dropped;
}

/** A copy for a daemon that this process starts. */
export function withoutNodeVariables(
  environment: Record<string, string | undefined>,
): Record<string, string | undefined> {
  const dropped: ReadonlySet<string> = new Set(droppedVariables);
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !dropped.has(name)));
}

/** Whether somebody asked for a debugger on the command line of Node.js itself, as tests do. */
export function isDebuggerWanted(): boolean {
  return process.execArgv.some((option) => /^--inspect(?:-brk|-wait)?(?:=|$)/.test(option));
}

export function isDebuggerOpen(): boolean {
  return inspectorUrl() !== undefined;
}
