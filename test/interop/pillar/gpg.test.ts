/** Pillars with encrypted values: Salt 3007 and this master make the same of the same files and the same keys. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Overrides } from "../../../src/config/load.ts";
import { PillarCompiler } from "../../../src/pillar/compile.ts";
import type { Value } from "../../../src/wire/values.ts";
import { block, Keyring } from "../../pillar/gpg/keyring.ts";
import { settingsOf, writeBelow } from "../../pillar/rendering.ts";
import { repositoryRoot } from "../../root.ts";
import { skipWithout } from "../../services/service.ts";
import { runCommand } from "../program.ts";
import { findRelease, installRelease, type SaltRelease } from "../salt-releases.ts";

const release = process.env.CI === "true" ? await installRelease("3007", () => undefined) : await findRelease("3007");
const skip = skipWithout("gpg", "gpgconf") || (release === undefined ? "Salt 3007 is not installed" : false);

function json(value: unknown): unknown {
  const text = JSON.stringify(value, (_key, member: unknown) => {
    if (member instanceof Uint8Array) return { bytes: [...member] };
    return member instanceof Map ? Object.fromEntries(member) : member;
  });
  return JSON.parse(text);
}

describe("a pillar with encrypted values", { skip, timeout: 180_000 }, () => {
  let keys: Keyring;
  let others: Keyring;
  let root = "";
  before(() => {
    keys = new Keyring();
    others = new Keyring();
    root = mkdtempSync(join(tmpdir(), "pillar-"));
    mkdirSync(join(root, "pillar"));
  });
  after(() => {
    keys?.remove();
    others?.remove();
    rmSync(root, { recursive: true, force: true });
  });

  async function compare(text: string, options: Overrides = {}): Promise<{ salt: unknown; ours: unknown }> {
    writeBelow(root, "pillar/top.sls", "base: {'*': [a]}\n");
    writeBelow(root, "pillar/a.sls", text);
    const all = { pillar_roots: { base: [join(root, "pillar")] }, gpg_keydir: keys.directory, ...options } as Overrides;
    const { program } = release as SaltRelease;
    const script = join(repositoryRoot, "test/pillar/gpg/salt_pillar.py");
    const ended = await runCommand(program("python"), [script], { stdin: JSON.stringify({ root, options: all }) });
    assert.equal(ended.code, 0, ended.stderr);
    const minion = { id: "web1", grains: new Map<Value, Value>([["id", "web1"]]) };
    const asked = { minion, saltenv: undefined, pillarenv: undefined, override: new Map() };
    const { pillar } = new PillarCompiler(settingsOf(all)).compile(asked);
    return { salt: JSON.parse(ended.stdout.toString()), ours: json(pillar) };
  }

  it("is Salt's, by the renderer and by decrypt_pillar", async () => {
    const secret = keys.encrypt("se: größe\n\n");
    const binary = keys.encrypt(Buffer.from([0xff, 0, 10]));
    const foreign = others.encrypt("x");
    const line = (message: string) => JSON.stringify(message.replaceAll("\n", "\\n"));
    const body = `a: ${block(secret, 2)}b: [1, ${JSON.stringify(`<${secret}>\n\n`)}, {c: ${line(secret)}}]
d: ${block(binary, 2)}e: "plain\\n"\nf: {g: {h: ${JSON.stringify(secret)}}}\n`;
    const failing = `${body}z: ${block(foreign, 2)}`;
    const tree = { ext_pillar: [{ file_tree: { root_dir: join(root, "tree") } }] };
    writeBelow(root, "tree/hosts/web1/key", `${secret}\n`);
    writeBelow(root, "tree/hosts/web1/clear", "clear\n");
    const cases: readonly (readonly [string, Overrides?])[] = [
      [`#!jinja|yaml|gpg\n${body}`],
      [body, { renderer: "jinja|yaml|gpg" }],
      [`#!gpg|yaml\n${keys.encrypt("a: {b: [1, 2]}")}\n`],
      [`#!gpg\n${secret}`],
      [`#!yaml|gpg\n${failing}`],
      [`#!yaml|gpg\n${failing}`, { gpg_decrypt_must_succeed: false }],
      [body, { decrypt_pillar: ["a", "b", "f:g:h", "no:such", "e:x"] }],
      [body, { decrypt_pillar: [{ "f|g": "gpg" }, { d: null }], decrypt_pillar_delimiter: "|" } as Overrides],
      [body, { decrypt_pillar: "a" }],
      [body, { decrypt_pillar: ["a", ["b"]] }],
      [body, { decrypt_pillar: { a: "gpg" }, decrypt_pillar_renderers: ["nacl"] }],
      ["x: 1\n", { ...tree, decrypt_pillar: ["key", "clear", "x"] } as Overrides],
    ];
    for (const [text, options] of cases) {
      const { salt, ours } = await compare(text, options);
      assert.deepEqual(ours, salt, JSON.stringify([text, options]));
    }
  });
});
