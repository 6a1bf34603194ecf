/** Execution module `cmd`: commands of the machine. Source: behaviour of Salt 3007, docs/functions.md. */

import { writeFileSync } from "node:fs";
import { strOf } from "../../../python/repr.ts";
import { isTrue } from "../../../python/values.ts";
import type { Encodable, Value } from "../../../wire/values.ts";
import { commandError } from "../../functions/errors.ts";
import type { BoundArguments, CallContext, ModuleFunction } from "../../functions/module-contract.ts";
import { describe } from "../declare/describe.ts";
import type { ModuleFunctions } from "../declare/module-functions.ts";
import { argument, signature } from "../declare/signature.ts";
import type { Environment } from "../machine/environment.ts";
import { isFileError, readTextIfAny } from "../machine/file-error.ts";
import { which } from "../machine/which.ts";
import { type OptionChanges, readOptions } from "./options.ts";
import { type CommandResult, failureText, runSaltCommand } from "./run.ts";
import { execCode, runScript } from "./script.ts";

const where = "cmd, cwd=None, stdin=None, runas=None, group=None";
const quiet = "output_encoding=None, output_loglevel='debug', log_callback=None";
const success = "success_retcodes=None, success_stdout=None, success_stderr=None, **kwargs";
const late = "timeout=None, reset_system_locale=True, ignore_retcode=False, saltenv=None, use_vt=False";

export function cmdModule(environment: Environment): ModuleFunctions {
  const shell = `shell='${environment.SHELL ?? "/bin/sh"}'`;
  const common = `${where}, ${shell}, python_shell=None, env=None, clean_env=False, template=None`;
  const shown = `rstrip=True, umask=None, ${quiet}, hide_output=False, ${late}`;
  const run = (context: CallContext, args: BoundArguments, changes: OptionChanges = {}) =>
    runSaltCommand(context, environment, argument(args, "cmd"), readOptions(context, args, changes));
  return {
    ...runFunctions(run, { common, shown, shell }),
    ...scriptFunctions(environment, shell),
    ...searchFunctions(environment),
  };
}

type Run = (context: CallContext, args: BoundArguments, changes?: OptionChanges) => Promise<CommandResult>;
type Parts = { readonly common: string; readonly shown: string; readonly shell: string };

function runFunctions(run: Run, { common, shown, shell }: Parts): ModuleFunctions {
  return {
    "cmd.run": {
      ...signature(
        `${common}, ${shown}, redirect_stderr=True, bg=False, password=None, encoded_cmd=False, raise_err=False, prepend_path=None, ${success}`,
      ),
      doc: describe(
        "Runs a command and returns its output: stdout and stderr in the order of writing.\nA job's command goes through the shell. `python_shell=False` runs its words directly.",
        "cmd.run 'df -h | head -3'",
        "cmd.run 'grep f' stdin='one\\\\ntwo\\\\nfive' env='{A: b}' cwd=/tmp timeout=10",
      ),
      run: (context, args) => runText(context, args, run, { isMerged: isTrue(argument(args, "redirect_stderr")) }),
    },
    "cmd.shell": {
      ...signature(
        `${common.replace("python_shell=None, ", "")}, ${shown}, bg=False, password=None, prepend_path=None, ${success}`,
      ),
      doc: describe("Like cmd.run, but always through a shell.", "cmd.shell 'echo $HOME'"),
      run: (context, args) => {
        const asked = args.extra.get("python_shell") ?? null;
        return runText(context, args, run, { isMerged: true, isShellUsed: asked === null || asked === true });
      },
    },
    "cmd.run_stdout": {
      ...signature(`${common}, ${shown}, password=None, prepend_path=None, ${success}`),
      doc: describe("Runs a command and returns only its standard output.", "cmd.run_stdout 'ls -l'"),
      run: async (context, args) => shownText(args, (await run(context, args)).stdout),
    },
    "cmd.run_stderr": {
      ...signature(`${common}, ${shown}, password=None, prepend_path=None, ${success}`),
      doc: describe("Runs a command and returns only its standard error.", "cmd.run_stderr 'ls /nowhere'"),
      run: async (context, args) => shownText(args, (await run(context, args)).stderr),
    },
    "cmd.run_all": {
      ...signature(
        `${common}, ${shown}, redirect_stderr=False, password=None, encoded_cmd=False, prepend_path=None, ${success}`,
      ),
      doc: describe("Runs a command and returns a map of pid, retcode, stdout and stderr.", "cmd.run_all 'ls -l'"),
      run: async (context, args) => {
        const result = await run(context, args, { isMerged: isTrue(argument(args, "redirect_stderr")) });
        return isTrue(argument(args, "hide_output")) ? { ...result, stdout: "", stderr: "" } : result;
      },
    },
    "cmd.retcode": {
      ...signature(`${common}, umask=None, ${quiet}, ${late}, password=None, ${success}`),
      doc: describe("Runs a command and returns its exit code.", "cmd.retcode 'test -e /etc/motd'"),
      run: async (context, args) => (await run(context, args, { isMerged: true })).retcode,
    },
    "cmd.run_bg": {
      ...signature(
        `cmd, cwd=None, runas=None, group=None, ${shell}, python_shell=None, env=None, clean_env=False, template=None, umask=None, timeout=None, ${quiet}, reset_system_locale=True, ignore_retcode=False, saltenv=None, password=None, prepend_path=None, ${success}`,
      ),
      doc: describe("Starts a command in the background and returns a map with its pid.", "cmd.run_bg 'sleep 60'"),
      run: async (context, args) => ({ pid: (await run(context, args, { isBackground: true })).pid }),
    },
  };
}

