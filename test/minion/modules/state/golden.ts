/** Runs the recorded calls of `test/golden/states` on our minion. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { asValue, type Value, type ValueMap } from "../../../../src/wire/values.ts";
import { goldenPath } from "../../../golden/path.ts";
import { plain } from "../../../plain.ts";
import { openWorld, type World } from "../world.ts";

export type RecordedCall = {
  readonly fun: string;
  readonly args: readonly string[];
  readonly result: unknown;
  readonly retcode: number;
};
export type RecordedCase = {
  readonly name: string;
  readonly files: { readonly [path: string]: string };
  readonly calls: readonly RecordedCall[];
};

export function recordedCases(file: string): readonly RecordedCase[] {
  return JSON.parse(readFileSync(goldenPath(`states/${file}`), "utf8")).cases;
}

/** Writes a case's files to a directory of its own and opens a minion on them. */
export async function openCase(files: RecordedCase["files"], options = ""): Promise<{ root: string; world: World }> {
  const root = mkdtempSync(join(tmpdir(), "sw-states-"));
  for (const [path, text] of Object.entries(files)) {
    const full = join(root, "roots", path.startsWith("dev/") ? path : join("base", path));
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, text.replaceAll("@ROOT@", root));
  }
  const roots = `file_roots:\n  base: [${root}/roots/base]\n  dev: [${root}/roots/dev]\n`;
  const minion = `id: unit\nroot_dir: ${root}\nfile_client: local\n${roots}${options}`;
  const grains = new Map<Value, Value>([["id", "unit"]]);
  const world = await openWorld(root, {
    minion,
    grains,
    environment: { PATH: process.env.PATH ?? "" },
    freshPillar: ({ override }) => (override instanceof Map ? (override as ValueMap) : new Map()),
  });
  return { root, world };
}

export async function resultOf(world: World, { fun, args }: RecordedCall): Promise<unknown> {
  const { value } = await world.call([`state.${fun}`, ...args]);
  return plain(asValue(value));
}

export function removeCase(root: string): void {
  rmSync(root, { recursive: true, force: true });
}
