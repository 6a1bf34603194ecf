/** Execution module `status`: processes and logins, from `ps` and `w`. */

import { compilePythonPattern } from "../../../python/regex/match.ts";
import { strOf } from "../../../python/repr.ts";
import type { Encodable, Value } from "../../../wire/values.ts";
import type { CallContext } from "../../functions/module-contract.ts";
import { describe } from "../declare/describe.ts";
import type { ModuleFunctions } from "../declare/module-functions.ts";
import { argument, signature } from "../declare/signature.ts";
import { runProgram } from "../machine/run-program.ts";

export const processFunctions: ModuleFunctions = {
  "status.procs": {
    ...signature(""),
    doc: describe("The processes of this machine: user and command by process id.", "status.procs"),
    run: processes,
  },
  "status.pid": {
    ...signature("sig"),
    doc: describe(
      "The ids of the processes whose line of `ps` matches a regular expression, one a line.",
      "status.pid nginx",
    ),
    run: async (context, args) => {
      const pattern = compilePythonPattern(`.*(?:${strOf(argument(args, "sig"))})`);
      const own = String(process.pid);
      const lines = (await processLines(context)).filter((line) => !line.includes(own) && pattern.matchesStart(line));
      return lines.map((line) => line.trim().split(/\s+/)[1] ?? "").join("\n");
    },
  },
  "status.w": {
    ...signature(""),
    doc: describe("The users who are logged in, and what they run.", "status.w"),
    run: logins,
  },
};

/** The grain `ps` is the command that lists processes on this machine. */
async function processLines(context: CallContext): Promise<string[]> {
  const command = strOf(context.grains().get("ps") ?? "ps -efHww");
  const { stdout } = await runProgram("/bin/sh", ["-c", command]);
  return stdout.split("\n").filter((line) => line !== "");
}

async function processes(context: CallContext): Promise<Encodable> {
  const [heading = "", ...lines] = await processLines(context);
  const titles = heading.trim().split(/\s+/);
  const column = (...names: readonly string[]) => Math.max(0, ...names.map((name) => titles.indexOf(name)));
  const [user, pid, command] = [column("USER", "UID"), column("PID"), column("COMMAND", "CMD")];
  return new Map(
    lines.map((line): [Value, Encodable] => {
      const words = line.trim().split(/\s+/);
      return [words[pid] ?? "", { user: words[user] ?? "", cmd: words.slice(command).join(" ") }];
    }),
  );
}

async function logins(): Promise<Encodable> {
  const { stdout } = await runProgram("w", ["-fh"]);
  const rows = stdout.split("\n").filter((line) => line.trim() !== "");
  return rows.map((line) => {
    const [user, tty, login, idle, jcpu, pcpu, ...what] = line.trim().split(/\s+/);
    return { idle, jcpu, login, pcpu, tty, user, what: what.join(" ") };
  });
}
