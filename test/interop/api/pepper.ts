/** pepper, a command line that speaks Salt's HTTP API: from PyPI, in a folder beside the Salt releases, and run without Salt. */
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Ended, runCommand } from "../program.ts";
import { type SaltRelease, venvsFolder } from "../salt-releases.ts";
import { differencesOf } from "./comparable.ts";
import type { ReplayFleet } from "./replay-fleet.ts";

export type PepperRun = {
  readonly name: string;
  readonly argv: readonly string[];
  readonly exit_code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly http: readonly { readonly response: { readonly body: unknown } }[];
};
/** The recording's words for the last response, which the command shows. */
const shownResponse = "<json of the response, indent 4, keys sorted>";
const installTimeoutMs = 300_000;

function folder(): string {
  return join(venvsFolder(), "pepper");
}

function program(): string {
  return join(folder(), "bin", "pepper");
}

export function isInstalled(): boolean {
  return existsSync(program());
}

export async function installPepper(release: SaltRelease): Promise<void> {
  if (isInstalled()) return;
  const args = ["install", "--quiet", "--no-deps", "--target", folder(), "salt-pepper"];
  const ended = await runCommand(release.program("pip"), args, { timeoutMs: installTimeoutMs });
  if (ended.code !== 0) throw new Error(`pip ${args.join(" ")}: ${ended.stderr}`);
}

export async function runPepper(fleet: ReplayFleet, { argv }: PepperRun): Promise<Ended> {
  const home = join(fleet.bed.folder, "home");
  mkdirSync(home, { recursive: true });
  const env = {
    PYTHONPATH: folder(),
    HOME: home,
    SALTAPI_URL: `http://127.0.0.1:${fleet.portOf("main")}`,
    SALTAPI_USER: "admin",
    SALTAPI_PASS: "admin-pw",
    SALTAPI_EAUTH: "file",
  };
  return await runCommand("python3", [program(), ...argv.slice(1)], { env });
}

/** The documents of an output, one after the other. */
function documentsIn(text: string): unknown[] {
  const parts = text.split(/\n(?=[[{])/).map((part) => part.trim());
  return parts.filter((part) => part !== "").map((part) => JSON.parse(part) as unknown);
}

/** What a command line does otherwise than in the recording. */
export function otherwise(run: PepperRun, { code, stdout, stderr }: Ended): string[] {
  const last = run.http.at(-1)?.response.body;
  // Of what comes bit by bit pepper shows the list alone.
  const response = run.argv.includes("--fail-if-incomplete") ? (last as { return: unknown }).return : last;
  const wrong: string[] = [];
  if (code !== run.exit_code) wrong.push(`exit code ${code}`);
  if (stderr !== run.stderr) wrong.push(`errors ${stderr}`);
  const isShown = run.stdout === shownResponse;
  const text = stdout.toString();
  if (code !== 0) return text === run.stdout ? wrong : [...wrong, `output ${text}`];
  const expected = isShown ? [response] : documentsIn(run.stdout);
  // Minions return in any order.
  const [left, right] = [expected, documentsIn(text)].map((list) => list.map((item) => JSON.stringify(item)).sort());
  const [before, now] = [left, right].map((list) => list?.map((item) => JSON.parse(item) as unknown));
  return [...wrong, ...differencesOf(before, now).map((difference) => `output${difference}`)];
}
