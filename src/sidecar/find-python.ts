/** Finds the Python that has the operator's Salt: the option `salt_python`, or the interpreter of the Salt programs on this machine. */
import { execFile } from "node:child_process";
import { accessSync, closeSync, constants, openSync, readSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { SaltworksError } from "../errors.ts";
import { sidecarStartTimeoutMs } from "../limits.ts";

const run = promisify(execFile);
/** Salt's own packages bring their Python along. */
const packaged = "/opt/saltstack/salt/bin/python3";
const programs = ["salt-master", "salt-run", "salt-call"];
const headBytes = 256;

/** `python`: the interpreter; undefined with the reason why none is used. */
export type FoundPython =
  | { readonly python: string; readonly salt: string }
  | { readonly python: undefined; readonly why: string };

/**
 * @param option - the value of `salt_python`: false forbids it, a text names the interpreter, anything else searches
 * @param searchPath - as the variable PATH
 */
export async function findPython(
  option: unknown,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<FoundPython> {
  if (option === false) return { python: undefined, why: "salt_python is False" };
  if (typeof option === "string" && option !== "" && option !== "auto") return await named(option, environment);
  for (const python of candidates(environment.PATH ?? "")) {
    const salt = await saltOf(python, environment).catch(() => undefined);
    if (salt !== undefined) return { python, salt };
  }
  return { python: undefined, why: "no Python with Salt was found on this machine: name it with salt_python" };
}

async function named(python: string, environment: Readonly<Record<string, string | undefined>>): Promise<FoundPython> {
  try {
    return { python, salt: await saltOf(python, environment) };
  } catch (error) {
    return { python: undefined, why: `salt_python: ${python}: ${reasonOf(error)}` };
  }
}

function reasonOf(error: unknown): string {
  const { code, stderr, message } = error as NodeJS.ErrnoException & { readonly stderr?: string };
  if (code === "ENOENT") return "there is no such program";
  const last = stderr?.trim().split("\n").at(-1);
  return last === undefined || last === "" ? message : last;
}

/** The release of Salt that this Python has. @throws Error if it has none */
async function saltOf(python: string, environment: Readonly<Record<string, string | undefined>>): Promise<string> {
  const code = "import salt.version; print(salt.version.__version__)";
  // Python looks for modules in the current directory first, which may be anyone's.
  const { stdout } = await run(python, ["-c", code], { cwd: "/", env: environment, timeout: sidecarStartTimeoutMs });
  const release = stdout.trim();
  if (!/^\d/.test(release)) throw new SaltworksError("SIDECAR_FAILED", `it does not tell Salt's release: ${release}`);
  return release;
}

/** Interpreters that Salt's programs name in their first line, then Salt's own, then the system's. */
function candidates(searchPath: string): readonly string[] {
  const folders = searchPath.split(delimiter).filter((folder) => folder !== "");
  const ofPrograms = programs.flatMap((program) => folders.flatMap((folder) => interpreterOf(join(folder, program))));
  return [...new Set([...ofPrograms, ...(isProgram(packaged) ? [packaged] : []), "python3"])];
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function interpreterOf(path: string): readonly string[] {
  if (!isProgram(path)) return [];
  const [, interpreter, argument] = /^#!\s*(\S+)(?:[ \t]+(\S+))?/.exec(headOf(path)) ?? [];
  if (interpreter === undefined) return [];
  if (interpreter.endsWith("/env")) return argument === undefined ? [] : [argument];
  return /python[\d.]*$/.test(interpreter) ? [interpreter] : [];
}

function headOf(path: string): string {
  let file: number | undefined;
  try {
    file = openSync(path, "r");
    const bytes = Buffer.alloc(headBytes);
    return bytes.toString("latin1", 0, readSync(file, bytes, 0, headBytes, 0));
  } catch {
    // Another user's program, which this one could not run either.
    return "";
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
