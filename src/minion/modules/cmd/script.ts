/** `cmd.script` and `cmd.exec_code`: run a script from a file that exists only while it runs. */

import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { strOf } from "../../../python/repr.ts";
import { isTrue } from "../../../python/values.ts";
import type { Value } from "../../../wire/values.ts";
import { commandError } from "../../functions/errors.ts";
import type { BoundArguments, CallContext } from "../../functions/module-contract.ts";
import { fetchMasterFile } from "../cp/master-file.ts";
import { argument } from "../declare/signature.ts";
import { renderer, type TemplateChoice } from "../declare/text-template.ts";
import type { Environment } from "../machine/environment.ts";
import { splitShellWords } from "../machine/shell-words.ts";
import { findUser } from "../machine/user-database.ts";
import { type CommandOptions, readOptions } from "./options.ts";
import { type CommandResult, runSaltCommand } from "./run.ts";

export type ScriptResult = CommandResult & { cache_error?: true };

/** Jinja's marks. A script without them renders to itself. */
const jinjaMark = /\{\{|\{%|\{#/;

export async function runScript(
  context: CallContext,
  environment: Environment,
  args: BoundArguments,
): Promise<ScriptResult> {
  const source = strOf(argument(args, "source"));
  const script = await readSource(context, source, argument(args, "saltenv"));
  if (script === undefined) return { pid: 0, retcode: 1, stdout: "", stderr: "", cache_error: true };
  const words = argument(args, "args");
  const given = isTrue(words) ? { isShellUsed: false } : {};
  const { template, ...others } = readOptions(context, args, given);
  const name = `script${extname(source.split("?")[0] ?? "")}`;
  const isTemplate = template.engine !== undefined && jinjaMark.test(script.toString("latin1"));
  const content = isTemplate ? await renderedScript(context, { script, source }, template) : script;
  const file = { content, name };
  // The script's content was the template. The path of its temporary file is not one.
  const options = { ...others, template: { ...template, engine: undefined } };
  const result = await runFile(context, environment, file, options, (path) => [path, ...wordsOf(words)]);
  return isTrue(argument(args, "hide_output")) ? { ...result, stdout: "", stderr: "" } : result;
}

async function renderedScript(
  context: CallContext,
  { script, source }: { readonly script: Buffer; readonly source: string },
  template: TemplateChoice,
): Promise<Buffer> {
  const render = await renderer(context, template);
  return Buffer.from(await render(script.toString("utf8"), source));
}

export async function execCode(
  context: CallContext,
  environment: Environment,
  args: BoundArguments,
): Promise<CommandResult> {
  const options = readOptions(context, args, { isShellUsed: false });
  const code = Buffer.from(strOf(argument(args, "code")));
  const words = argument(args, "args");
  const more = typeof words === "string" ? [words] : Array.isArray(words) ? words : [];
  const file = { content: code, name: "code" };
  return await runFile(context, environment, file, options, (path) => [argument(args, "lang"), path, ...more]);
}

function wordsOf(args: Value): readonly Value[] {
  if (!isTrue(args)) return [];
  return Array.isArray(args) ? args : splitShellWords(strOf(args));
}

/** The script's bytes; undefined if the master, or this machine for a path, does not have it. */
async function readSource(context: CallContext, source: string, saltenv: Value): Promise<Buffer | undefined> {
  if (source.startsWith("salt://")) return await fetchMasterFile(context, source, saltenv);
  const path = source.startsWith("file://") ? source.slice("file://".length) : source;
  if (path.includes("://"))
    throw commandError(`Scripts from ${source.split("://")[0]}:// are not supported by this minion`);
  return path.startsWith("/") && existsSync(path) ? readFileSync(path) : undefined;
}

/** Shell text that runs its arguments, then removes the directory in `$0`: a script in the background outlives its call. */
const runThenRemove = '"$@"; code=$?; rm -rf -- "$0"; exit $code';

/** Runs words whose program or argument is a file. Only the command's user can read the file. Removes it afterwards. */
async function runFile(
  context: CallContext,
  environment: Environment,
  file: { readonly content: Uint8Array; readonly name: string },
  options: CommandOptions,
  words: (path: string) => readonly Value[],
): Promise<CommandResult> {
  const directory = mkdtempSync(join(tmpdir(), "saltworks-script-"));
  const path = join(directory, file.name);
  try {
    writeFileSync(path, file.content, { mode: 0o500 });
    if (options.runas !== undefined) {
      const user = await findUser(options.runas);
      if (user === undefined) throw commandError(`User '${options.runas}' is not available`);
      for (const owned of [path, directory]) chownSync(owned, user.uid, -1);
    }
    const argv = options.isBackground ? ["/bin/sh", "-c", runThenRemove, directory, ...words(path)] : words(path);
    const plain = options.isBackground ? { ...options, isShellUsed: false } : options;
    return await runSaltCommand(context, environment, [...argv], plain);
  } finally {
    if (!options.isBackground) rmSync(directory, { recursive: true, force: true });
  }
}