async function runText(context: CallContext, args: BoundArguments, run: Run, changes: OptionChanges): Promise<string> {
  const { stdout, retcode } = await run(context, args, changes);
  const text = shownText(args, stdout);
  if (argument(args, "output_loglevel") === "quiet" || retcode === 0) return text;
  if (isTrue(argument(args, "ignore_retcode"))) return text;
  context.log.error(failureText(argument(args, "cmd"), retcode));
  if (isTrue(argument(args, "raise_err"))) throw commandError(text);
  context.log.error(`output: ${stdout}`);
  return text;
}

function shownText(args: BoundArguments, text: string): string {
  return isTrue(argument(args, "hide_output")) ? "" : text;
}

function scriptFunctions(environment: Environment, shell: string): ModuleFunctions {
  const start = `source, args=None, cwd=None, stdin=None, runas=None, group=None, ${shell}, python_shell=None, env=None`;
  const script = `${start}, template=None, umask=None, ${quiet}, hide_output=False, timeout=None, reset_system_locale=True, saltenv=None, use_vt=False, bg=False, password=None, ${success}`;
  const scriptRetcode = `${start}, template='jinja', umask=None, timeout=None, reset_system_locale=True, saltenv=None, ${quiet}, use_vt=False, password=None, ${success}`;
  return {
    "cmd.script": {
      ...signature(script),
      doc: describe(
        "Fetches a script, from the master (`salt://`) or from this machine (a path), and runs it with `args`.",
        "cmd.script salt://scripts/check.sh 'args=one two'",
      ),
      run: (context, args) => runScript(context, environment, args),
    },
    "cmd.script_retcode": {
      ...signature(scriptRetcode),
      doc: describe("Like cmd.script, but returns only the exit code.", "cmd.script_retcode salt://scripts/check.sh"),
      run: async (context, args) => (await runScript(context, environment, args)).retcode,
    },
    "cmd.exec_code": {
      ...signature("lang, code, cwd=None, args=None, **kwargs"),
      doc: describe("Runs code through an interpreter and returns its output.", "cmd.exec_code python3 'print(6 * 7)'"),
      run: async (context, args) => (await execCode(context, environment, args)).stdout,
    },
    "cmd.exec_code_all": {
      ...signature("lang, code, cwd=None, args=None, **kwargs"),
      doc: describe("Like cmd.exec_code, but returns what cmd.run_all does.", "cmd.exec_code_all perl 'print 6 * 7'"),
      run: (context, args) => execCode(context, environment, args),
    },
  };
}

function searchFunctions(environment: Environment): ModuleFunctions {
  const find = (name: Value) => which(strOf(name), environment) ?? null;
  const one = (name: string, doc: string, run: ModuleFunction["run"]): ModuleFunction => ({
    ...signature(name),
    doc,
    run,
  });
  return {
    "cmd.which": one("cmd", describe("The path of a program, None without one.", "cmd.which sh"), (_, args) =>
      find(argument(args, "cmd")),
    ),
    "cmd.which_bin": one(
      "cmds",
      describe("The path of the first of several programs that exists.", "cmd.which_bin '[apt, dnf, zypper]'"),
      (_, args) => {
        const names = argument(args, "cmds");
        return (Array.isArray(names) ? names : [names]).map(find).find((path) => path !== null) ?? null;
      },
    ),
    "cmd.has_exec": one("cmd", describe("Whether a program exists.", "cmd.has_exec cat"), (_, args) => {
      return find(argument(args, "cmd")) !== null;
    }),
    "cmd.shells": one("", describe("The shells that /etc/shells lists.", "cmd.shells"), listShells),
    "cmd.tty": one(
      "device, echo=''",
      describe("Writes a text to a terminal of the machine.", "cmd.tty pts0 hello"),
      (_, args) => writeToTerminal(strOf(argument(args, "device")), strOf(argument(args, "echo"))),
    ),
  };
}

function listShells(): string[] {
  const lines = (readTextIfAny("/etc/shells") ?? "").split("\n").map((line) => line.trim());
  return lines.filter((line) => line !== "" && !line.startsWith("#"));
}

function writeToTerminal(device: string, text: string): Encodable {
  const match = /^(tty|pts)([A-Za-z0-9]*)$/.exec(device);
  if (match === null) return { Error: "The specified device is not a valid TTY" };
  const path = match[1] === "tty" ? `/dev/${device}` : `/dev/pts/${match[2]}`;
  try {
    writeFileSync(path, text, { flag: "r+" });
  } catch (error) {
    if (isFileError(error)) return { Error: `Echoing to ${path} returned error` };
    throw error;
  }
  return { Success: `Message was successfully echoed to ${path}` };
}
