/** `cmd.script` and `cmd.exec_code`: a script that lives in a file of its own only while it runs. */
import { chmodSync, chownSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import type { Value } from "../../wire/values.ts";
import { commandError } from "../function-errors.ts";
import type { BoundArguments, CallContext } from "../module-contract.ts";
import { readOptions } from "./cmd-options.ts";
import { type CommandResult, runSaltCommand } from "./cmd-run.ts";
import type { Environment } from "./environment.ts";
import { fetchMasterFile } from "./master-file.ts";
import { isTruthy, pythonText } from "./python-values.ts";
import { splitShellWords } from "./shell-words.ts";
import { argument } from "./signature.ts";
import { findUser } from "./user-database.ts";

export type ScriptResult = CommandResult & { cache_error?: true };

/** What Jinja would act upon: a script without these renders to itself. */
const jinjaMark = /\{\{|\{%|\{#/;

export async function runScript(
  context: CallContext,
  environment: Environment,
  args: BoundArguments,
): Promise<ScriptResult> {
  const source = pythonText(argument(args, "source"));
  const script = await readSource(context, source, argument(args, "saltenv"));
  if (script === undefined) return { pid: 0, retcode: 1, stdout: "", stderr: "", cache_error: true };
  if (isTruthy(argument(args, "template")) && jinjaMark.test(script.toString("latin1"))) {
    throw commandError(`template=${pythonText(argument(args, "template"))} is not supported by this minion`);
  }
  const words = argument(args, "args");
  const given = isTruthy(words) ? { isShellUsed: false } : {};
  const plain = { ...args, named: { ...args.named, template: null } };
  const options = readOptions(context, plain, given);
  const name = `script${extname(source.split("?")[0] ?? "")}`;
  const result = await withFile(script, name, options.runas, options.isBackground, (path) =>
    runSaltCommand(context, environment, [path, ...wordsOf(words)], options),
  );
  return isTruthy(argument(args, "hide_output")) ? { ...result, stdout: "", stderr: "" } : result;
}

export async function execCode(
  context: CallContext,
  environment: Environment,
  args: BoundArguments,
): Promise<CommandResult> {
  const options = readOptions(context, args, { isShellUsed: false });
  const code = Buffer.from(pythonText(argument(args, "code")));
  const words = argument(args, "args");
  const more = typeof words === "string" ? [words] : Array.isArray(words) ? words : [];
  return await withFile(code, "code", options.runas, options.isBackground, (path) =>
    runSaltCommand(context, environment, [argument(args, "lang"), path, ...more], options),
  );
}

function wordsOf(args: Value): readonly Value[] {
  if (!isTruthy(args)) return [];
  return Array.isArray(args) ? args : splitShellWords(pythonText(args));
}

/** The script's bytes; undefined where the master has no such file, or this machine none at the path. */
async function readSource(context: CallContext, source: string, saltenv: Value): Promise<Buffer | undefined> {
  if (source.startsWith("salt://")) return await fetchMasterFile(context, source, saltenv);
  const path = source.startsWith("file://") ? source.slice("file://".length) : source;
  if (path.includes("://"))
    throw commandError(`Scripts from ${source.split("://")[0]}:// are not supported by this minion`);
  return path.startsWith("/") && existsSync(path) ? readFileSync(path) : undefined;
}

/** Writes a file that only its runner may read and run, and removes it afterwards; a background command keeps its file. */
async function withFile<Result>(
  content: Uint8Array,
  name: string,
  runas: string | undefined,
  isKept: boolean,
  use: (path: string) => Promise<Result>,
): Promise<Result> {
  const directory = mkdtempSync(join(tmpdir(), "saltworks-script-"));
  const path = join(directory, name);
  try {
    writeFileSync(path, content, { mode: 0o500 });
    if (runas !== undefined) {
      const user = await findUser(runas);
      if (user === undefined) throw commandError(`User '${runas}' is not available`);
      chownSync(path, user.uid, -1);
      chmodSync(directory, 0o711);
    }
    return await use(path);
  } finally {
    if (!isKept) rmSync(directory, { recursive: true, force: true });
  }
}
