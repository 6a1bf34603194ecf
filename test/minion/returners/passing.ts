/** Passes one return to returners in a test, with the configuration, grains and pillar of a minion. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { minionExtras } from "../../../src/cli/input/minion-extras.ts";
import type { ConfigValue } from "../../../src/config/yaml/values.ts";
import { loadReturners } from "../../../src/minion/returners/registry.ts";
import { type Failures, passOn } from "../../../src/minion/returners/run.ts";
import type { Value, ValueMap } from "../../../src/wire/values.ts";
import { type Asked, makeSurroundings } from "../surroundings.ts";

export type Settings = { readonly [name: string]: ConfigValue };

export type Passed = {
  readonly failures: Failures;
  readonly logged: readonly string[];
  readonly printed: readonly string[];
  readonly asked: readonly Asked[];
};

/** The return of `test.ping` as Salt's returners get it, with other members. */
export function sampleReturn(members: { readonly [name: string]: Value } = {}): ValueMap {
  return new Map<Value, Value>(
    Object.entries({
      success: true,
      return: true,
      retcode: 0,
      jid: "20261123200000000001",
      fun: "test.ping",
      fun_args: [],
      user: "root",
      ...members,
      id: "es1.example",
    }),
  );
}

export async function passTo(
  names: readonly string[],
  options: Settings,
  ret = sampleReturn(),
  more: { readonly pillar?: ValueMap; readonly grains?: ValueMap; readonly timeoutMs?: number } = {},
): Promise<Passed> {
  const cachedir = mkdtempSync(join(tmpdir(), "sw-returners-"));
  try {
    const facts = { pillar: more.pillar ?? new Map(), grains: more.grains ?? new Map() };
    const made = await makeSurroundings({}, cachedir, { options, facts });
    const surroundings = { ...made.surroundings, extras: minionExtras };
    const printed: string[] = [];
    const table = loadReturners(surroundings.config);
    const { timeoutMs } = more;
    const failures = await passOn(
      {
        surroundings,
        table,
        print: (line) => void printed.push(line),
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
      },
      names,
      ret,
    );
    return { failures, logged: made.logged, printed, asked: made.asked };
  } finally {
    rmSync(cachedir, { recursive: true, force: true });
  }
}

/** Fails with the texts of all failures. */
export async function mustPass(names: readonly string[], options: Settings, ret = sampleReturn()): Promise<Passed> {
  const passed = await passTo(names, options, ret);
  if (passed.failures.size > 0) throw new Error(JSON.stringify([...passed.failures]));
  return passed;
}
