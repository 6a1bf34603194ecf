import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { SaltworksError } from "../../../src/errors.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import type { Value, ValueMap } from "../../../src/wire/values.ts";
import { repositoryRoot } from "../../root.ts";
import { openWorld, type World } from "./world.ts";

type Case = { readonly words: readonly string[] } & (
  | { readonly value: string; readonly retcode: number }
  | { readonly error: string; readonly kind: string }
);
type Recorded = {
  readonly salt: string;
  readonly minion: string;
  readonly pillar: string;
  readonly grains: string;
  readonly suites: { readonly [name: string]: readonly Case[] };
};

const recorded = JSON.parse(readFileSync(join(repositoryRoot, "test/golden/functions.json"), "utf8")) as Recorded;
const unpack = (text: string) => decode(Buffer.from(text, "base64"));
const mapOf = (text: string) => unpack(text) as ValueMap;

const script = `#!/bin/sh
echo "hello $1 from script"
exit \${3:-0}
`;

function openRecordedWorld(root: string): Promise<World> {
  mkdirSync(join(root, "files"), { recursive: true });
  writeFileSync(join(root, "files/hello.sh"), script);
  return openWorld(root, {
    minion: `${recorded.minion}root_dir: ${root}\nfile_roots: {base: [${root}/files]}\n`,
    grains: mapOf(recorded.grains),
    pillar: mapOf(recorded.pillar),
    // Values of the recorded process.
    environment: {
      PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
      HOME: "/usr",
      SHELL: "/bin/sh",
      FRUIT: "apple",
    },
  });
}

/** Process ids differ; the fields that a job adds to `**kwargs` are the caller's. */
function comparable(value: Value): Value {
  if (Array.isArray(value)) return value.map(comparable);
  if (!(value instanceof Map)) return value;
  const own = [...value].filter(([key]) => typeof key !== "string" || !key.startsWith("__pub_"));
  return new Map(own.map(([key, member]) => [key, key === "pid" ? 0 : comparable(member)]));
}

/** The exception's name in the recording: salt-call, which made it, shows a SaltInvocationError as a TypeError. */
function kindOf(kind: unknown, name: unknown): unknown {
  if (kind === "python") return String(name).split(".").at(-1);
  return kind === "invocation" ? "type" : kind;
}

async function answer(world: World, { words }: Case): Promise<unknown> {
  try {
    const { value, retcode } = await world.call(words);
    return { value: comparable(decode(encode(value, "bin"))), retcode };
  } catch (error) {
    if (!(error instanceof SaltworksError)) throw error;
    return { error: error.message, kind: kindOf(error.detail.kind, error.detail.name) };
  }
}

function expected(recording: Case): unknown {
  if ("value" in recording) return { value: unpack(recording.value), retcode: recording.retcode };
  return { error: recording.error, kind: recording.kind === "SaltInvocationError" ? "type" : recording.kind };
}

for (const [name, cases] of Object.entries(recorded.suites)) {
  describe(`functions answer as Salt ${recorded.salt} does: ${name}`, async () => {
    const root = mkdtempSync(join(tmpdir(), "sw-functions-"));
    const world = await openRecordedWorld(root);
    for (const recording of cases) {
      it(recording.words.join("  "), async () => assert.deepEqual(await answer(world, recording), expected(recording)));
    }
    it("leaves no files behind", () => rmSync(root, { recursive: true }));
  });
}
