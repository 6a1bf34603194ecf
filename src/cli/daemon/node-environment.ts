/**
 * Removes environment variables that change Node.js: they load code, open a debugger or skip the check of certificates. `bin/saltworks` drops
 * them before Node.js starts. A daemon that is started otherwise refuses `NODE_OPTIONS`, because Node.js has already applied them.
 */
import { url as inspectorUrl } from "node:inspector";
import { SaltworksError } from "../../errors.ts";

/** A test compares this with the same list in `bin/saltworks`. */
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
 * Removes `droppedVariables` from `environment`, so that threads and child processes do not inherit them.
 *
 * @returns the removed names
 * @throws SaltworksError CONFIG_INVALID if `NODE_OPTIONS` is set: its options stay in force, and they have too many spellings to check here
 */
export function dropNodeVariables(environment: Record<string, string | undefined>): string[] {
  const options = environment.NODE_OPTIONS ?? "";
  if (options.trim() !== "")
    throw new SaltworksError(
      "CONFIG_INVALID",
      `NODE_OPTIONS is "${options}", which a daemon does not accept: unset it, or start bin/saltworks, which drops it`,
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

/** Whether the command line of Node.js itself asks for a debugger, as tests do. */
export function isDebuggerWanted(): boolean {
  return process.execArgv.some((option) => /^--inspect(?:-brk|-wait)?(?:=|$)/.test(option));
}

export function isDebuggerOpen(): boolean {
  return inspectorUrl() !== undefined;
}
